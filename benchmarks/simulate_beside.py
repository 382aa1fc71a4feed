"""Measure simulations of another checkout beside this one.

    python benchmarks/simulate_beside.py CHECKOUT [--only TEXT] [--processes 15] [--turns 3]
        [--seconds 600]

Each checkout runs in a process of its own, and both are measured in turn, so that other load
affects both alike. The order changes with each turn. Times in small worlds also differ between
processes that run the same code, so that there are several pairs of processes. The floor, a run
without plans, is measured too, so that a time can be compared with both floors: that of the same
checkout, and that of the other one. Nothing is written to the docs.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from report import (
    Report,
    Section,
    Target,
    describe_machine,
    format_number,
    format_ratios,
    print_report,
)

HERE = Path(__file__).parent.parent
MAX_RATIO = 2.0
MAX_MEDIAN_RATIO = 1.35
"""Targets: time divided by that of the other checkout, of each case and the median of all cases."""
CHAINS = {5: 20_000, 30: 10_000}
"""Map from the number of states of a chain to the number of episodes."""


def cases() -> dict[str, Callable[[], Any]]:
    """Return a dict that maps the name of each case to a function that runs the simulation."""
    import belated as bl

    kinds = (bl.UBEV, bl.UCBVI_CH, bl.UCBVI_BF, bl.UCRL2, bl.UCRL2B, bl.KL_UCRL, bl.Chi2_UCRL)
    bases = {kind.__name__: kind(scale=0.1) for kind in kinds}
    for scale in (1, 0.01):
        bases[f"UCBVI_BF, two terms, scale={scale}"] = bl.UCBVI_BF(preset="two_term", scale=scale)
    sampling = {"PSRL": bl.PSRL(), "RLSVI": bl.RLSVI(scale=0.1), "QLearning": bl.QLearning()}
    pooled = {"updater": bl.Active(), "stages": "pooled"}
    late = {"updater": bl.Active(), "delay": "geometric:100"}
    stepwise = late | {"delay_per": "step"}

    chosen: list[tuple[str, Any, dict[str, Any]]] = []
    for name, base in bases.items():
        chosen.append((f"{name}, active", base, {"updater": bl.Active()}))
        chosen.append((f"{name}, lazy(10)", base, {"updater": bl.Lazy(alpha=10)}))
        if name in ("UCBVI_BF", "UCBVI_CH"):
            chosen.append((f"{name}, active, pooled", base, pooled))
    chosen += [(f"{name}, active, geometric:100", base, late) for name, base in sampling.items()]
    for name in ("UCBVI_BF", "UCRL2"):
        chosen.append((f"{name}, active, geometric:100 per step", bases[name], stepwise))
    without_plans = {"updater": bl.Active(), "planning": "none"}
    chosen.append(("floor", bl.UCBVI_BF(preset="two_term"), without_plans))

    found: dict[str, Callable[[], Any]] = {}
    for states, episodes in CHAINS.items():
        world = bl.chain(states)
        for name, base, options in chosen:
            found[f"chain {states}, {name}"] = partial(
                bl.simulate, world, base=base, episodes=episodes, **options
            )
    return found


def floor_of(states: int | str) -> str:
    """Return the name of the case without plans on a chain of `states` states."""
    return f"chain {states}, floor"


def work() -> None:
    """Run the case that each line of stdin names; print its seconds and its regret."""
    known = cases()
    for line in sys.stdin:
        start = time.perf_counter()
        regret = float(known[line.rstrip("\n")]().total_regret)
        print(json.dumps((time.perf_counter() - start, regret)), flush=True)


class Worker:
    """Process that runs simulations with the package of `checkout`."""

    def __init__(self, checkout: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--work", str(checkout)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, case: str) -> tuple[float, float]:
        """Run `case`; return its seconds and its total regret."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{case}\n")
        self._process.stdin.flush()
        seconds, regret = json.loads(self._process.stdout.readline())
        return seconds, regret

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def main() -> None:
    """Measure both checkouts and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="the other checkout")
    parser.add_argument("--only", default="", help="measure the cases with this text in their name")
    parser.add_argument("--processes", type=int, default=15, help="processes of each checkout")
    parser.add_argument("--turns", type=int, default=3, help="turns of each pair of processes")
    parser.add_argument("--seconds", type=float, default=600, help="start no turn later than this")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    floors = {floor_of(states) for states in CHAINS}
    names = [name for name in cases() if options.only in name or name in floors]
    times: dict[str, list[list[float]]] = {name: [[], []] for name in names}
    regrets: dict[str, set[float]] = {name: set() for name in names}
    start = time.monotonic()
    for _ in range(options.processes):
        workers = [Worker(HERE), Worker(options.checkout.resolve())]
        with ThreadPoolExecutor() as pool:  # compile at the same time
            for each in pool.map(lambda it: {name: it.run(name)[1] for name in names}, workers):
                for name, regret in each.items():
                    regrets[name].add(regret)
        for turn in range(options.turns):
            if times[names[0]][0] and time.monotonic() - start > options.seconds:
                break
            for name in names:
                for i in (0, 1) if turn % 2 else (1, 0):
                    times[name][i].append(workers[i].run(name)[0])
        for worker in workers:
            worker.close()
    print_report(summarize(times, regrets), describe_machine())


def summarize(times: dict[str, list[list[float]]], regrets: dict[str, set[float]]) -> Report:
    """Return the table of the `times` of both checkouts by case, and the targets."""
    report, rows, medians = Report(), [], []
    for name, (now, before) in times.items():
        ratios = [a / b for a, b in zip(now, before, strict=True)]
        states = name.split(",")[0].split()[1]
        floors = [
            format_number(median(a / b for a, b in zip(now, each, strict=True)))
            for each in times[floor_of(states)]
        ]
        episodes = CHAINS[int(states)]
        micros = [format_number(median(each) / episodes * 1e6) for each in (now, before)]
        same = "yes" if len(regrets[name]) == 1 else "no"
        rows.append((name, *micros, format_ratios(ratios), *floors, same))
        medians.append(median(ratios))
        text = f"{name}: at most {MAX_RATIO:g} times as long"
        report.targets.append(Target(text, f"{medians[-1]:.2f} ×", medians[-1] <= MAX_RATIO))
    text = f"median of all cases: at most {MAX_MEDIAN_RATIO:g} times as long"
    middle = median(medians)
    report.targets.append(Target(text, f"{middle:.2f} ×", middle <= MAX_MEDIAN_RATIO))
    columns = ("", "now", "before", "now / before", "now / floor now", "now / floor before")
    title = "Two checkouts, µs per episode"
    report.sections.append(Section(title, (*columns, "same regret"), rows))
    return report


if __name__ == "__main__":
    main()
