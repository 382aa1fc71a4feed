"""Regret under delays taken from a log of your own.

The log has the date of each episode and the date on which its outcome became known; some outcomes
never did. Here it is the CSV file of a clinic with 20 patients a day. Delays are counted in
episodes, so a day is 20 episodes. A chain stands in for the problem; replace it with your own.

    python examples/own_delays.py            # prints the regret with and without delay and loss
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
    """Return the delay of the visit `row` in episodes, or inf if there is no outcome."""
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
    print(f"{len(returned)} of {len(delays)} arrived, {np.mean(returned):.0f} late on average")
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
