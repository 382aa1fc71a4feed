"""The estimated distribution of the delay: quantiles, share that never returns, and a law.

The share not back after the last return estimates the share that never returns only if episodes
were followed long past that return. Let t be the largest age at which at least ten episodes are
still out, and l the last return at an age of at most t. The share is reported if

- l is below 0.95 t, and
- the stretch from l to t without a return would be unlikely if returns went on as before: at the
  rate of the stretch of the same length before l, in returns per time that episodes were out, at
  least 3 returns would be expected in it. The chance of none is then at most exp(-3), 5 %. (The
  comparison of these two stretches is that of Maller and Zhou 1994, whose test does not allow for
  the smaller number of episodes that are followed longer.)

or if at most 5 % can be out by the band after the last of all returns. Otherwise it cannot be told
yet; the upper end of the band is then still an upper bound of the share. Without the second
condition, a slow law that was observed for a short time would pass as one with a large share that
never returns.
"""

import math
import zlib
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from belated.check import check_choice
from belated.episode import Floats, Ints
from belated.survival.duration_counts import DurationCounts, group_of, largest_in
from belated.survival.kaplan_meier import Estimate, KaplanMeier, kaplan_meier_of_counts

if TYPE_CHECKING:
    from belated.delays.laws import Law

Unit = Literal["episodes", "seconds"]

TIME_UNITS: Final = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
"""Units in which times are written, with their length in seconds."""

Tail = Literal["never", "geometric"]

MIN_AT_RISK: Final = 10
"""Number of episodes still out that the end of the follow-up needs."""

MAX_LAST_SHARE: Final = 0.95
"""Largest last return as a share of the follow-up."""

MIN_EXPECTED: Final = 3.0
"""Number of returns that must be expected in a stretch in which there was none."""

SMALL_SHARE: Final = 0.05
"""Upper end of the band below which the share that never returns is small, whatever it is."""

NEGLIGIBLE_SHARE: Final = 0.01
"""Share that may be missing in a cohort that is called complete."""


@dataclass(frozen=True)
class NeverShare:
    """Share of episodes whose feedback never returns."""

    share: float | None
    """Estimated share; None if it cannot be told yet."""
    low: float
    """Lower end of its interval; 0 if the share cannot be told yet."""
    high: float
    """Upper end of its interval, which holds also if the share cannot be told yet."""
    followed: float
    """Largest age at which at least ten episodes are still out; 0 if there is none."""
    last_return: float
    """Last return up to that age, or the last of all if at most 5 % can be out; NaN if none."""

    @property
    def is_known(self) -> bool:
        """Whether the follow-up is long enough to tell the share."""
        return self.share is not None


@dataclass(frozen=True, eq=False)
class DelayEstimate:
    """Kaplan-Meier estimate of the delay, from episodes of which some are still in flight.

    Unlike a mean over what has come back, it is not biased by the episodes that have not, as long
    as lateness does not depend on when an episode was opened.

    >>> from belated.survival.kaplan_meier import kaplan_meier
    >>> back = np.array([True, True, True, False])
    >>> estimate = DelayEstimate("episodes", kaplan_meier(np.array([2, 5, 5, 9]), back))
    >>> estimate.median
    Estimate(value=5.0, low=2.0, high=inf)
    """

    unit: Unit
    """Unit of all durations: "episodes" or "seconds"."""
    km: KaplanMeier
    """Share not back by time since the opening, with its band."""

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
        return self.km.quantile(p)

    def not_back(self, age: float) -> Estimate:
        """Return the share that is not back at this `age`, in `unit`, with its interval."""
        return self.km.at(age)

    @cached_property
    def never(self) -> NeverShare:
        """Share that never returns, or that it cannot be told yet; durations in `unit`."""
        return never_share(self.km)

    @cached_property
    def complete_age(self) -> float | None:
        """Age by which 99 % of the feedback that returns at all is back; None if not known yet."""
        share = self.never.share or 0.0  # 0 if it cannot be told yet
        if share >= 1:
            return None
        return finite(self.quantile((1 - NEGLIGIBLE_SHARE) * (1 - share)).value)

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
            Law of delays in episodes, which can be pickled; its quantiles are those of the
            estimate.

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
        import belated

        km = self.km
        back = km.returned > 0
        if not back.any():
            raise ValueError("law needs at least one episode that is back, got none.")
        # delays of a law are whole numbers; groups of counts and ages are whole numbers already
        times, survival = np.ceil(km.times[back]), km.survival[back]
        left = float(survival[-1])
        rate = tail_rate(km) if tail == "geometric" and left > 0 else 0.0
        mass = -np.diff(survival, prepend=1.0)
        mean = float(mass @ times)
        if left > 0:
            mean = mean + left * (float(times[-1]) + 1 / rate) if rate else math.inf
        content = np.concatenate([times, survival, [rate]]).astype("<f8").tobytes()
        name = name or f"kaplan-meier:{zlib.crc32(content):08x}"
        return belated.Law(name, mean, partial(step_quantiles, times, 1 - survival, rate))

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
            whole = duration == round(duration)
            return _count(round(duration)) if whole else f"{duration:.3g} episodes"
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
        share = self.not_back(never.followed) if is_followed else (None, None, None)
        return {
            "episodes": self.episodes,
            "returned": self.returned,
            "median": finite(median.value),
            "median_low": finite(median.low),
            "median_high": finite(median.high),
            "followed": never.followed,
            "not_back": share[0],
            "not_back_low": share[1],
            "not_back_high": share[2],
            "never": never.share,
            "never_low": never.low,
            "never_high": never.high,
            "complete_age": self.complete_age,
            "summary": self.summary,
        }


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
    return DelayEstimate(unit, kaplan_meier_of_counts(times / scale, returned, out))


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


