"""Each base algorithm on the chain with S = H = 30, and runs on two threads."""

import os

import belated as bl
from measure import Turns, turn
from table import Promise, Report, Section, number, times

BASES = (bl.UBEV, bl.UCBVI_CH, bl.UCBVI_BF, bl.UCRL2, bl.UCRL2B, bl.KL_UCRL, bl.Chi2_UCRL)
SCALE = 0.1
SEEDS = range(8)


def measure(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the time of each base, active and lazy, and how far it is from the floor."""
    world, episodes = bl.chain(30), 500 if quick else 5_000
    rows = []
    for kind, stages in (*((kind, "each") for kind in BASES), (bl.UCBVI_BF, "pooled")):
        base = kind(scale=SCALE)

        def one(updater, planning="incremental", base=base, stages=stages):
            return turn(
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

        taken = Turns(
            {
                "active": one(bl.Active()),
                "lazy": one(bl.Lazy(alpha=10)),
                "floor": one(bl.Active(), "none"),
            },
            repeats,
        )
        name = kind.__name__ + (", pooled counts" if stages == "pooled" else "")
        cells = [number(taken[name]) for name in ("floor", "active", "lazy")]
        ratios = [times(taken.ratio(name, "floor")) for name in ("active", "lazy")]
        rows.append((name, *cells, *ratios))
    columns = ("base", "floor", "active", "lazy(10)", "active / floor", "lazy(10) / floor")
    note = f"{episodes:,} episodes with `scale={SCALE}`, other options as they are, no delay."
    report.sections.append(Section("Bases on chain 30, µs per episode", columns, rows, note))


def measure_threads(report: Report, *, quick: bool, repeats: int) -> None:
    """Add what a second thread brings."""
    world, episodes = bl.chain(30), 2_000 if quick else 20_000
    taken = Turns(
        {
            str(threads): turn(
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
    ratio = taken.ratio("1", "2")
    rows = [("1", number(taken["1"]), ""), ("2", number(taken["2"]), times(ratio))]
    note = f"`simulate_many` with {len(SEEDS)} seeds of {episodes:,} episodes, chain 30, active."
    columns = ("threads", "µs per episode", "faster than one")
    report.sections.append(Section("Threads", columns, rows, note))
    text = f"two threads are at least 1.7 × as fast as one ({os.cpu_count()} cores)"
    report.promises.append(Promise(text, times(ratio), ratio >= 1.7))
