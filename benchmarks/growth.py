"""Growth of time with the number of states and episodes, and memory of a long run."""

import numpy as np

import belated as bl
from belated.mdp.play import play
from measure import Timings, measurement, run_isolated
from report import Report, Section, Target, format_number, format_ratio
from worlds import random_world

BASE = bl.UCBVI_BF(preset="two_term", scale=0.1)
EPISODES_PER_STATE = 25
"""Episodes for each state, so that worlds of any size are observed equally well."""


REASONS = {
    "anywhere": "Successors anywhere: each changed value has about eight predecessors, so that "
    "within ten steps a change reaches a part of the world that grows with S, and an update "
    "must compute the values in this part again. The last column of the table of growth counts "
    "those that have changed at the first step."
}
"""Why a target of growth with S may not be met."""


def measure_growth(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the three sections.

    Parameters
    ----------
    report : Report
        Receives sections and targets.
    quick : bool
        Whether to measure small sizes only.
    repeats : int
        Number of turns of each measurement.
    """
    measure_states(report, (50, 100) if quick else (50, 100, 200, 400, 800), repeats)
    lengths = (1_000, 2_000) if quick else (10_000, 20_000, 40_000, 80_000)
    measure_episodes(report, lengths, repeats)
    measure_memory(report, 20_000 if quick else 1_000_000)


def measure_states(report: Report, sizes: tuple[int, ...], repeats: int) -> None:
    """Add the time per update as a function of S.

    Parameters
    ----------
    report : Report
        Receives section and targets.
    sizes : tuple[int, ...]
        Numbers of states S, each twice the previous one.
    repeats : int
        Number of turns of each measurement.
    """
    rows, largest = [], {}
    reaches = {"nearby": 4, "anywhere": None}
    previous: dict[str, float] = {}
    for S in sizes:
        K = EPISODES_PER_STATE * S
        measurements = {}
        for name, reach in reaches.items():
            world = random_world(S, 2, 10, successors=4, rewarding=0.05, reach=reach)
            for planning in ("auto", "none"):
                measurements[f"{name} {planning}"] = measurement(
                    lambda world=world, planning=planning, K=K: run(world, K, planning), K
                )
        timings = Timings(measurements, repeats)
        cells = []
        for name in reaches:
            # Without delay there is an update for each episode but the first.
            update = timings[f"{name} auto"] - timings[f"{name} none"]
            growth = update / previous[name] if name in previous else None
            cells += [format_number(update), format_ratio(growth) if growth is not None else ""]
            if growth is not None:
                largest[name] = max(largest.get(name, 0), growth)
            previous[name] = update
        changed = count_changed(random_world(S, 2, 10, successors=4, rewarding=0.05), K)
        rows.append((str(S), *cells, format_number(changed)))
    report.sections.append(
        Section(
            "Growth with S, µs per update",
            (
                "S",
                *(cell for name in reaches for cell in (f"successors {name}", "to S / 2")),
                "values changed at step 1",
            ),
            rows,
            "Random worlds, A = 2, H = 10, four successors of each (s, a), drawn from the nine "
            "states around s, or from all; uniform start; UCBVI-BF, two-term bonus, "
            f"`scale={BASE.scale}`, active, no delay, {EPISODES_PER_STATE} S episodes; the floor "
            "is subtracted. The last column is the mean number of states whose value at the first "
            "step is changed by an update, with successors anywhere.",
        )
    )
    for name, ratio in largest.items():
        text = f"an update takes less than 1.3 × as long for twice the S, successors {name}"
        measured = f"{format_ratio(ratio)} at most"
        report.targets.append(Target(text, measured, ratio < 1.3, REASONS.get(name, "")))


def count_changed(world: bl.MDP, episodes: int) -> float:
    """Return the mean number of values of the first step that an update changes.

    The updates are those after each of the `episodes` played in `world`.
    """
    learner = bl.Learner(
        world.shape,
        base=BASE,
        updater=bl.Active(),
        rewards=world.reward_table(),
        episodes=episodes,
    )
    changed, before = 0, learner.value
    for k in range(1, episodes + 1):
        learner.observe(play(world, learner.start(k), seed=0, episode=k))
        after = learner.value
        changed += np.count_nonzero(after != before)
        before = after
    return changed / episodes


def run(world: bl.MDP, episodes: int, planning: str = "auto") -> None:
    """Play `episodes` in `world` with the given `planning`."""
    bl.simulate(world, base=BASE, updater=bl.Active(), episodes=episodes, planning=planning)


def measure_episodes(report: Report, lengths: tuple[int, ...], repeats: int) -> None:
    """Add to `report` the time per episode for each K in `lengths`, over `repeats` turns."""
    world = bl.chain(30)
    timings = Timings({str(K): measurement(lambda K=K: run(world, K), K) for K in lengths}, repeats)
    rows = [(f"{K:,}", format_number(timings[str(K)])) for K in lengths]
    note = "Chain 30, the same learner."
    columns = ("K", "µs per episode")
    report.sections.append(Section("Growth with K", columns, rows, note))


def measure_memory(report: Report, episodes: int) -> None:
    """Add to `report` the memory of a run of many `episodes` with delayed feedback."""
    result = run_isolated("long", episodes)
    if "extra" not in result:
        return
    numbers = (format_number(result[name]) for name in ("seconds", "before", "extra"))
    columns = ("K", "seconds", "MB before", "additional MB at the peak")
    note = "Chain 10, geometric delay with mean 100, active, in a process of its own."
    rows = [(f"{episodes:,}", *numbers)]
    report.sections.append(Section("Memory of a long run", columns, rows, note))
    text = f"{episodes:,} episodes with mean delay 100 take less than 100 MB"
    extra = result["extra"]
    report.targets.append(Target(text, f"{format_number(extra)} MB", extra < 100))
