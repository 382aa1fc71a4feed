"""The estimated distribution of the delay: quantiles, share that never returns, and a law."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from belated.check import check_choice
from belated.episode import Bools, Floats, Ints
from belated.survival.duration_counts import DurationCounts, group_of, largest_in
from belated.survival.follow_up import MIN_AT_RISK, NeverShare, complete_age, never_share
from belated.survival.kaplan_meier import (
    Bands,
    Estimate,
    KaplanMeier,
    kaplan_meier,
    kaplan_meier_of_counts,
)
from belated.survival.law import Tail, law_of

if TYPE_CHECKING:
    from belated.delays.laws import Law

Unit = Literal["episodes", "seconds"]

TIME_UNITS: Final = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
"""Units in which times are written, with their length in seconds."""


@dataclass(frozen=True, eq=False)
class DelayEstimate:
    """Kaplan-Meier estimate of the delay, from episodes of which some are still in flight.

    Unlike a mean over what has come back, it is not biased by the episodes that have not, as long
    as lateness does not depend on when an episode was opened.

    >>> estimate = estimate_delay(np.array([2, 5, 5, 9]), np.array([True, True, True, False]))
    >>> estimate.median
    Estimate(value=5.0, low=2.0, high=inf)
    """

    unit: Unit
    """Unit of all durations: "episodes" or "seconds"."""
    km: KaplanMeier
    """Share not back by time since the opening, with its band."""
    scale: float = 1.0
    """Number of units of `km.times` in one unit of `unit`."""

    @property
    def episodes(self) -> int:
        """Number of episodes, back or in flight."""
        return int(self.km.at_risk[0]) if self.km.at_risk.size else 0

    @property
    def returned(self) -> int:
        """Number of episodes that are back."""
        return int(self.km.returned.sum())

    @property
    def median(self) -> Estimate:
        """Delay by which half of the feedback is back; inf if that has not been reached."""
        return self.quantile(0.5)

    def quantile(self, p: float) -> Estimate:
        """Return the delay by which a share `p` of all feedback is back, with its interval."""
        return Estimate(*(value / self.scale for value in self.km.quantile(p)))

    def not_back(self, age: float) -> Estimate:
        """Return the share that is not back at this `age`, in `unit`, with its interval."""
        return self.km.at(age * self.scale)

    @cached_property
    def never(self) -> NeverShare:
        """Share that never returns, or that it cannot be told yet; durations in `unit`."""
        found = never_share(self.km)
        return NeverShare(
            found.share,
            found.low,
            found.high,
            found.followed / self.scale,
            found.last_return / self.scale,
        )

    @cached_property
    def complete_age(self) -> float | None:
        """Age by which 99 % of the feedback that returns at all is back; None if not known yet."""
        age = complete_age(self.km, self.never)
        return None if age is None else age / self.scale

    def law(self, tail: Tail = "never", *, name: str | None = None) -> "Law":
        """Return the estimate as a delay law to simulate with.

        Parameters
        ----------
        tail : {"never", "geometric"}
            What happens to the share that is not back at the longest delay observed: it never
            returns, or it returns after a geometric time with the rate of the later half of the
            returns. The second is an assumption about what has not been observed.
        name : str, optional
            Name of the law; by default "kaplan-meier:" and a checksum.

        Returns
        -------
        Law
            Law of delays in episodes; its quantiles are those of the estimate.

        Raises
        ------
        ValueError
            If the estimate is in seconds, or no episode is back.
        """
        check_choice("tail", tail, ("never", "geometric"))
        if self.unit != "episodes":
            raise ValueError(
                "law needs an estimate in episodes, since a law counts episodes, got one in "
                f"{self.unit}; use the estimate `episodes`."
            )
        return law_of(self.km, tail, name)

    @property
    def summary(self) -> str:
        """One sentence: when half is back, and what share never returns."""
        if not self.episodes:
            return "No episode has been opened."
        if not self.returned:
            return (
                f"None of {_count(self.episodes)} is back, so nothing can be told about the delay."
            )
        median, never = self.median, self.never
        if math.isinf(median.value):
            start = f"Less than half of the feedback is back after {self.text(never.followed)}"
        else:
            start = (
                f"Half of the feedback is back after {self.text(median.value)} "
                f"({percent(self.km.confidence)} interval: {self._range(median.low, median.high)})"
            )
        if never.share is None:
            return (
                f"{start}; which share never returns cannot be told yet, but it is at most "
                f"{percent(never.high)}."
            )
        return (
            f"{start}; {percent(never.share)} never returns "
            f"({percent(never.low)} to {percent(never.high)})."
        )

    def text(self, duration: float) -> str:
        """Return a `duration`, in `unit`, as text with its unit."""
        if self.unit == "episodes":
            return (
                _count(round(duration))
                if duration == round(duration)
                else f"{duration:.3g} episodes"
            )
        name, size = next((each for each in TIME_UNITS if duration >= each[1]), ("seconds", 1.0))
        return f"{duration / size:.3g} {name}"

    def _range(self, low: float, high: float) -> str:
        """Return a range of durations as text; its unit is written once if it is the same."""
        if math.isinf(high):
            return f"{self.text(low)} or more"
        one, other = self.text(low).split(), self.text(high)
        start = one[0] if other.endswith(f" {one[1]}") else " ".join(one)
        return f"{start} to {other}"

    def facts(self) -> dict[str, Any]:
        """Return the main numbers as a JSON object; null for what cannot be told."""
        median, never = self.median, self.never
        is_followed = self.episodes >= MIN_AT_RISK  # else no age is, and `followed` is 0
        shares = [self.not_back(never.followed)] if is_followed else []
        return {
            "episodes": self.episodes,
            "returned": self.returned,
            "median": finite(median.value),
            "median_low": finite(median.low),
            "median_high": finite(median.high),
            "followed": never.followed,
            "not_back": shares[0].value if shares else None,
            "not_back_low": shares[0].low if shares else None,
            "not_back_high": shares[0].high if shares else None,
            "never": never.share,
            "never_low": never.low,
            "never_high": never.high,
            "complete_age": self.complete_age,
            "summary": self.summary,
        }


def estimate_delay(
    durations: Floats | Ints,
    returned: Bools,
    *,
    unit: Unit = "episodes",
    confidence: float = 0.95,
    bands: Bands = "log-log",
) -> DelayEstimate:
    """Estimate the distribution of the delay from single episodes.

    Parameters
    ----------
    durations : array
        Delay of each episode that is back, and age of each other one, in `unit`.
    returned : array of bool
        Whether the feedback of each episode is back.
    unit : {"episodes", "seconds"}
        Unit of `durations`.
    confidence, bands
        As in `kaplan_meier`.

    Returns
    -------
    DelayEstimate
        The estimate.
    """
    return DelayEstimate(
        unit, kaplan_meier(durations, returned, confidence=confidence, bands=bands)
    )


def estimate_from_counts(
    delays: DurationCounts, ages: Ints, *, unit: Unit = "episodes", scale: float = 1.0
) -> DelayEstimate:
    """Estimate the distribution of the delay from counts, in time that depends on the ages only.

    Parameters
    ----------
    delays : DurationCounts
        Counts of the delays of the episodes that are back.
    ages : array of int
        Ages of the episodes in flight, in the unit of `delays`.
    unit : {"episodes", "seconds"}
        Unit of the estimate.
    scale : float
        Number of units of `delays` in one `unit`, such as 1e6 for microseconds in a second.

    Returns
    -------
    DelayEstimate
        The estimate with 95 % log-log bands. Durations of 128 or more are rounded up to their
        group, by less than 1/64.
    """
    grouped, numbers = np.unique(group_of(np.maximum(ages, 0)), return_counts=True)
    times = np.union1d(delays.durations(), largest_in(grouped))
    returned, out = np.zeros((2, times.size), np.int64)
    returned[np.searchsorted(times, delays.durations())] = delays.numbers()
    out[np.searchsorted(times, largest_in(grouped))] = numbers
    return DelayEstimate(unit, kaplan_meier_of_counts(times, returned, out), scale)


def percent(share: float) -> str:
    """Return `share` as text in percent with at most two significant digits.

    >>> percent(0.0371), percent(0.0), percent(0.995)
    ('3.7 %', '0 %', '99.5 %')
    """
    return f"{100 * share:.{3 if share > 0.99 else 2}g} %"


def finite(value: float) -> float | None:
    """Return `value`, or None if it is infinite or NaN, which JSON cannot represent."""
    return float(value) if math.isfinite(value) else None


def _count(number: int) -> str:
    return f"{number:,} episode{'' if number == 1 else 's'}"
