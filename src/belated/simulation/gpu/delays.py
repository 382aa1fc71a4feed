"""Delays on the GPU: tables of quantiles, with which it draws the same delays as `Law.draw`.

The delay of an episode is a non-decreasing function of one uniform random number u, a multiple of
2**-53. A table holds, for each delay j, the limit of j: the largest u with a delay of at most j.
The host computes the table with the law itself, so that the GPU needs neither logarithms nor
special functions. Laws that draw in another way are drawn by the host.

Quantiles that are computed with special functions, such as those of the Poisson law, have rounding
errors. If u is at most `DOUBT` away from a limit, its delay is therefore in doubt: the table may
give another delay than the law. The host draws all delays of a run with such a u, which is rare.
"""

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.delays.laws import Law
from belated.episode import Bools, Floats, Ints
from belated.randomness import DELAY, uniform
from belated.simulation.gpu import threads  # noqa: F401 - replaces `uniform` by a faster version
from belated.simulation.gpu.compiler import compile_kernel, cuda, device_function, phase
from belated.simulation.gpu.kernel import EPISODES, PLAYED

UNITS: Final = 2**53
"""Number of possible values of a uniform random number, which is a multiple of 1 / UNITS in [0, 1).
The distance 1 / UNITS is called a unit."""

BUCKETS: Final = 2**14
"""Number of buckets, the equal parts into which [0, 1) is divided. A table stores the delay at the
lower end of each bucket. The search for the delay of a random number in the bucket begins at this
delay."""

DOUBT: Final = 2.0**-43
"""Largest distance of a random number from a limit of a table at which its delay is in doubt:
because of rounding errors, the table may give another delay than the law, so that the host draws
the delay. It is 1,024 units of 2**-53; the rounding error of the quantiles of the Poisson law is at
most 12 units."""

MAX_DRAW_THREADS: Final = 128
"""Largest number of threads of a block in the kernels that process delays."""

LATE: Final = 2**30
"""Delay, in episodes, by which the GPU represents all feedback that never arrives. It is larger
than the number of episodes of a run."""


class DelayTable(NamedTuple):
    """Quantiles of a delay law: a table from which the delay for a random number u is read."""

    limits: Floats  # (delays) largest u with a delay of at most 0, 1, 2, ...
    first: NDArray[np.int32]  # (BUCKETS) delay of the lower end of each bucket
    lost: float  # feedback never arrives if u is below this number

    def __call__(self, u: Floats) -> Ints:
        """Return the delay for each random number in `u`, as the GPU computes it.

        Delays are in episodes; `LATE` means that the feedback never arrives.
        """
        return np.where(u < self.lost, LATE, np.searchsorted(self.limits, u, side="left"))

    def is_doubtful(self, u: Floats) -> Bools:
        """Return a mask of the random numbers in `u` whose delay is in doubt.

        These numbers are at most `DOUBT` away from one of `limits`, so that rounding errors may
        change their delay.
        """
        ends = np.concatenate([[-np.inf], self.limits, [np.inf]])
        at = np.searchsorted(self.limits, u, side="left")
        return (u - ends[at] <= DOUBT) | (ends[at + 1] - u <= DOUBT)


def has_table(law: Law) -> bool:
    """Return whether the delays of `law` can be read from a table of its quantiles.

    This is the case if each delay is computed from one random number, by the methods `draw` and
    `at` of `Law` itself; a subclass may override them.
    """
    kind = type(law)
    return kind.draw is Law.draw and kind.at is Law.at


