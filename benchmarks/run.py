"""`make bench`: measure simulations, print one table and write it to docs/performance.md.

    python benchmarks/run.py [--only a,c] [--quick] [--repeats 5]

Times are of whole calls of `simulate`: setup, play, delivery of feedback, planning, and the exact
value of every policy played. What is compared runs in turn, so that other load affects all of it
alike; a time is the median of the turns, and a ratio the median of the ratios within each turn.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import belated as bl
from peer import Peer, PeerUnavailableError
from processes import memory_mb, run_service
from report import (
    Report,
    Section,
    Target,
    describe_machine,
    format_markdown,
    format_number,
    format_ratio,
    print_report,
    write_page,
)

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
MIN_MEASURED_S = 0.05
"""Minimum duration of a measurement, for which a run is repeated."""

CHAIN_EPISODES = {5: 20_000, 10: 20_000, 30: 10_000, 100: 2_000}
"""Map from the number of states of a chain to the number of episodes."""
PEER_EPISODES = {5: 2_000, 10: 500, 30: 40, 100: 2}
"""The same for the peer, which takes the same time for every episode."""
MIN_PEER_RATIO = 3_000
"""Target on chain 30."""

BASES = (
    *(bl.UBEV, bl.UCBVI_CH, bl.UCBVI_BF, bl.UCRL2, bl.UCRL2B, bl.KL_UCRL, bl.Chi2_UCRL),
    *(bl.RLSVI, bl.QLearning),
)
SCALE = 0.1
LONG_EPISODES = 100_000
"""Number of episodes of the paper's experiments on chain 30."""
LONG_TURNS = 3

SEEDS = range(8)

FIRST_SIMULATION = (
    "import belated as bl; "
    "print(bl.simulate('chain-5', base='ucbvi-bf', updater='lazy:10', episodes=1000))"
)
LONG_SIMULATION = (
    "import belated as bl; "
    "bl.simulate('chain-30', base='ucrl2:scale=0.03', updater='active', delay='geometric:100', "
    "episodes=200_000)"
)
HELP = [str(Path(sys.executable).parent / "belated"), "--help"]


def main() -> None:
    """Measure the selected parts; write the page only if all are selected, without --quick."""
    arguments = parse_arguments()
    heading = ("Quick and imprecise. " if arguments.quick else "") + describe_machine()
    report = Report()
    for letter in arguments.only:
        name, measure = PARTS[letter]
        start = time.perf_counter()
        print(f"{letter}. {name} ...", end=" ", file=sys.stderr, flush=True)
        measure(report, quick=arguments.quick, repeats=arguments.repeats)
        print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    print_report(report, heading)
    if arguments.quick or set(arguments.only) != set(PARTS):
        print(f"{PAGE.name} is not changed: only a complete run writes it.", file=sys.stderr)
    else:
        write_page(PAGE, format_markdown(report, heading))


