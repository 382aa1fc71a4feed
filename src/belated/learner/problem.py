"""Learning problems: everything a learner is given before the first episode.

The options that users may set are declared once, in `LearnerOptions`. `Learner`, `simulate`, cells,
studies, the command line and the service derive theirs from it.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, TypedDict, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from belated.arguments import check_choice, check_integer
from belated.episode import Floats, Shape
from belated.learner.backup import as_backup
from belated.learner.bases.base import BackupRule, BaseAlgorithm
from belated.learner.bases.planner import Planner
from belated.learner.rewards import (
    KNOWN,
    MEAN,
    SAMPLE,
    RewardBonus,
    RewardEstimator,
    optimistic_estimator,
)
from belated.learner.updaters.updater import Updater
from belated.randomness import check_seed

Stages = Literal["each", "pooled"]
Planning = Literal["incremental", "full"]
Late = Literal["everything", "rewards"]

Callee = TypeVar("Callee", bound=Callable[..., Any])


class LearnerKeywords(TypedDict, total=False):
    """Types of the options that functions accept as keyword arguments, see `LearnerOptions`."""

    stages: Stages
    late: Late
    reward_bonus: RewardBonus
    planning: Planning


@dataclass(frozen=True, kw_only=True)
class LearnerOptions:
    """Options of a learner, each with a default.

    Parameters
    ----------
    stages : {"each", "pooled"}
        Count each step separately, or pool the counts of all steps, where a world is the same at
        every step.
    late : {"everything", "rewards"}
        What arrives late. With "rewards", `observe_path` reports an episode at its end and
        `observe_rewards` its rewards. The updater then decides when the estimated rewards change;
        transitions are used at once.
    reward_bonus : str
        Bonus of unknown rewards, see `belated.learner.rewards`.
    planning : {"incremental", "full"}
        Plan only what changed, or everything; the results are identical.
    """

    stages: Stages = field(
        default="each", metadata={"help": "Count each step separately, or pooled."}
    )
    late: Late = field(
        default="everything", metadata={"help": "What arrives late: everything, or rewards."}
    )
    reward_bonus: RewardBonus = field(
        default="hoeffding", metadata={"help": "Bonus of unknown rewards."}
    )
    planning: Planning = field(
        default="incremental", metadata={"help": "Plan what changed (incremental), or all (full)."}
    )

    def __post_init__(self) -> None:
        for name, choices in option_choices(type(self)).items():
            check_choice(name, getattr(self, name), choices)

    @property
    def late_rewards(self) -> bool:
        """Whether only rewards are late, and a path is known when it has been played."""
        return self.late == "rewards"


def option_choices(options: type[LearnerOptions]) -> dict[str, tuple[str, ...]]:
    """Return the allowed values of each choice declared by the dataclass `options`, by name."""
    return {
        option.name: get_args(option.type)
        for option in fields(options)
        if "help" in option.metadata
    }


def accepts(options: type[LearnerOptions]) -> Callable[[Callee], Callee]:
    """Return a decorator that lists the fields of `options` in the signature of a function.

    The function takes them as `**keywords`; `help` and notebooks then show every option.
    """

    def decorate(function: Callee) -> Callee:
        signature = inspect.signature(function)
        named = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        added = [
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=option.default,
                annotation=option.type,
            )
            for option in fields(options)
            if "help" in option.metadata
        ]
        function.__signature__ = signature.replace(parameters=[*named, *added])  # type: ignore[attr-defined]
        return function

    return decorate


class PlannerAlgorithm(BaseAlgorithm):
    """A Python object with a `plan` method, as a base algorithm without a backup rule."""

    name = ""

    def __init__(self, planner: Planner) -> None:
        object.__setattr__(self, "_planner", planner)

    @property
    def planner(self) -> Planner:
        planner: Planner = self._planner  # type: ignore[attr-defined]
        return planner


@dataclass(frozen=True, kw_only=True, eq=False)
class LearningProblem(LearnerOptions):
    """A shape, a base, an updater, known rewards and options, all checked.

    Parameters
    ----------
    shape : Shape
        States, actions and steps.
    base : BaseAlgorithm or Planner
        Base algorithm, or a Python object with a `plan` method.
    updater : Updater
        Decides when to plan.
    rewards : array_like, "unknown" or None
        Known mean rewards, (H, S, A) or (S, A), in [0, 1]; "unknown" or None if they are observed
        with the feedback.
    episodes : int
        Number of episodes K, at least 1; log terms depend on it.
    seed : int
        Addresses everything that is drawn at random.
    """

    shape: Shape
    base: BaseAlgorithm | Planner
    updater: Updater
    rewards: Any = None
    episodes: int
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise TypeError(f"shape must be a Shape(states, actions, horizon), got {self.shape!r}.")
        if not isinstance(self.base, BaseAlgorithm | Planner):
            raise TypeError(
                f"base must be a Base or an object with a plan method, got {self.base!r}."
            )
        if not isinstance(self.updater, Updater):
            raise TypeError(f"updater must be an Updater such as Active(), got {self.updater!r}.")
        super().__post_init__()
        unknown = self.rewards is None or isinstance(self.rewards, str)
        if isinstance(self.rewards, str) and self.rewards != "unknown":
            raise ValueError(f"rewards must be an array, 'unknown' or None, got {self.rewards!r}.")
        if self.late_rewards and not unknown:
            raise ValueError(
                "late='rewards' needs unknown rewards, or nothing would be late; use rewards=None."
            )
        if self.algorithm.stepwise and self.stages == "pooled":
            raise ValueError(
                f"stages must be 'each' for {self.algorithm.name}, which learns each step "
                "separately; got 'pooled'."
            )
        rewards = None if unknown else check_rewards(self.rewards, self.shape)
        object.__setattr__(self, "rewards", rewards)
        object.__setattr__(self, "episodes", check_integer("episodes", self.episodes, 1))
        object.__setattr__(self, "seed", check_seed(self.seed))

    @cached_property
    def algorithm(self) -> BaseAlgorithm:
        """The base; a Python object is wrapped in an algorithm."""
        return self.base if isinstance(self.base, BaseAlgorithm) else PlannerAlgorithm(self.base)

    @property
    def unknown_rewards(self) -> bool:
        """Whether rewards are observed with the feedback."""
        return self.rewards is None

    @property
    def count_stages(self) -> int:
        """Number of stages that are counted separately."""
        return 1 if self.stages == "pooled" else self.shape.horizon

    @property
    def rows(self) -> int:
        """Number of (stage, state, action) triples that are counted separately."""
        return self.count_stages * self.shape.states * self.shape.actions

    @cached_property
    def backup_rule(self) -> BackupRule:
        """Backup rule of the base, with half of its delta if rewards are unknown."""
        base = self.algorithm.with_half_delta() if self.unknown_rewards else self.algorithm
        rule = base.backup_rule(self.shape, self.episodes)
        constants = np.ascontiguousarray(rule.constants, np.float64)
        return rule._replace(constants=constants, backup=as_backup(rule.backup))

    @cached_property
    def reward_estimator(self) -> RewardEstimator:
        """Formula by which unknown rewards are estimated."""
        base = self.algorithm
        if not self.unknown_rewards:
            return RewardEstimator(KNOWN, 0.0, 0.0)
        estimator = optimistic_estimator(
            self.reward_bonus,
            self.shape,
            self.episodes,
            delta=base.failure_probability / 2,
            scale=base.bonus_scale,
        )
        kinds = {"bonus": estimator.kind, "mean": MEAN, "sample": SAMPLE}
        return estimator._replace(kind=kinds[base.reward_estimate])

    def initial_rewards(self) -> Floats:
        """Return the known rewards, or the estimates without observations, as (H, S * A)."""
        H, S, A = self.shape.table
        if not self.unknown_rewards:
            known: Floats = self.rewards.reshape(H, S * A).copy()
            return known
        return np.full((H, S * A), 0.0 if self.reward_estimator.kind == MEAN else 1.0)


def check_rewards(rewards: ArrayLike, shape: Shape) -> Floats:
    """Return known `rewards` as an array (H, S, A) for a problem of size `shape`.

    Raises TypeError or ValueError if they are not (H, S, A) or (S, A) numbers in [0, 1].
    """
    try:
        values = np.asarray(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("rewards must be a rectangular array of numbers.") from None
    if values.shape not in (shape.table, shape.table[1:]):
        raise ValueError(
            f"rewards must have shape (H, S, A) = {shape.table} or (S, A) = {shape.table[1:]}, "
            f"got {values.shape}."
        )
    outside = np.argwhere(~((values >= 0) & (values <= 1)))
    if outside.size:
        at = tuple(int(i) for i in outside[0])
        raise ValueError(f"rewards must lie in [0, 1], got {values[at]} at {list(at)}.")
    return np.broadcast_to(values, shape.table).copy()
