"""Base classes of the base algorithms: their options, and the declarations a learner relies on."""

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from belated.arguments import check_choice, check_number
from belated.episode import Ints, Shape
from belated.learner.backup import Backup, Function

if TYPE_CHECKING:
    from belated.learner.updaters.updater import Updater

Reads = Literal["successors", "best", "extremes", "everything", "order"]


class BackupRule(NamedTuple):
    """A backup, its constants and what it reads; everything a planner needs of a base."""

    backup: Backup | Function
    constants: NDArray[np.float64]
    reads: Reads = "order"
    """Values of V~_{h+1} that the backup reads: those of the row's successors; also `stage.top`;
    also `stage.low`; those of any state; also `stage.order`. The less it reads, the less has to be
    planned again."""
    reads_visits: bool = False
    """Whether it reads the next stage's visit counts at the row's successors."""
    samples: bool = False
    """Whether it draws random numbers, addressed by `stage.seed` and `stage.plan`. Every plan is
    then computed from scratch."""


@dataclass(frozen=True)
class BaseAlgorithm:
    """Base class of all base algorithms; an optimistic one derives from `Base`.

    A subclass has a `name` and a `backup_rule`, and overrides the declarations that differ.
    """

    name: ClassVar[str] = "base"
    stepwise: ClassVar[bool] = False
    """Whether it learns from single steps in order of arrival, instead of planning from counts."""
    reward_estimate: ClassVar[Literal["bonus", "mean", "sample"]] = "bonus"
    """Estimate of an unknown reward: mean plus bonus, mean, or a posterior sample."""
    needs_optimal_policy: ClassVar[bool] = False
    """Whether a simulation must supply the optimal policy, see `with_optimal_policy`."""

    @property
    def failure_probability(self) -> float:
        """Delta of the guarantee; 0.05 for a base without one."""
        return 0.05

    @property
    def bonus_scale(self) -> float:
        """Factor of all bonuses."""
        return 1.0

    @property
    def is_monotone(self) -> bool:
        """Whether no Q may grow from one plan to the next."""
        return False

    @property
    def random_ties(self) -> bool:
        """Whether ties are broken at random."""
        return False

    @property
    def exploration_rate(self) -> float:
        """Probability of a uniformly drawn action instead of the best one."""
        return 0.0

    @property
    def planner(self) -> Any:
        """Python object with a `plan` method to plan with, or None to use the backup rule."""
        return None

    def replans_every_episode(self, updater: "Updater") -> bool:
        """Return whether every episode has a plan of its own, whatever `updater` decides."""
        return False

    def with_half_delta(self) -> Self:
        """Return the base with half its delta; the other half is for unknown rewards."""
        return self

    def with_optimal_policy(self, actions: Ints) -> "BaseAlgorithm":
        """Return the base for a world whose optimal policy is `actions`, (H, S)."""
        return self

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        """Return the backup and its constants.

        Parameters
        ----------
        shape : Shape
            Size of the problem.
        episodes : int
            Number of episodes K; log terms depend on it.

        Returns
        -------
        BackupRule
            Rule by which a plan is a pure function of the counts.
        """
        raise TypeError(f"{type(self).__name__} needs a method backup_rule(shape, episodes).")


@dataclass(frozen=True)
class TieBreakingBase(BaseAlgorithm):
    """Base algorithm with a choice of how ties are broken.

    Parameters
    ----------
    ties : {"first", "random"}
        Take the lowest index among the best actions, or draw one for each plan, step and state.
    """

    _: KW_ONLY
    ties: Literal["first", "random"] = "first"

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, ("first", "random"))

    @property
    def random_ties(self) -> bool:
        return self.ties == "random"


@dataclass(frozen=True)
class Base(TieBreakingBase):
    """Optimistic base algorithm Base(N', M') -> policy, defined by one backup function.

    A subclass has a `name` and a method `backup_rule(shape, episodes)`, which returns its backup
    and its constants: everything that depends on the size of the problem, the number of episodes
    and the options. A plan is then a pure function of the counts.

    Parameters
    ----------
    delta : float
        The guarantee holds with probability 1 - delta.
    scale : float
        Factor of the bonus, or of the radius of the confidence set; 1 is as published.
    monotone : bool
        Never let a Q grow from one plan to the next.
    ties : {"first", "random"}
        Take the lowest index among the best actions, or draw one for each plan, step and state.
    """

    _: KW_ONLY
    delta: float = 0.05
    scale: float = 1.0
    monotone: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("delta", self.delta)
        check_number("scale", self.scale)
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie strictly between 0 and 1, got {self.delta}.")
        if not (self.scale >= 0 and math.isfinite(self.scale)):
            raise ValueError(f"scale must be finite and at least 0, got {self.scale}.")
        if not isinstance(self.monotone, bool):
            raise TypeError(f"monotone must be True or False, got {self.monotone!r}.")

    @property
    def failure_probability(self) -> float:
        return self.delta

    @property
    def bonus_scale(self) -> float:
        return float(self.scale)

    @property
    def is_monotone(self) -> bool:
        return self.monotone

    def with_half_delta(self) -> Self:
        return replace(self, delta=self.delta / 2)