def never_share(km: KaplanMeier) -> NeverShare:
    """Return the share of episodes that never return, by `km`, or that it cannot be told yet.

    >>> from belated.survival.kaplan_meier import kaplan_meier
    >>> back = np.arange(100) < 80
    >>> never_share(kaplan_meier(np.where(back, 3, 50), back)).share < 0.21
    True
    >>> never_share(kaplan_meier(np.where(back, 3, 3), back)).is_known
    False
    """
    followed_times = km.times[km.at_risk >= MIN_AT_RISK]
    last, followed = km.last_return, float(followed_times[-1]) if followed_times.size else 0.0
    unknown = NeverShare(None, 0.0, 1.0, followed, math.nan)
    if math.isnan(last):
        return unknown
    at_end = km.at(last)
    if at_end.high <= SMALL_SHARE:
        # what is out may still come
        return NeverShare(at_end.value, 0.0, at_end.high, followed, last)
    seen = (km.times <= followed) & (km.returned > 0)
    if not seen.any():
        return unknown
    last = float(km.times[seen][-1])
    share = km.at(last)
    if last < MAX_LAST_SHARE * followed and _expected_after(km, last, followed) >= MIN_EXPECTED:
        return NeverShare(*share, followed, last)
    return NeverShare(None, 0.0, share.high, followed, last)


def _expected_after(km: KaplanMeier, last: float, followed: float) -> float:
    """Return the returns expected between `last` and `followed` at the rate before `last`."""
    start = max(0.0, 2 * last - followed)
    returns = int(km.returned[(km.times >= start) & (km.times <= last)].sum())
    before, after = _time_out(km, start, last), _time_out(km, last, followed)
    # without any time before, as where all delays are 0, a single unit of time would do
    return returns * after / before if before else math.inf


def _time_out(km: KaplanMeier, start: float, end: float) -> float:
    """Return the time that all episodes together were out between two ages."""
    numbers = -np.diff(km.at_risk, append=0)
    return float(numbers @ np.clip(km.times - start, 0.0, end - start))


def tail_rate(km: KaplanMeier) -> float:
    """Return the returns per episode in flight and unit of time, among the later returns.

    These are the returns after the median of the delays that were observed: their number, divided
    by the time that episodes were at risk. It is the maximum likelihood estimate of the rate of a
    geometric distribution from that median on.
    """
    half = (1 + float(km.survival[-1])) / 2
    start = float(km.times[np.flatnonzero(km.survival <= half)[0]])
    later = km.times > start
    if not km.returned[later].any():
        later, start = np.full(km.times.size, True), -1.0
    waits = np.diff(km.times[later], prepend=start)
    return float(km.returned[later].sum() / (km.at_risk[later] @ waits))


def step_quantiles(times: Floats, shares: Floats, rate: float, p: Floats) -> Floats:
    """Return the quantiles of a step function with a geometric tail.

    Parameters
    ----------
    times : array
        Positions of the steps, in increasing order.
    shares : array
        Share back at each of `times`, in increasing order.
    rate : float
        Parameter of the geometric law of the time after the last step; 0 if nothing returns then.
    p : array
        Probabilities in [0, 1].

    Returns
    -------
    array
        Smallest time by which each share `p` is back; inf if it never is.
    """
    # rounding must not move a probability that lies exactly on a step
    places = np.searchsorted(shares, p - 1e-12, side="left")
    beyond = places >= times.size
    result = times[np.minimum(places, times.size - 1)]
    if not beyond.any():
        return result
    result = result.astype(np.float64)
    if rate <= 0:
        result[beyond] = np.inf
        return result
    with np.errstate(divide="ignore"):
        left = np.log((1 - p[beyond]) / (1 - shares[-1]))
        after = np.ceil(left / math.log1p(-rate) - 1e-9) if rate < 1 else np.ones(left.size)
    result[beyond] = times[-1] + np.maximum(after, 1)
    return result
