"""The share of episodes whose feedback never returns, and whether it can be told yet.

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
from dataclasses import dataclass
from typing import Final

import numpy as np

from belated.survival.kaplan_meier import KaplanMeier

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


def never_share(km: KaplanMeier) -> NeverShare:
    """Return the share of episodes that never return, by `km`, or that it cannot be told yet.

    >>> from belated.survival.kaplan_meier import kaplan_meier
    >>> back = np.arange(100) < 80
    >>> never_share(kaplan_meier(np.where(back, 3, 50), back)).share < 0.21
    True
    >>> never_share(kaplan_meier(np.where(back, 3, 3), back)).is_known
    False
    """
    last = km.last_return
    if math.isnan(last):
        return NeverShare(None, 0.0, 1.0, _followed(km), last)
    at_end = km.at(last)
    if at_end.high <= SMALL_SHARE:
        # what is out may still come
        return NeverShare(at_end.value, 0.0, at_end.high, _followed(km), last)
    followed = _followed(km)
    seen = (km.times <= followed) & (km.returned > 0)
    if not seen.any():
        return NeverShare(None, 0.0, 1.0, followed, math.nan)
    last = float(km.times[seen][-1])
    share = km.at(last)
    if last < MAX_LAST_SHARE * followed and _expected_after(km, last, followed) >= MIN_EXPECTED:
        return NeverShare(*share, followed, last)
    return NeverShare(None, 0.0, share.high, followed, last)


def complete_age(km: KaplanMeier, never: NeverShare) -> float | None:
    """Return the age by which 99 % of the feedback that returns at all is back, in units of `km`.

    `never` is the share of episodes whose feedback never returns. If it cannot be told yet, the
    result is the age by which 99 % of all feedback is back. Returns None if there is no such age so
    far.
    """
    share = never.share or 0.0
    if share >= 1:
        return None
    age = km.quantile((1 - NEGLIGIBLE_SHARE) * (1 - share)).value
    return age if math.isfinite(age) else None


def _followed(km: KaplanMeier) -> float:
    """Return the largest age at which at least ten episodes are still out; 0 if there is none."""
    places = np.flatnonzero(km.at_risk >= MIN_AT_RISK)
    return float(km.times[places[-1]]) if places.size else 0.0


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
