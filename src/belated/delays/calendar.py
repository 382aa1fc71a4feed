"""Delay laws that depend on the calendar: feedback arrives only after certain episodes.

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
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Self

import numpy as np

from belated.check import check_integer
from belated.delays.laws import NEVER, Law, check_law, empirical_quantiles
from belated.episode import Floats, Ints

Calendar = Callable[[Ints, Ints], Ints]
"""Function of (episode numbers from 1, delays in episodes) that returns the new delays."""

MAX_SAMPLES: Final = 2**16
"""Largest number of delays from which the mean and the quantiles over a period are computed, unless
the period has more episodes than this number: then one delay of each of its episodes is used."""


@dataclass(frozen=True, kw_only=True)
class CalendarLaw(Law):
    """Law whose delays depend on the number of the episode; see `with_calendar`."""

    law: Law = field(repr=False)
    """Law of the delays before the calendar is applied."""
    calendar: Calendar = field(repr=False, compare=False)
    period: int = field(default=1, repr=False)  # type: ignore[misc]  # a ClassVar of `Law`
    settled: int = field(default=1, repr=False)  # type: ignore[misc]

    stationary = False

    def draw(self, *, seed: int, episodes: int, first: int = 1, step: int = 0) -> Ints:
        delays = self.law.draw(seed=seed, episodes=episodes, first=first, step=step)
        return apply_calendar(self.calendar, first + np.arange(delays.size), delays)

    def at_episodes(self, numbers: Ints, u: Floats) -> Ints:
        return apply_calendar(self.calendar, numbers, self.law.at_episodes(numbers, u))

    def _with_losses(self, probability: float, name: str) -> Self:
        mean, lost = self._mean_and_share_lost(probability)
        law = self.law._with_losses(probability, f"{name} before the calendar")
        return replace(self, name=name, mean=mean, law=law, _never=lost)


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
    return CalendarLaw(name, mean, quantiles, law=law, calendar=calendar, period=numbers.size)


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
