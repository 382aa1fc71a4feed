"""Times of each base algorithm on the chain with S = H = 30, and of runs on two threads."""

import os
from functools import partial

import belated as bl
from measure import Timings, measurement
from report import Report, Section, Target, format_number, format_ratio

BASES = (bl.UBEV, bl.UCBVI_CH, bl.UCBVI_BF, bl.UCRL2, bl.UCRL2B, bl.KL_UCRL, bl.Chi2_UCRL)
SCALE = 0.1
LONG_EPISODES = 100_000
"""Number of episodes of the paper's experiments on chain 30."""
LONG_TURNS = 3
SEEDS = range(8)


def measure_bases(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the time of each base, active and lazy, and its ratio to the floor.

    Parameters
    ----------
    report : Report
        Receives the section.
    quick : bool
        Whether to play few episodes.
    repeats : int
        Number of turns of each measurement.
    """
    world, episodes = bl.chain(30), 500 if quick else 5_000
    rows = []
    for kind, stages in (*((kind, "each") for kind in BASES), (bl.UCBVI_BF, "pooled")):
        base = kind(scale=SCALE)

        def simulation(updater, planning="auto", base=base, stages=stages):
            return measurement(
                lambda: bl.simulate(
                    world,
                    base=base,
                    updater=updater,
                    episodes=episodes,
                    stages=stages,
                    planning=planning,
                ),
                episodes,
            )

        timings = Timings(
            {
                "active": simulation(bl.Active()),
                "lazy": simulation(bl.Lazy(alpha=10)),
                "floor": simulation(bl.Active(), "none"),
            },
            repeats,
        )
        name = kind.__name__ + (", pooled counts" if stages == "pooled" else "")
        cells = [format_number(timings[name]) for name in ("floor", "active", "lazy")]
        ratios = [timings.ratio(name, "floor") for name in ("active", "lazy")]
        rows.append((name, *cells, *map(format_ratio, ratios)))
        limit = 12 if stages == "pooled" else 15
        text = f"chain 30, {episodes:,} episodes, {name}: active takes at most {limit} × the floor"
        report.targets.append(Target(text, format_ratio(ratios[0]), ratios[0] <= limit))
    columns = ("base", "floor", "active", "lazy(10)", "active / floor", "lazy(10) / floor")
    note = f"{episodes:,} episodes with `scale={SCALE}`, other options at their defaults, no delay."
    report.sections.append(Section("Bases on chain 30, µs per episode", columns, rows, note))
    if not quick:
        report.sections.append(measure_long_runs(world))


def measure_long_runs(world: bl.MDP) -> Section:
    """Return the time of each base in runs of `world` that are as long as those of the paper."""
    rows = []
    for kind in BASES:
        run = partial(
            bl.simulate,
            world,
            base=kind(scale=SCALE),
            updater=bl.Active(),
            episodes=LONG_EPISODES,
        )
        runs = {
            planning: measurement(partial(run, planning=planning), LONG_EPISODES)
            for planning in ("none", "auto")
        }
        timings = Timings(runs, LONG_TURNS)
        times = format_number(timings["none"]), format_number(timings["auto"])
        rows.append((kind.__name__, *times, format_ratio(timings.ratio("auto", "none"))))
    columns = ("base", "floor", "active", "active / floor")
    note = (
        f"{LONG_EPISODES:,} episodes, as in the paper, and {LONG_TURNS} turns; otherwise as above. "
        "The longer a run, the more values change in an update."
    )
    return Section("Bases on chain 30 in long runs, µs per episode", columns, rows, note)


def measure_threads(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the speed-up by a second thread; for the parameters see `measure_bases`."""
    world, episodes = bl.chain(30), 2_000 if quick else 20_000
    timings = Timings(
        {
            str(threads): measurement(
                lambda threads=threads: bl.simulate_many(
                    world,
                    base=bl.UCBVI_BF(preset="two_term"),
                    updater=bl.Active(),
                    episodes=episodes,
                    seeds=SEEDS,
                    threads=threads,
                    progress=False,
                ),
                len(SEEDS) * episodes,
            )
            for threads in (1, 2)
        },
        repeats,
    )
    ratio = timings.ratio("1", "2")
    one, two = format_number(timings["1"]), format_number(timings["2"])
    rows = [("1", one, ""), ("2", two, format_ratio(ratio))]
    note = f"`simulate_many` with {len(SEEDS)} seeds of {episodes:,} episodes, chain 30, active."
    columns = ("threads", "µs per episode", "faster than one")
    report.sections.append(Section("Threads", columns, rows, note))
    text = f"two threads are at least 1.7 × as fast as one ({os.cpu_count()} cores)"
    report.targets.append(Target(text, format_ratio(ratio), ratio >= 1.7))
