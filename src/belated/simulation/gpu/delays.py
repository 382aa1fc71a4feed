"""Delays on the GPU: tables of quantiles, with which it draws the same delays as `Law.draw`.

The delay of an episode is a non-decreasing function of one uniform random number u, a multiple of
2**-53. A table holds, for each delay j, the largest u with a delay of at most j. The host computes
it with the law itself, so that the GPU needs neither logarithms nor special functions. Laws that
draw in another way are drawn by the host.
"""

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.delays.laws import Law
from belated.episode import Floats, Ints
from belated.randomness import DELAY, uniform
from belated.simulation.gpu import threads  # noqa: F401 - replaces `uniform` by a faster version
from belated.simulation.gpu.compiler import compile_kernel, cuda, device_function

UNITS: Final = 2**53
"""A uniform random number is a multiple of 1 / UNITS."""

BUCKETS: Final = 2**14
"""Number of equal parts of [0, 1). For each, a table has the delay of its lower end, at which the
search for the delay of a random number begins."""

LATE: Final = 2**30
"""Delay of feedback that arrives after the last episode of any run."""


class DelayTable(NamedTuple):
    """Quantiles of a delay law."""

    limits: Floats  # (delays) largest u with a delay of at most 0, 1, 2, ...
    first: NDArray[np.int32]  # (BUCKETS) delay of the lower end of each bucket

    def __call__(self, u: Floats) -> Ints:
        """Return the delay for each random number in `u`, as the GPU computes it."""
        return np.searchsorted(self.limits, u, side="left")


def has_table(law: Law) -> bool:
    """Return whether the delays of `law` are a function of one random number for each episode."""
    kind = type(law)
    return kind.draw is Law.draw and kind.at is Law.at


def make_table(law: Law, largest: float, episodes: int) -> DelayTable | None:
    """Return the table of a law, or None if its delay does not increase with the random number.

    Parameters
    ----------
    law : Law
        Law for which `has_table` is true.
    largest : float
        Largest random number that is drawn.
    episodes : int
        Number of episodes. Larger delays are not distinguished.

    Returns
    -------
    DelayTable or None
        The table.
    """
    longest = min(int(law.at(np.array([largest]))[0]), episodes)
    delays = np.arange(longest)
    # bisect for the last u, in units, with a delay of at most j; 0 .. low - 1 have one
    low = np.zeros(longest, np.int64)
    high = np.full(longest, UNITS, np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        below = law.at(np.minimum(middle, UNITS - 1) / UNITS) <= delays
        below &= low < high
        low, high = np.where(below, middle + 1, low), np.where(below | (low >= high), high, middle)
    limits = (low - 1) / UNITS
    table = DelayTable(limits, np.zeros(BUCKETS, np.int32))
    # the last and first random numbers around each limit, and a sample of all
    around = (low[:, None] + np.arange(-3, 3)).clip(0, UNITS - 1).ravel() / UNITS
    sample = np.concatenate([around, np.linspace(0, 1, 20_000, endpoint=False)])
    sample = sample[sample <= largest]
    if (np.minimum(law.at(sample), longest) != table(sample)).any():
        return None
    table.first[:] = table(np.arange(BUCKETS) / BUCKETS)
    return table


@cache
def largest_kernel() -> Any:
    """Return the kernel that finds the largest random number of the delays of each run."""
    uniform_at = device_function(uniform)

    def find_largest(seeds: Any, episodes: Any, largest: Any) -> None:
        run = cuda.blockIdx.x
        thread = cuda.threadIdx.x
        best = cuda.shared.array(128, np.float64)
        u = 0.0
        for k in range(1 + thread, episodes[run] + 1, cuda.blockDim.x):
            u = max(u, uniform_at(seeds[run], DELAY, k, 0))
        best[thread] = u
        cuda.syncthreads()
        if thread == 0:
            for i in range(1, cuda.blockDim.x):
                u = max(u, best[i])
            largest[run] = u

    return compile_kernel(find_largest)


@cache
def delay_kernel() -> Any:
    """Return the kernel that draws the delays of the next episodes of each run."""
    uniform_at = device_function(uniform)

    def fill_delays(
        played: int, seeds: Any, tables: Any, starts: Any, limits: Any, first: Any, delays: Any
    ) -> None:
        run = cuda.blockIdx.x
        table = tables[run]
        if table < 0:  # drawn by the host
            return
        for i in range(cuda.threadIdx.x, delays.shape[1], cuda.blockDim.x):
            u = uniform_at(seeds[run], DELAY, played + 1 + i, 0)
            j = first[table, int(u * BUCKETS)]
            at = starts[table] + j
            while at < starts[table + 1] and limits[at] < u:
                at += 1
            delays[run, i] = at - starts[table]

    return compile_kernel(fill_delays)
