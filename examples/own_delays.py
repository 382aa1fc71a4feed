"""Delays from a log of your own, and what they cost.

A log says when each episode was played and when its outcome was known: out of order, and for some
never. Here a clinic that sees 20 patients a day keeps it as a CSV file. Learners count delays in
episodes, so a day is 20. A chain stands for the problem to be learnt; put your own in its place.

    python examples/own_delays.py            # prints what lateness and loss cost
    python examples/own_delays.py --fast     # fewer episodes and seeds
"""

import csv
import math
import sys
from datetime import date
from pathlib import Path

import numpy as np

import belated as bl

PATIENTS_A_DAY = 20

LOG = """\
visit,outcome
2026-03-02,2026-03-03
2026-03-02,2026-03-16
2026-03-02,2026-03-09
2026-03-03,2026-03-04
2026-03-03,
2026-03-03,2026-03-03
2026-03-04,2026-03-11
2026-03-04,2026-03-30
2026-03-05,2026-03-06
2026-03-05,2026-03-12
2026-03-06,2026-03-09
2026-03-06,
"""


def delay(row: dict[str, str]) -> float:
    """How late the outcome of a visit was, in episodes; inf for never."""
    if not row["outcome"]:
        return math.inf
    waited = date.fromisoformat(row["outcome"]) - date.fromisoformat(row["visit"])
    return waited.days * PATIENTS_A_DAY


def main(fast: bool) -> None:
    path = Path("out/visits.csv")
    path.parent.mkdir(exist_ok=True)
    path.write_text(LOG)
    with path.open(newline="") as file:
        delays = [delay(row) for row in csv.DictReader(file)]

    returned = [tau for tau in delays if tau < math.inf]
    print(f"{len(returned)} of {len(delays)} came back, {np.mean(returned):.0f} late on average")
    laws = {
        "no delay": None,
        "late, none lost": bl.delays.empirical(returned, name="returned"),
        "as observed": bl.delays.empirical(delays, name="visits"),
    }
    for name, law in laws.items():
        runs = bl.simulate_many(
            bl.chain(8),
            base=bl.UCBVI_BF(preset="two_term", scale=0.03),
            updater=bl.Lazy(alpha=10),
            delay=law,
            episodes=1_000 if fast else 10_000,
            seeds=range(5 if fast else 40),
        )
        regret = [run.total_regret for run in runs]
        error = np.std(regret, ddof=1) / math.sqrt(len(regret))
        missing = max(run.max_missing for run in runs)
        print(f"{name:15} regret {np.mean(regret):5.1f} ± {error:3.1f}, up to {missing:,} missing")


if __name__ == "__main__":
    main(fast="--fast" in sys.argv)
