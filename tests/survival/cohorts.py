"""Simulated cohorts for the tests of `bl.lateness`, and what is counted over many of them.

    python tests/survival/cohorts.py [COHORTS]

prints the coverage of the bands, the rates at which the tests reject under independence, and their
power in the example of docs/lateness.md.
"""

import sys

import numpy as np
from numpy.typing import NDArray

import belated as bl
from belated.episode import Bools, Floats
from belated.survival.dependence import Cohorts, compare_cohorts, compare_groups, correlate_return
from belated.survival.estimate import DelayEstimate
from belated.survival.kaplan_meier import kaplan_meier

EPISODES = 300
MEAN_H = 20.0
LATEST_H = 600.0
"""Time in which the episodes of a cohort are opened, in hours."""


def hours(seed: int, episodes: int = EPISODES) -> tuple[Floats, Floats, Floats]:
    """Return openings, delays without any dependence, and the uniform numbers behind them."""
    rng = np.random.default_rng(seed)
    opened = np.sort(rng.uniform(0, LATEST_H, episodes))
    u = rng.uniform(size=episodes)
    return opened, -MEAN_H * np.log(u), u


def covered(seed: int, *, bands: str = "log-log") -> Bools:
    """Return whether the band holds the true law at its quartiles, in a cohort half in flight."""
    rng = np.random.default_rng(seed)
    ages = rng.uniform(0, 3 * MEAN_H, EPISODES)
    delays = rng.exponential(MEAN_H, EPISODES)
    back = delays <= ages
    estimate = DelayEstimate("seconds", kaplan_meier(np.minimum(delays, ages), back, bands=bands))  # type: ignore[arg-type]
    found = []
    for p in (0.25, 0.5, 0.75):
        _, low, high = estimate.not_back(-MEAN_H * np.log(1 - p))
        found.append(low <= 1 - p <= high)
    return np.array(found)


def independent_p(seed: int) -> Floats:
    """Return the p-values of the tests by group, with the return and of drift, one each."""
    rng = np.random.default_rng([seed, 1])
    opened, delays, _ = hours(seed)
    ages = LATEST_H - opened
    back = delays <= ages
    cohorts = Cohorts(np.minimum(delays, ages), back, ages >= 5 * MEAN_H)
    groups = rng.integers(3, size=opened.size).astype(object)
    returns = rng.integers(2, size=opened.size).astype(np.float64)
    tests = (
        compare_groups(cohorts, "arm", groups),
        correlate_return(cohorts, returns, seed=seed, resamples=2),
        compare_cohorts(cohorts, 2)[0],
    )
    return np.array([test.p for test in tests], np.float64)


def shop(seed: int, episodes: int = 600) -> dict[str, NDArray[np.generic] | dict[str, object]]:
    """Return the records of docs/lateness.md: sales are known soon, refunds late, arm B slower."""
    rng = np.random.default_rng(seed)
    opened = np.sort(rng.uniform(0, 60 * 86400, episodes))
    arm = rng.choice(["A", "B"], episodes)
    sold = rng.random(episodes) < 0.6
    days = rng.exponential(np.where(sold, 2, 6) * np.where(arm == "B", 1.5, 1.0))
    returned = opened + 86400 * days
    returned[returned > 60 * 86400] = np.nan
    returns = np.where(np.isnan(returned), np.nan, sold.astype(np.float64))
    return {"opened": opened, "returned": returned, "returns": returns, "groups": {"arm": arm}}


def detected(seed: int) -> Bools:
    """Return whether the dependence on arm and on the return is found in the shop."""
    late = bl.lateness(**shop(seed), now=60 * 86400)
    found = {test.about for test in late.dependences}
    return np.array(["arm" in found, "return" in found])


def main(number: int) -> None:
    """Print the shares of `number` cohorts."""
    coverage = np.mean([covered(seed) for seed in range(number)], axis=0)
    print(f"coverage at the quartiles, {number} cohorts: {coverage}, mean {coverage.mean():.4f}")
    rates = np.mean([independent_p(seed) <= 0.05 for seed in range(number)], axis=0)
    print(f"rejected at 5 % under independence (group, return, drift): {rates}")
    power = np.mean([detected(seed) for seed in range(number)], axis=0)
    print(f"power in the example (arm, return): {power}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
