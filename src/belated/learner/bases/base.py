"""What every base algorithm shares: its options, and the kernel it hands to the planner."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.episode import Shape
from belated.learner.backup import Backup, Function, as_backup


class Kernel(NamedTuple):
    """All that a planner needs of a base, fixed before the run."""

    backup: Backup | Function
    constants: NDArray[np.float64]
    reads: Literal["successors", "best", "extremes", "everything", "order"] = "order"
    """What the backup reads of V~_{h+1}: the row's successors; `stage.top` too; `stage.low` too;
    any state; `stage.order` too. The less it reads, the less is planned anew."""
    reads_visits: bool = False
    """Whether it reads the next stage's visit counts at the row's successors."""
    drawn: bool = False
    """Whether it draws at random, by `stage.seed` and `stage.plan`: each plan is then all new."""


@dataclass(frozen=True)
class Base:
    """An optimistic model-based algorithm Base(N', M') -> policy, as one backup function.

    A subclass has a `name` and a `kernel`: its backup, and its constants, that is everything
    that depends on the problem's size, the number of episodes and the options. A plan is then a
    pure function of the counts.

    - `delta`: the guarantee holds with probability 1 - delta.
    - `scale`: multiplies the bonus, or the radius of the confidence set; 1 is as published.
    - `monotone`: never let a Q grow from one plan to the next.
    - `ties`: "first" takes the lowest index among the best actions; "random" draws one for each
      plan, step and state.
    """

    _: KW_ONLY
    delta: float = 0.05
    scale: float = 1.0
    monotone: bool = False
    ties: Literal["first", "random"] = "first"

    name: ClassVar[str] = "base"
    stepwise: ClassVar[bool] = False
    """Whether it learns step by step, in the order of arrival, instead of planning from counts."""
    hopes: ClassVar[Literal["bonus", "mean", "sample"]] = "bonus"
    """What it puts for a reward that is not known beforehand."""

    @property
    def explores(self) -> float:
        """The probability with which it draws any action instead of the best one."""
        return 0.0

    def __post_init__(self) -> None:
        check_number("delta", self.delta)
        check_number("scale", self.scale)
        if not 0 < self.delta < 1:
            raise ValueError(f"delta is {self.delta}; it must lie strictly between 0 and 1.")
        if not (self.scale >= 0 and math.isfinite(self.scale)):
            raise ValueError(f"scale is {self.scale}; it must be a finite number of at least 0.")
        check_choice("ties", self.ties, ("first", "random"))
        if not isinstance(self.monotone, bool):
            raise TypeError(f"monotone must be True or False, not {self.monotone!r}.")

    def kernel(self, shape: Shape, episodes: int) -> Kernel:
        """The backup and its constants for `episodes` episodes of a problem of this shape."""
        raise TypeError(f"{type(self).__name__} needs a method kernel(shape, episodes).")


def kernel_of(base: Base, shape: Shape, episodes: int) -> Kernel:
    """A base's kernel, its constants as the contiguous floats that compiled code takes."""
    kernel = base.kernel(shape, episodes)
    constants = np.ascontiguousarray(kernel.constants, np.float64)
    return kernel._replace(constants=constants, backup=as_backup(kernel.backup))


def check_number(name: str, value: object) -> None:
    """Refuse what is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, not {value!r}.")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the allowed words."""
    if value not in allowed:
        listed = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{name} is {value!r}; it must be one of {listed}.")