def parse_arguments() -> argparse.Namespace:
    """Return the checked arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    listed = "; ".join(f"{letter}: {name}" for letter, (name, _) in PARTS.items())
    parser.add_argument("--quick", action="store_true", help="small sizes, without the peer")
    parser.add_argument("--only", default=",".join(PARTS), help=f"such as a,c ({listed})")
    parser.add_argument("--repeats", type=int, help="number of turns; 5, or 3 with --quick")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := [letter for letter in arguments.only if letter not in PARTS]:
        parser.error(f"--only must be letters among {', '.join(PARTS)}, got {unknown[0]!r}.")
    if arguments.repeats is None:
        arguments.repeats = 3 if arguments.quick else 5
    if arguments.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {arguments.repeats}.")
    return arguments


class Timings:
    """Microseconds per episode of what is compared, measured in turn.

    Parameters
    ----------
    measurements : mapping
        Functions that return microseconds per episode, by name.
    repeats : int
        Number of turns, after one that is not recorded.
    """

    def __init__(self, measurements: Mapping[str, Callable[[], float]], repeats: int) -> None:
        for measure in measurements.values():
            measure()  # warm-up: compilation, imports, caches
        self.times: dict[str, list[float]] = {name: [] for name in measurements}
        for _ in range(repeats):
            for name, measure in measurements.items():
                self.times[name].append(measure())

    def __getitem__(self, name: str) -> float:
        return median(self.times[name])

    def ratio(self, slow: str, fast: str) -> float:
        """Return the median of the ratios of `slow` to `fast` within each turn."""
        pairs = zip(self.times[slow], self.times[fast], strict=True)
        return median(a / b for a, b in pairs)


def measurement(run: Callable[[], object], episodes: int) -> Callable[[], float]:
    """Return a function that returns the microseconds per episode of `run`, which plays `episodes`.

    `run` is repeated for at least `MIN_MEASURED_S` seconds.
    """

    def measure() -> float:
        runs = 0
        start = time.perf_counter()
        while (elapsed := time.perf_counter() - start) < MIN_MEASURED_S:
            run()
            runs += 1
        return 1e6 * elapsed / (runs * episodes)

    return measure


def measure_chains(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the time of an episode on chains, and its ratio to that of the peer.

    Parameters
    ----------
    report : Report
        Receives section and target.
    quick : bool
        Whether to measure two sizes only, without the peer.
    repeats : int
        Number of turns of each measurement.
    """
    peer, note = None, "A quick run does not include the peer."
    if not quick:
        try:
            peer = Peer()
            note = f"The peer is rlberry-scool {peer.version}."
        except PeerUnavailableError as error:
            note = f"The peer is skipped: {error}"
    rows = []
    for S in (5, 30) if quick else CHAIN_EPISODES:
        world, K = bl.chain(S), CHAIN_EPISODES[S]
        run = partial(
            bl.simulate, world, base=bl.UCBVI_BF(preset="two_term"), episodes=K, updater=bl.Active()
        )
        measurements = {
            "active": measurement(run, K),
            "lazy(10)": measurement(partial(run, updater=bl.Lazy(alpha=10)), K),
        }
        if peer is not None:
            peer.start(world)
            measurements["peer"] = partial(peer.play, PEER_EPISODES[S])
        timings = Timings(measurements, repeats)
        times = [format_number(timings[name]) for name in measurements]
        if peer is not None:
            ratio = timings.ratio("peer", "active")
            times.append(format_ratio(ratio))
            if S == 30:
                text = f"chain 30: at least {MIN_PEER_RATIO:,} times as fast as the peer"
                report.targets.append(Target(text, format_ratio(ratio), ratio >= MIN_PEER_RATIO))
        rows.append((str(S), *times))
    if peer is not None:
        peer.close()
    columns = ["S = H", "active", "lazy(10)", "rlberry-scool", "rlberry-scool / active"]
    note = f"UCBVI-BF with the two-term bonus, no delay. {note}"
    title = "Chains, µs per episode"
    report.sections.append(Section(title, columns[: len(rows[0])], rows, note))


