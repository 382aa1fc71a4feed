"""How time grows with the number of states and of episodes, and memory with what is outstanding."""

import belated as bl
from measure import Turns, alone, turn
from table import Promise, Report, Section, number, times
from worlds import random_world

BASE = bl.UCBVI_BF(preset="two_term", scale=0.1)
VISITS = 25
"""Episodes for each state, so that worlds of any size are equally well known."""


def measure(report: Report, *, quick: bool, repeats: int) -> None:
    """Add all three."""
    states(report, (50, 100) if quick else (50, 100, 200, 400, 800), repeats)
    episodes(report, (1_000, 2_000) if quick else (10_000, 20_000, 40_000, 80_000), repeats)
    memory(report, 20_000 if quick else 1_000_000)


def states(report: Report, sizes: tuple[int, ...], repeats: int) -> None:
    """Time per update against S, with as many successors each."""
    rows, worst = [], {}
    spreads = {"nearby": 4, "anywhere": None}
    last: dict[str, float] = {}
    for S in sizes:
        K = VISITS * S
        turns = {}
        for name, reach in spreads.items():
            world = random_world(S, 2, 10, successors=4, paying=0.05, reach=reach)
            for planning in ("incremental", "none"):
                turns[f"{name} {planning}"] = turn(
                    lambda world=world, planning=planning, K=K: run(world, K, planning), K
                )
        taken = Turns(turns, repeats)
        cells = []
        for name in spreads:
            # Without delay there is an update for each episode but the first.
            update = taken[f"{name} incremental"] - taken[f"{name} none"]
            cells += [number(update), times(update / last[name]) if name in last else ""]
            if name in last:
                worst[name] = max(worst.get(name, 0), update / last[name])
            last[name] = update
        rows.append((str(S), *cells))
    report.sections.append(
        Section(
            "Growth with S, µs per update",
            ("S", *(cell for name in spreads for cell in (f"successors {name}", "to S / 2"))),
            rows,
            "Random worlds, A = 2, H = 10, four successors of each (s, a), drawn from the nine "
            "states around s, or from all; uniform start; UCBVI-BF, two-term bonus, "
            f"`scale={BASE.scale}`, active, no delay, {VISITS} S episodes; the floor is taken off.",
        )
    )
    for name, ratio in worst.items():
        text = f"an update takes less than 1.3 × as long for twice the S, successors {name}"
        report.promises.append(Promise(text, f"{times(ratio)} at most", ratio < 1.3))


def run(world: bl.MDP, episodes: int, planning: str = "incremental") -> None:
    bl.simulate(world, base=BASE, updater=bl.Active(), episodes=episodes, planning=planning)


def episodes(report: Report, lengths: tuple[int, ...], repeats: int) -> None:
    """Time per episode against K."""
    world = bl.chain(30)
    turns = {str(K): turn(lambda K=K: run(world, K), K) for K in lengths}
    taken = Turns(turns, repeats)
    rows = [(f"{K:,}", number(taken[str(K)])) for K in lengths]
    note = "Chain 30, the same learner."
    columns = ("K", "µs per episode")
    report.sections.append(Section("Growth with K", columns, rows, note))


def memory(report: Report, K: int) -> None:
    """Memory of a long run in which feedback is late."""
    found = alone("long", K)
    if "extra" not in found:
        return
    row = (f"{K:,}", number(found["seconds"]), number(found["before"]), number(found["extra"]))
    columns = ("K", "seconds", "MB before", "MB more at the peak")
    note = "Chain 10, geometric delay with mean 100, active, in a process of its own."
    report.sections.append(Section("Memory of a long run", columns, [row], note))
    text = f"{K:,} episodes, late by 100 on average, take less than 100 MB"
    report.promises.append(Promise(text, f"{number(found['extra'])} MB", found["extra"] < 100))
