"""Delay laws that change with time: seasons, outages, batches, and calendars of one's own.

Time is counted in episodes. The delays depend on the number of an episode, but not on what is
played in it.

>>> by_time([(3, "constant:1"), (2, "constant:9")]).draw(seed=7, episodes=8)
array([1, 1, 1, 9, 9, 1, 1, 1])
>>> weekly("constant:0", day=5).draw(seed=7, episodes=8)
array([4, 3, 2, 1, 0, 6, 5, 4])

A calendar is a function of two arrays of the same length, the numbers of episodes and their delays.
It returns an array of the delays until the feedback is delivered. For example, if feedback is
delivered in a batch after every seventh episode:

>>> def next_batch(numbers, delays):
...     return delays + -(numbers + delays) % 7
>>> from belated.delays.laws import constant
>>> with_calendar(constant(0), next_batch, name="weekly", period=7).draw(seed=7, episodes=8)
array([6, 5, 4, 3, 2, 1, 0, 6])
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple, Self

import numpy as np

from belated.check import check_integer
from belated.delays.compound import check_pairs, format_entries
from belated.delays.laws import NEVER, Law, check_law, empirical_quantiles, with_losses
from belated.episode import Bools, Floats, Ints

Calendar = Callable[[Ints, Ints], Ints]
"""Function of (episode numbers from 1, delays in episodes) that returns the new delays."""

MAX_SAMPLES: Final = 2**16
"""Largest number of delays from which the mean and the quantiles over a period are computed, unless
the period has more episodes than this number: then one delay of each of its episodes is used."""


OUTAGE: Final = "outage"
"""Entry of a schedule in place of a law: no feedback is delivered during these episodes."""

GOLDEN_RATIO: Final = (math.sqrt(5) - 1) / 2


class Seasons(NamedTuple):
    """Division of the episodes into seasons."""

    ends: tuple[int, ...]  # last episode of each season of the first period, in increasing order
    repeats: bool  # whether the first season follows the last; otherwise the last one never ends

    def at(self, numbers: Ints) -> Ints:
        """Return the season of each of the episodes `numbers`, from 0."""
        if not self.repeats:
            return np.searchsorted(np.array(self.ends[:-1], np.int64), numbers)
        return np.searchsorted(np.array(self.ends), (numbers - 1) % self.ends[-1] + 1)


@dataclass(frozen=True, kw_only=True)
class CalendarLaw(Law):
    """Law whose delays depend on the number of the episode; see `by_time` and `with_calendar`."""

    laws: tuple[Law, ...] = field(repr=False)
    """Law of each season, before the calendar is applied."""
    seasons: Seasons = field(default=Seasons((1,), repeats=True), repr=False)
    calendar: Calendar | None = field(default=None, repr=False, compare=False)
    """Function that determines when feedback is delivered; None if it is delivered on arrival."""
    period: int = field(default=1, repr=False)  # type: ignore[misc]  # a ClassVar of `Law`
    settled: int = field(default=1, repr=False)  # type: ignore[misc]

    stationary = False

    def draw(self, *, seed: int, episodes: int, first: int = 1, step: int = 0) -> Ints:
        given: dict[str, Any] = {"seed": seed, "episodes": episodes, "first": first, "step": step}
        drawn = {law: law.draw(**given) for law in self.laws}
        return self._deliver(first + np.arange(episodes), lambda law, mine: drawn[law][mine])

    def at_episodes(self, numbers: Ints, u: Floats) -> Ints:
        return self._deliver(numbers, lambda law, mine: law.at_episodes(numbers[mine], u[mine]))

    def _deliver(self, numbers: Ints, delays_of: Callable[[Law, Bools], Ints]) -> Ints:
        """Return the delays of the episodes `numbers`, given those of a law for some of them."""
        season = self.seasons.at(numbers)
        delays = np.zeros(numbers.shape, np.int64)
        for i, law in enumerate(self.laws):
            mine = season == i
            delays[mine] = delays_of(law, mine)
        return delays if self.calendar is None else apply_calendar(self.calendar, numbers, delays)

    def _with_losses(self, probability: float, name: str) -> Self:
        mean, lost = self._mean_and_share_lost(probability)
        laws = tuple(with_losses(law, probability) for law in self.laws)
        return replace(self, name=name, mean=mean, laws=laws, _never=lost)

    def with_numerical_values(self, mean: float | None) -> Self:
        """Return the law with quantiles, and unless it is given a mean, computed numerically."""
        if mean is None:
            lossy = any(law.mean == math.inf for law in self.laws)
            mean = math.inf if lossy else float(_period_values(self).mean())
        return replace(self, mean=mean, quantiles=partial(_period_quantiles, self))


def with_calendar(law: Law, calendar: Calendar, *, name: str, period: int) -> Law:
    """Return a law under which a calendar determines when feedback is delivered.

    Parameters
    ----------
    law : Law
        Law of the delays before the calendar is applied.
    calendar : callable
        Function of two int64 arrays, the numbers of episodes (from 1) and their delays, that
        returns the delays until the feedback is delivered, whole numbers of at least 0. It is not
        called for feedback that never arrives. Define it at the top level of a module, so that the
        law can be pickled.
    name : str
        Name of the law, which must identify it.
    period : int
        Number of episodes after which the calendar repeats.

    Returns
    -------
    Law
        Law with `stationary` False. Its mean and quantiles are those of all episodes of a period
        together; they are computed numerically.
    """
    law = check_law("law", law, independent=True)
    numbers = np.arange(1, check_integer("period", period, 1) + 1)
    count = max(1, MAX_SAMPLES // numbers.size)
    delays = law.at((np.arange(count) + 0.5) / count)
    every = apply_calendar(calendar, np.repeat(numbers, count), np.tile(delays, numbers.size))
    values = np.sort(np.where(every >= NEVER, math.inf, every.astype(np.float64)))
    mean = math.inf if law.mean == math.inf else float(values.mean())
    quantiles = partial(empirical_quantiles, values)
    return CalendarLaw(name, mean, quantiles, laws=(law,), calendar=calendar, period=numbers.size)


def apply_calendar(calendar: Calendar, numbers: Ints, delays: Ints) -> Ints:
    """Apply a calendar to all finite delays, and return the new delays.

    Parameters
    ----------
    calendar : callable
        See `with_calendar`.
    numbers : Ints
        Numbers of episodes.
    delays : Ints
        Delays of these episodes before the calendar is applied.

    Returns
    -------
    Ints
        Delays after the calendar is applied. Infinite delays, `NEVER`, are unchanged.

    Raises
    ------
    ValueError
        If the calendar returns invalid delays.
    """
    arrives = delays < NEVER
    moved = np.asarray(calendar(numbers[arrives], delays[arrives]))
    if moved.shape != (np.count_nonzero(arrives),) or not np.issubdtype(moved.dtype, np.integer):
        raise ValueError(
            f"calendar must return one integer for each delay, got {moved.dtype} of shape "
            f"{moved.shape}."
        )
    if moved.size and moved.min() < 0:
        raise ValueError(f"calendar must return delays of at least 0, got {moved.min()}.")
    result = delays.copy()
    result[arrives] = np.minimum(moved, NEVER)
    return result


def by_time(schedule: Iterable[tuple[float, Law | str]]) -> Law:
    """Return the law that changes with the number of the episode: with seasons and outages.

    Parameters
    ----------
    schedule : iterable of (int, Law or str)
        Number of episodes and law, or its name, of each season, in order. The law of a season is
        that of the delays of the episodes played in it. After the last season the first one begins
        again, unless the last has the length inf. The name "outage" in place of a law is a time in
        which nothing is delivered: what would arrive during these episodes is usable after the last
        of them. Episodes played in an outage have the law of the season before. The first entry is
        not an outage.

    Returns
    -------
    Law
        Law with the name "by_time:EPISODES=DELAY,..." and with `stationary` False. Its mean and
        quantiles are those of all episodes of a period together, or of the last season if it does
        not end; with outages they are computed numerically.

    Examples
    --------
    Nothing is delivered in the last three of ten episodes:

    >>> by_time([(7, "constant:1"), (3, "outage")]).draw(seed=7, episodes=10)
    array([1, 1, 1, 1, 1, 1, 3, 2, 1, 1])

    Delays are longer from episode 1001 on:

    >>> by_time([(1000, "geometric:10"), (math.inf, "geometric:50")]).mean
    50.0
    """
    entries = check_pairs("schedule", schedule, "(100, 'geometric:10')")
    lengths: list[int] = []
    laws: list[Law] = []
    out: list[bool] = []
    for i, (episodes, given) in enumerate(entries):
        endless = episodes == math.inf
        if endless and (i + 1 < len(entries) or given == OUTAGE):
            raise ValueError(
                "schedule must have the length inf only for its last entry, a law, "
                f"got {(episodes, given)!r} as entry {i + 1} of {len(entries)}."
            )
        if isinstance(episodes, float) and episodes.is_integer():
            episodes = int(episodes)
        lengths.append(1 if endless else check_integer("episodes of a season", episodes, 1))
        out.append(given == OUTAGE)
        if out[0]:
            raise ValueError("schedule must begin with a law, got 'outage' as its first entry.")
        law = laws[-1] if out[-1] else check_law("law of a season", given, independent=True)
        laws.append(law)
    seasons = Seasons(tuple(np.cumsum(lengths).tolist()), repeats=entries[-1][0] != math.inf)
    names = [OUTAGE if outage else law for outage, law in zip(out, laws, strict=True)]
    keys = ["inf" if episodes == math.inf else str(int(episodes)) for episodes, _ in entries]
    total = seasons.ends[-1]
    if seasons.repeats:
        period, settled = math.lcm(total, *(law.period for law in laws)), 1
        mean = math.fsum(n * law.mean for n, law in zip(lengths, laws, strict=True)) / total
    else:
        period, settled, mean = laws[-1].period, total, laws[-1].mean
    law = CalendarLaw(
        "by_time:" + format_entries(keys, names),
        0.0,
        np.zeros_like,
        laws=tuple(laws),
        seasons=seasons,
        calendar=partial(_after_outage, seasons, tuple(out)) if any(out) else None,
        period=period,
        settled=max(settled, *(law.settled for law in laws)),
    )
    return law.with_numerical_values(None if any(out) and mean < math.inf else mean)


def weekly(law: Law | str, day: int, *, week: int = 7) -> Law:
    """Return the law under which feedback is delivered in batches, on one day of each week.

    What arrives under `law` is delivered at the next episode whose number is `day`, `day` + `week`,
    `day` + 2 `week`, ...; what arrives at one of these episodes is not moved.

    Parameters
    ----------
    law : Law or str
        Law of the delays until arrival, or its name; it may depend on what is played.
    day : int
        Position in the week, 1 .. `week`, of the episode after which the batch is delivered.
    week : int
        Number of episodes in a week, at least 1. The default is one episode a day.

    Returns
    -------
    Law
        Law with the name "weekly:DAY:LAW", or "weekly:DAY/WEEK:LAW" if `week` is not 7, and with
        `stationary` False. Its mean and quantiles are those of all episodes of a week together; the
        quantiles are computed numerically.

    Examples
    --------
    >>> law = weekly("geometric:20", day=70, week=70)
    >>> law.name, law.mean
    ('weekly:70/70:geometric:20', 54.5)
    >>> law.draw(seed=7, episodes=4, first=67)
    array([73, 72, 71, 70])
    """
    from belated.delays.dependent import DependentLaw

    law = check_law("law", law)
    week = check_integer("week", week, 1)
    day = check_integer("day", day, 1)
    if day > week:
        raise ValueError(
            f"day must lie in 1 .. {week}, the number of episodes in a week, got {day}; pass week= "
            "if a week has more episodes."
        )
    prefix = f"weekly:{day}:" if week == 7 else f"weekly:{day}/{week}:"
    if isinstance(law, DependentLaw):
        return law.with_groups(prefix + law.name, partial(weekly, day=day, week=week))
    calendar, period = partial(_next_batch, day, week), math.lcm(week, law.period)
    given: dict[str, Any] = {"laws": (law,), "calendar": calendar, "settled": law.settled}
    result = CalendarLaw(prefix + law.name, 0.0, np.zeros_like, period=period, **given)
    # if the law is stationary, the remainder is uniform on 0 .. week - 1
    return result.with_numerical_values(law.mean + (week - 1) / 2 if law.stationary else None)


@lru_cache(maxsize=32)
def _period_values(law: Law) -> Floats:
    """Return delays of `law` in increasing order, spread evenly over a period and over [0, 1).

    The points (episode, uniform number) are a lattice, so that few of them suffice for any period.
    """
    j = np.arange(MAX_SAMPLES)
    numbers = law.settled + ((2 * j + 1) * law.period) // (2 * MAX_SAMPLES)
    u = np.asarray((0.5 + j * GOLDEN_RATIO) % 1.0, np.float64)
    delays = law.at_episodes(numbers, u)
    return np.sort(np.where(delays >= NEVER, math.inf, delays.astype(np.float64)))


def _period_quantiles(law: Law, p: Floats) -> Floats:
    """Return the quantiles of `law` over all episodes of a period, at the probabilities `p`."""
    return empirical_quantiles(_period_values(law), p)


def _next_batch(day: int, week: int, numbers: Ints, delays: Ints) -> Ints:
    """Return the delays until the batch that follows each arrival; see `weekly`."""
    return delays + (day - numbers - delays) % week


def _after_outage(seasons: Seasons, out: tuple[bool, ...], numbers: Ints, delays: Ints) -> Ints:
    """Return the delays until the end of the outage for what arrives in one; see `by_time`.

    `out` tells which of `seasons` are outages; an outage may consist of several.
    """
    arrivals = numbers + delays
    season = seasons.at(arrivals)
    last = np.arange(len(out))  # last season of the outage that contains each season
    for i in range(len(out) - 2, -1, -1):
        if out[i] and out[i + 1]:
            last[i] = last[i + 1]
    ends = np.array(seasons.ends)
    position = (arrivals - 1) % ends[-1] + 1 if seasons.repeats else arrivals
    return delays + np.where(np.array(out)[season], ends[last[season]] - position, 0)