def measure_bases(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the time of a run of each base; for the parameters see `measure_chains`."""
    del repeats
    episodes = 1_000 if quick else LONG_EPISODES
    rows = []
    for kind in BASES:
        base = kind() if kind is bl.QLearning else kind(scale=SCALE)
        run = partial(bl.simulate, bl.chain(30), base=base, episodes=episodes)
        runs = {
            "active": partial(run, updater=bl.Active()),
            "lazy(10)": partial(run, updater=bl.Lazy(alpha=10)),
        }
        if kind is bl.QLearning:
            del runs["lazy(10)"]  # it learns from each observation, and has no plans
        timings = Timings(
            {name: measurement(each, episodes) for name, each in runs.items()}, LONG_TURNS
        )
        seconds = [format_number(timings[name] * episodes / 1e6) for name in runs]
        rows.append((kind.__name__, *seconds, *[""] * (2 - len(seconds))))
    note = f"One run of {episodes:,} episodes on chain 30, `scale={SCALE}`, no delay."
    columns = ("base", "active", "lazy(10)")
    report.sections.append(Section("Bases, seconds", columns, rows, note))


def measure_threads(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the speed-up by a second thread; for the parameters see `measure_chains`."""
    episodes = 2_000 if quick else 20_000
    run = partial(
        bl.simulate_many,
        bl.chain(30),
        base=bl.UCBVI_BF(preset="two_term"),
        updater=bl.Active(),
        episodes=episodes,
        seeds=SEEDS,
        progress=False,
    )
    count = len(SEEDS) * episodes
    timings = Timings(
        {str(threads): measurement(partial(run, threads=threads), count) for threads in (1, 2)},
        repeats,
    )
    ratio = timings.ratio("1", "2")
    rows = [(threads, format_number(timings[threads])) for threads in ("1", "2")]
    note = f"`simulate_many` with {len(SEEDS)} seeds of {episodes:,} episodes, chain 30, active."
    report.sections.append(Section("Threads", ("threads", "µs per episode"), rows, note))
    text = f"two threads are at least 1.7 times as fast as one ({os.cpu_count()} cores)"
    report.targets.append(Target(text, format_ratio(ratio), ratio >= 1.7))


def measure_memory(report: Report, *, quick: bool, repeats: int) -> None:
    """Add time and memory of long and of large runs; for the parameters see `measure_chains`."""
    del repeats
    late = {"updater": "active", "delay": "geometric:100"}
    runs: list[tuple[str, str, dict[str, Any]]] = [
        ("chain-10", "ucbvi-bf:preset=two_term,scale=0.1", late | {"episodes": 1_000_000}),
        ("icu-sepsis", "ucbvi-bf:scale=0.001", late | {"episodes": 10_000}),
        ("icu-sepsis", "ucrl2:scale=0.1", late | {"episodes": 10_000}),
    ]
    rows = []
    for world, base, options in runs:
        if quick:
            options["episodes"] //= 50
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            seconds, peak = pool.submit(run_apart, world, base, options).result()
        episodes = f"{options['episodes']:,}"
        rows.append((world, f"`{base}`", episodes, format_number(seconds), format_number(peak)))
        text = f"{world}, {base}, {episodes} episodes: less than a minute and 1 GB"
        measured = f"{seconds:.1f} s, {format_number(peak)} MB"
        report.targets.append(Target(text, measured, seconds < 60 and peak < 1000))
    note = "Active updating, geometric delay with mean 100, each run in a process of its own."
    columns = ("world", "base", "episodes", "seconds", "peak of the process, MB")
    report.sections.append(Section("Long and large runs", columns, rows, note))


def run_apart(world: str, base: str, options: dict[str, Any]) -> tuple[float, float]:
    """Return the seconds of a run, and the peak memory of this process in MB.

    A run of two episodes comes first.
    """
    bl.simulate(world, base=base, **options | {"episodes": 2})
    start = time.perf_counter()
    bl.simulate(world, base=base, **options)
    seconds = time.perf_counter() - start
    return seconds, memory_mb().get("peak", float("nan"))


def measure_startup(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the duration of processes with and without compiled code on disk.

    With `quick`, processes that compile everything are left out; otherwise see `measure_chains`.
    """
    rows = []

    def add(name: str, seconds: float, limit_s: float) -> None:
        rows.append((name, format_number(seconds)))
        text = f"{name}: less than {limit_s:g} s"
        report.targets.append(Target(text, f"{format_number(seconds)} s", seconds < limit_s))

    first = [sys.executable, "-c", FIRST_SIMULATION]
    if not quick:
        for name, command, limit_s in (
            ("first simulation, nothing compiled yet", first, 3),
            (
                "200,000 episodes of UCRL2 on chain 30, nothing compiled yet",
                [sys.executable, "-c", LONG_SIMULATION],
                45,
            ),
        ):
            with tempfile.TemporaryDirectory() as cache:
                add(name, run_seconds(command, NUMBA_CACHE_DIR=cache), limit_s)
        add("`belated serve` ready, nothing compiled yet", serve_seconds(), 4)
    for name, command, limit_s in (
        ("first simulation in a later process", first, 3),
        ("`belated --help`", HELP, 0.3),
    ):
        run_seconds(command)
        add(name, median(run_seconds(command) for _ in range(repeats)), limit_s)
    note = "Whole processes, from start to end."
    report.sections.append(Section("Start", ("process", "seconds"), rows, note))


def run_seconds(command: list[str], **environment: str) -> float:
    """Return the seconds that `command` runs, with additional `environment` variables."""
    start = time.perf_counter()
    subprocess.run(command, env=os.environ | environment, capture_output=True, check=True)
    return time.perf_counter() - start


def serve_seconds() -> float:
    """Return the seconds until `belated serve` is ready on a new ledger, with nothing compiled."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"NUMBA_CACHE_DIR": str(Path(folder) / "cache")}
        store = f"sqlite:///{Path(folder) / 'ledger.db'}"
        with run_service(store, environment=environment) as server:
            return server.startup_s


PARTS = {
    "a": ("chains", measure_chains),
    "b": ("bases", measure_bases),
    "c": ("threads", measure_threads),
    "d": ("long and large runs", measure_memory),
    "e": ("start", measure_startup),
}


if __name__ == "__main__":
    main()