@lru_cache(maxsize=64)  # a calibration needs the same tables in each round
def make_table(law: Law, largest: float, episodes: int) -> DelayTable | None:
    """Return the table of a law, or None if no table gives the delays of the law.

    This is the case if a larger random number may give a smaller delay.

    Parameters
    ----------
    law : Law
        Law for which `has_table` is true.
    largest : float
        Largest random number that is drawn.
    episodes : int
        Largest number of episodes of a run. Delays of this number or more are not distinguished.

    Returns
    -------
    DelayTable or None
        The table.
    """
    lost = law._never
    longest = min(int(law.at(np.array([largest]))[0]), episodes) if largest >= lost else 0
    delays = np.arange(longest)
    # bisect for the last u, in units, with a delay of at most j; those below `low` have one
    low = np.full(longest, math.ceil(lost * UNITS), np.int64)
    high = np.full(longest, UNITS, np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        below = law.at(np.minimum(middle, UNITS - 1) / UNITS) <= delays
        below &= low < high
        low, high = np.where(below, middle + 1, low), np.where(below | (low >= high), high, middle)
    limits = (low - 1) / UNITS
    table = DelayTable(limits, np.zeros(BUCKETS, np.int32), lost)
    # random numbers on both sides of each limit, and a sample of all
    away = np.array([-4000, -1100, 1100, 4000])
    around = (low[:, None] + away).clip(0, UNITS - 1).ravel() / UNITS
    sample = np.concatenate([around, np.linspace(0, 1, 20_000, endpoint=False)])
    sample = sample[(sample >= lost) & (sample <= largest) & ~table.is_doubtful(sample)]
    if (np.minimum(law.at(sample), episodes) != table(sample)).any():
        return None
    table.first[:] = np.searchsorted(limits, np.arange(BUCKETS) / BUCKETS, side="left")
    return table


@phase
def search(u: float, table: int, starts: Any, limits: Any, first: Any) -> int:
    """Return the position of a random number among the limits of a table, which gives its delay.

    The table is one of several tables that `join_tables` has joined. The delay in episodes is the
    result minus `starts[table]`.

    Parameters
    ----------
    u : float
        Uniform random number in [0, 1).
    table : int
        Number of the table, from 0.
    starts : array
        (tables + 1) Index in `limits` at which each table begins, and at which the last one ends.
    limits : array
        `DelayTable.limits` of all tables, one table after another.
    first : array
        (tables, BUCKETS) `DelayTable.first` of each table.

    Returns
    -------
    int
        Index in `limits` of the first limit of the table that is at least `u`;
        `starts[table + 1]` if all limits of the table are below `u`.
    """
    at = starts[table] + first[table, int(u * BUCKETS)]
    while at < starts[table + 1] and limits[at] < u:
        at += 1
    return at


@cache
def range_kernel() -> Any:
    """Return the kernel that finds the smallest and the largest random number of each run.

    The numbers are those from which the delays of the run are computed.
    """
    uniform_at = device_function(uniform)

    def find_range(seeds: Any, episodes: Any, found: Any) -> None:
        run = cuda.blockIdx.x
        thread = cuda.threadIdx.x
        extremes = cuda.shared.array((MAX_DRAW_THREADS, 2), np.float64)
        low = 1.0
        high = 0.0
        for k in range(1 + thread, episodes[run] + 1, cuda.blockDim.x):
            u = uniform_at(seeds[run], DELAY, k, 0)
            low = min(low, u)
            high = max(high, u)
        extremes[thread, 0] = low
        extremes[thread, 1] = high
        cuda.syncthreads()
        if thread == 0:
            for i in range(1, cuda.blockDim.x):
                low = min(low, extremes[i, 0])
                high = max(high, extremes[i, 1])
            found[run, 0] = low
            found[run, 1] = high

    return compile_kernel(find_range)


@cache
def doubt_kernel() -> Any:
    """Return the kernel that finds the runs in which a delay is in doubt.

    The random number of such a delay is at most `DOUBT` away from a limit of the table.
    """
    uniform_at, find = device_function(uniform), device_function(search)

    def find_doubtful(
        seeds: Any,
        episodes: Any,
        tables: Any,
        starts: Any,
        limits: Any,
        first: Any,
        lost: Any,
        doubtful: Any,
    ) -> None:
        run = cuda.blockIdx.x
        table = tables[run]
        for k in range(1 + cuda.threadIdx.x, episodes[run] + 1, cuda.blockDim.x):
            u = uniform_at(seeds[run], DELAY, k, 0)
            if u < lost[table]:
                continue
            at = find(u, table, starts, limits, first)
            if at > starts[table] and u - limits[at - 1] <= DOUBT:
                doubtful[run] = 1
            if at < starts[table + 1] and limits[at] - u <= DOUBT:
                doubtful[run] = 1

    return compile_kernel(find_doubtful)


@cache
def delay_kernel() -> Any:
    """Return the kernel that draws the delays of the next slice of episodes of each run."""
    uniform_at, find = device_function(uniform), device_function(search)

    def fill_delays(
        ints: Any,
        seeds: Any,
        tables: Any,
        starts: Any,
        limits: Any,
        first: Any,
        lost: Any,
        delays: Any,
    ) -> None:
        run = cuda.blockIdx.x
        table = tables[run]
        if table < 0:  # drawn by the host
            return
        played = ints[run, PLAYED]
        episodes = min(delays.shape[1], ints[run, EPISODES] - played)
        for i in range(cuda.threadIdx.x, episodes, cuda.blockDim.x):
            u = uniform_at(seeds[run], DELAY, played + 1 + i, 0)
            if u < lost[table]:
                delays[run, i] = LATE
            else:
                delays[run, i] = find(u, table, starts, limits, first) - starts[table]

    return compile_kernel(fill_delays)


def join_tables(tables: Sequence[DelayTable]) -> tuple[Ints, Floats, NDArray[np.int32], Floats]:
    """Return several delay tables joined into four arrays, as the kernels take them.

    Parameters
    ----------
    tables : sequence of DelayTable
        Tables to join; there may be none.

    Returns
    -------
    starts : Ints
        (tables + 1) Index in `limits` at which each table begins, and at which the last one ends.
    limits : Floats
        `DelayTable.limits` of all tables, one table after another, and an unused 0.
    first : NDArray
        (tables, BUCKETS) `DelayTable.first` of each table.
    lost : Floats
        `DelayTable.lost` of each table, and an unused 0.
    """
    starts = np.cumsum([0, *(one.limits.size for one in tables)])
    limits = np.concatenate([*(one.limits for one in tables), np.zeros(1)])
    lost = np.array([*(one.lost for one in tables), 0.0])
    first = [one.first for one in tables] or [np.zeros(BUCKETS, np.int32)]
    return starts, limits, np.stack(first), lost
