"""Batched updating (Yang, Zhong, Wu, Liu, Wang, Du 2023, arXiv:2302.01477).

The policy of batch m is played until the feedback of t_m of the episodes of this batch has arrived.
Then the policy of batch m + 1 is planned. Feedback of earlier batches that arrives meanwhile does
not count towards t_m. The grid t_1, t_2, ... is one of

    doubling    t_m = 2^(m - 1)
    minimax     t_m = ceil(K^(1 - 2^-m)) for m = 1, ..., M, with M = max(1, ceil(log2 log2 K) + 1)

or is given. A run needs as many batches as its episodes fill; after the last number of a grid, this
number is used for all further batches.

Deviation: the paper turns any multi-batched algorithm into one for delayed feedback, and such an
algorithm may use the episodes of each batch alone. Here the base plans from everything that has
arrived, including late feedback of earlier batches and more than t_m episodes of the last one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, takewhile
from typing import Final, Literal, Self

from belated.check import check_choice, check_integer
from belated.learner.updaters.trigger import TriggerRule, trigger
from belated.learner.updaters.updater import Updater

DOUBLINGS: Final = 62
"""Number of batches of the doubling grid. The last has 2**61 episodes, more than any run."""


def minimax_grid(episodes: int) -> tuple[int, ...]:
    """Return the minimax grid, t_m = ceil(K^(1 - 2^-m)), where K is `episodes`.

    It has max(1, ceil(log2 log2 K) + 1) numbers. They are exact: computed with integers.

    >>> minimax_grid(10_000)
    (100, 1000, 3163, 5624, 7499)
    """
    K = check_integer("episodes", episodes, 1)
    batches = max(1, math.ceil(math.log2(math.log2(K))) + 1) if K > 2 else 1
    return tuple(_ceil_root(K, m) for m in range(1, batches + 1))


def _ceil_root(K: int, m: int) -> int:
    """Return ceil(K^(1 - 2^-m)), by m square roots of K^(2^m - 1)."""
    t = K ** (2**m - 1)
    for _ in range(m):
        t = math.isqrt(t - 1) + 1  # rounded up, which is exact for nested roots
    return t


@trigger
def batch_is_complete(constants, arrival):  # type: ignore[no-untyped-def]
    """Return whether the feedback of t_m episodes of batch m has arrived; constants are the t_m."""
    batch = min(arrival.epoch, constants.size) - 1
    return arrival.own >= constants[batch]


@dataclass(frozen=True)
class Batched(Updater):
    """Updater that keeps its policy until enough of the episodes that followed it are back.

    The policy of batch m is played until the feedback of t_m of the episodes of this batch has
    arrived completely; then the next policy is planned from everything that has arrived. Feedback
    of episodes of earlier batches does not end a batch. `Run.epochs` is the number of batches.

    Parameters
    ----------
    grid : {"doubling", "minimax"} or sequence of int
        Numbers t_1, t_2, .... "doubling": t_m = 2^(m - 1). "minimax": t_m = ceil(K^(1 - 2^-m)), of
        which there are about log2 log2 K + 1. A sequence must increase and begin with at least 1;
        as text, its numbers are joined by hyphens, such as "10-100-1000". After the last number of
        a grid, all further batches use this number.
    episodes : int, optional
        Number of episodes K of the minimax grid; by default that of the run or of the learner.

    Examples
    --------
    >>> from belated import UCRL2, chain, simulate
    >>> setting = {"base": UCRL2(scale=0.1), "delay": "geometric:20", "episodes": 500}
    >>> grids = ("doubling", "minimax", [10, 100])
    >>> [simulate(chain(3), updater=Batched(grid), **setting).epochs for grid in grids]
    [9, 4, 5]
    """

    grid: Literal["doubling", "minimax"] | Sequence[int] = "doubling"
    episodes: int | None = None

    name = "batched"
    is_lazy = True
    needs_start = True
    keeps_policy = True

    def __post_init__(self) -> None:
        grid = self.grid
        if isinstance(grid, str) and "-" in grid and grid.replace("-", "").isdecimal():
            grid = [int(number) for number in grid.split("-") if number]
        elif isinstance(grid, int) and not isinstance(grid, bool):
            grid = [grid]
        if isinstance(grid, str):
            check_choice("grid", grid, ("doubling", "minimax"))
        elif not isinstance(grid, Sequence):
            raise TypeError(
                f"grid must be 'doubling', 'minimax' or a sequence of integers, got {grid!r}."
            )
        else:
            numbers = tuple(check_integer("grid", number, 1) for number in grid)
            grows = all(one < two for one, two in pairwise(numbers))
            if not (numbers and grows):
                raise ValueError(
                    "grid must hold at least one number and increase from each to the next, got "
                    f"{list(grid)}."
                )
            object.__setattr__(self, "grid", numbers)
        if self.episodes is not None:
            object.__setattr__(self, "episodes", check_integer("episodes", self.episodes, 1))

    @property
    def full_name(self) -> str:
        """Name with all options, such as "batched:doubling" or "batched:10-100"."""
        grid = self.grid if isinstance(self.grid, str) else "-".join(map(str, self.grid))
        return f"{self.name}:{grid}" + (f",episodes={self.episodes}" if self.episodes else "")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers t_1, t_2, ... of the grid; the last is used for all further batches.

        Raises ValueError if the number of episodes K, which the minimax grid needs, is unknown.
        """
        if self.grid == "doubling":
            return tuple(2**m for m in range(DOUBLINGS))
        if self.grid == "minimax":
            if self.episodes is None:
                raise ValueError(
                    "grid='minimax' needs the number of episodes K; pass episodes=K to Batched."
                )
            return minimax_grid(self.episodes)
        assert not isinstance(self.grid, str)
        return tuple(self.grid)

    def trigger_rule(self) -> TriggerRule:
        return TriggerRule(batch_is_complete, self.sizes)

    def for_learner(self, episodes: int) -> Self:
        if self.grid == "minimax" and self.episodes is None:
            return replace(self, episodes=episodes)
        return self

    def expected_plans(self, episodes: int, rows: int) -> float:
        sizes = self.for_learner(episodes).sizes
        ends = list(takewhile(lambda end: end < episodes, accumulate(sizes)))  # without delay
        played = ends[-1] if ends else 0
        repeated = (episodes - 1 - played) // sizes[-1] if len(ends) == len(sizes) else 0
        return float(1 + len(ends) + repeated)
