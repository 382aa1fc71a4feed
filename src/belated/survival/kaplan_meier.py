"""The Kaplan-Meier estimate of the distribution of a duration, with confidence bands.

Each episode has a duration: the delay of its feedback, or its age if the feedback is not back. With
d_j returns among n_j episodes that are not back before the duration t_j, the share not back is

    S(t) = prod_{t_j <= t} (1 - d_j / n_j)                        (Kaplan and Meier 1958)

and the band at confidence 1 - a, which is meant for each t by itself, is

    S(t) ^ exp(+-z sd / log S(t)),  sd^2 = sum_{t_j <= t} d_j / (n_j (n_j - d_j)),

with z the normal quantile at 1 - a / 2 ("log-log", Kalbfleisch and Prentice), or S(t) +- z S(t) sd
("linear", Greenwood 1926). Both equal the bands of `scipy.stats.ecdf`. Where S(t) is 1 or 0, they
are not defined; the exact binomial limits for n episodes without any exception are used there, with
n = n_j for S = 1, and n = n_j / S(t_j-) for S = 0, the number of episodes followed so long.
"""

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from belated.check import check_choice
from belated.episode import Bools, Floats, Ints

Bands = Literal["log-log", "linear"]


class Estimate(NamedTuple):
    """Estimated number with its confidence interval."""

    value: float
    """The estimate."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval; inf if the data set no limit."""


@dataclass(frozen=True, eq=False)
class KaplanMeier:
    """Share of episodes whose feedback is not back, by the time since they were opened.

    >>> km = kaplan_meier(np.array([2, 3, 3, 5, 8]), np.array([True, True, False, True, False]))
    >>> km.times, km.survival.round(3)
    (array([2., 3., 5., 8.]), array([0.8, 0.6, 0.3, 0.3]))
    >>> km.quantile(0.5)
    Estimate(value=5.0, low=2.0, high=inf)
    """

    times: Floats
    """Distinct durations in increasing order."""
    returned: Ints
    """Number of episodes that returned after each of `times`."""
    at_risk: Ints
    """Number of episodes that were not back before each of `times` and are at least that old."""
    survival: Floats
    """Share not back after each of `times`."""
    low: Floats = field(repr=False)
    """Lower end of the band at each of `times`."""
    high: Floats = field(repr=False)
    """Upper end of the band at each of `times`."""
    confidence: float
    """Confidence level of the band at each single time."""

    @property
    def last_return(self) -> float:
        """Largest duration after which an episode returned; NaN if none returned."""
        back = self.times[self.returned > 0]
        return float(back[-1]) if back.size else math.nan

    def at(self, time: float) -> Estimate:
        """Return the share not back at this `time` since the opening, with its interval."""
        if not time >= 0:
            raise ValueError(f"time must be at least 0, got {time}.")
        place = int(np.searchsorted(self.times, time, side="right")) - 1
        if place < 0:
            total = int(self.at_risk[0]) if self.at_risk.size else 0
            return Estimate(1.0, _limit_of_none(total, self.confidence) if total else 0.0, 1.0)
        return Estimate(
            float(self.survival[place]), float(self.low[place]), float(self.high[place])
        )

    def quantile(self, p: float) -> Estimate:
        """Return the smallest time by which a share `p` is back, with its interval.

        The estimate is inf if this share has not been reached. The interval consists of the times
        at which the band contains 1 - p (Brookmeyer and Crowley 1982).
        """
        if not 0 < p < 1:
            raise ValueError(f"p must lie between 0 and 1, got {p}.")
        # rounding must not move a quantile that lies exactly on a step
        level = 1 - p + 1e-12
        first = (self._first_below(curve, level) for curve in (self.survival, self.low, self.high))
        return Estimate(*first)

    def _first_below(self, curve: Floats, level: float) -> float:
        places = np.flatnonzero(curve <= level)
        return float(self.times[places[0]]) if places.size else math.inf


def kaplan_meier(
    durations: Floats | Ints,
    returned: Bools,
    *,
    confidence: float = 0.95,
    bands: Bands = "log-log",
) -> KaplanMeier:
    """Estimate the distribution of a duration from episodes of which some are still in flight.

    Parameters
    ----------
    durations : array
        Delay of each episode that is back, and age of each other one, at least 0.
    returned : array of bool
        Whether the feedback of each episode is back.
    confidence : float
        Confidence level of the band, between 0 and 1.
    bands : {"log-log", "linear"}
        Formula of the band; see the module docstring.

    Returns
    -------
    KaplanMeier
        The estimate. An episode in flight counts as not back at its age itself.
    """
    times, places = np.unique(np.asarray(durations, np.float64), return_inverse=True)
    back = np.bincount(places[returned], minlength=times.size)
    out = np.bincount(places[~returned], minlength=times.size)
    return kaplan_meier_of_counts(times, back, out, confidence=confidence, bands=bands)


def kaplan_meier_of_counts(
    times: Floats,
    returned: Ints,
    out: Ints,
    *,
    confidence: float = 0.95,
    bands: Bands = "log-log",
) -> KaplanMeier:
    """Return the estimate from the numbers of episodes by duration, however many there are.

    Parameters
    ----------
    times : array
        Distinct durations in increasing order.
    returned : array of int
        Number of episodes that returned after each of `times`.
    out : array of int
        Number of episodes in flight whose age is each of `times`.
    confidence, bands
        As in `kaplan_meier`.

    Returns
    -------
    KaplanMeier
        The same estimate as `kaplan_meier` of the single episodes.
    """
    check_choice("bands", bands, ("log-log", "linear"))
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}.")
    at_risk = np.cumsum((returned + out)[::-1])[::-1]
    stay = 1 - returned / np.maximum(at_risk, 1)
    survival: Floats = np.cumprod(stay, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.sqrt(np.cumsum(returned / (at_risk * (at_risk - returned))))
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        if bands == "linear":
            low, high = survival - z * survival * sd, survival + z * survival * sd
        else:
            power = z * sd / np.log(survival)  # negative
            low, high = survival ** np.exp(-power), survival ** np.exp(power)
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    none = survival == 1
    low[none], high[none] = ((1 - confidence) / 2) ** (1 / at_risk[none]), 1.0
    if survival.size and survival[-1] == 0:
        place = int(np.flatnonzero(survival == 0)[0])
        before = float(survival[place - 1]) if place else 1.0
        low[place:] = 0.0
        high[place:] = 1 - _limit_of_none(float(at_risk[place]) / before, confidence)
    return KaplanMeier(times, returned, at_risk, survival, low, high, confidence)


def _limit_of_none(number: float, confidence: float) -> float:
    """Return the lower limit of a share that was 1 in a sample of this `number` of episodes."""
    return float(((1 - confidence) / 2) ** (1 / number))
