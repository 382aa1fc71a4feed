"""Learning problems: all inputs of a learner that are fixed before the first episode."""

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np

from belated.check import check_integer, did_you_mean, similar
from belated.episode import Shape
from belated.learner.backup import as_backup
from belated.learner.bases.base import NO_RULE, BackupRule, BaseAlgorithm, Planner
from belated.learner.rewards import (
    KNOWN,
    MEAN,
    RIDGE,
    SAMPLE,
    RewardEstimator,
    optimistic_estimator,
)
from belated.learner.updaters.trigger import TriggerRule
from belated.learner.updaters.updater import Updater
from belated.options import LearnerOptions
from belated.randomness import check_seed


class PlannerAlgorithm(BaseAlgorithm):
    """Base algorithm that wraps a Python object with a `plan` method; its backup is not used."""

    name = ""

    def __init__(self, planner: Planner) -> None:
        object.__setattr__(self, "planner", planner)

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        return NO_RULE


@dataclass(frozen=True, kw_only=True, eq=False)
class LearningProblem(LearnerOptions):
    """Inputs of a learner: size of the problem, base, updater, rewards and options.

    The arguments are checked; TypeError or ValueError is raised if any is invalid.

    Parameters
    ----------
    shape : Shape
        Numbers of states, actions and steps, terminal states and allowed actions.
    base : BaseAlgorithm or Planner
        Base algorithm, or a Python object with a `plan` method.
    updater : Updater
        Rule that decides when to plan.
    rewards : array_like, "unknown" or None
        Known mean rewards, of shape (H, S, A) or (S, A), in [0, 1]; "unknown" or None if rewards
        are unknown and observed with the feedback.
    episodes : int
        Number of episodes K, at least 1; the log terms of bonuses depend on it.
    seed : int
        Seed of all random numbers of the learner.
    stages, late, reward_bonus, planning
        See `LearnerOptions`.
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
            near = did_you_mean(similar(self.rewards, ["unknown"]))
            raise ValueError(
                f"rewards must be an array, 'unknown' or None, got {self.rewards!r}.{near}"
            )
        if self.late_rewards and not unknown:
            raise ValueError(
                "late='rewards' needs unknown rewards, since known rewards are never delayed; use "
                "rewards=None."
            )
        if self.algorithm.stepwise and self.stages == "pooled":
            raise ValueError(
                f"stages must be 'each' for {self.algorithm.name}, which learns each step "
                "separately; got 'pooled'."
            )
        if self.shape.is_restricted and self.algorithm.planner is not None:
            check_planner(self.algorithm.planner)
        rewards = None
        if not unknown:
            mean = self.shape.check_rewards(self.rewards)
            rewards = np.broadcast_to(mean, self.shape.table).copy()
        object.__setattr__(self, "rewards", rewards)
        object.__setattr__(self, "episodes", check_integer("episodes", self.episodes, 1))
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "updater", self.updater.for_learner(self.episodes))
        if self.updater.keeps_policy and self.algorithm.replans_every_episode(self.updater):
            raise ValueError(
                f"{type(self.updater).__name__} keeps a policy until it plans, but "
                f"{self.algorithm.name} plans for every episode; choose an updater such as Active, "
                "or resample='update' with PSRL and RLSVI."
            )

    @cached_property
    def algorithm(self) -> BaseAlgorithm:
        """The base; an object that only has a `plan` method is wrapped in a `PlannerAlgorithm`."""
        return self.base if isinstance(self.base, BaseAlgorithm) else PlannerAlgorithm(self.base)

    @property
    def unknown_rewards(self) -> bool:
        """Whether mean rewards are unknown and estimated from the feedback."""
        return self.rewards is None

    @property
    def count_stages(self) -> int:
        """Number of stages of the counts: H, or 1 if counts are pooled."""
        return 1 if self.stages == "pooled" else self.shape.horizon

    @property
    def rows(self) -> int:
        """Number of rows, the (stage, state, action) triples that are counted separately."""
        return self.count_stages * self.shape.states * self.shape.actions

    @cached_property
    def backup_rule(self) -> BackupRule:
        """Backup rule of the base. If rewards are unknown, it uses half of the base's delta."""
        base = self.algorithm.with_half_delta() if self.unknown_rewards else self.algorithm
        rule = base.backup_rule(self.shape, self.episodes)
        constants = np.ascontiguousarray(rule.constants, np.float64)
        return rule._replace(constants=constants, backup=as_backup(rule.backup))

    @cached_property
    def trigger_rule(self) -> TriggerRule | None:
        """Trigger of the updater and its constants, checked; None if the updater has no trigger.

        Also None if the method `lazy_alpha` of the updater returns an alpha: compiled code then
        evaluates the condition of `Lazy` instead of the trigger.
        """
        rule = self.updater.trigger_rule() if self.updater.lazy_alpha() is None else None
        return None if rule is None else rule.checked()

    @cached_property
    def reward_estimator(self) -> RewardEstimator:
        """Estimator of the mean rewards; its kind is `KNOWN` if rewards are known."""
        base = self.algorithm
        if not self.unknown_rewards:
            return RewardEstimator(KNOWN, 0.0, 0.0)
        estimator = optimistic_estimator(
            self.reward_bonus,
            self.shape,
            self.episodes,
            delta=base.delta / 2,
            scale=float(base.scale),
        )
        kinds = {"bonus": estimator.kind, "mean": MEAN, "sample": SAMPLE, "ridge": RIDGE}
        return estimator._replace(kind=kinds[base.reward_estimate])


def check_planner(planner: Planner) -> None:
    """Raise TypeError if the `plan` method of `planner` does not accept the keyword `shape`."""
    parameters = inspect.signature(planner.plan).parameters.values()
    if not any(one.name == "shape" or one.kind is one.VAR_KEYWORD for one in parameters):
        raise TypeError(
            f"The plan method of {type(planner).__name__} must accept the keyword shape, which "
            "holds the terminal states and the allowed actions of this problem."
        )


def choose_shape(
    shape: Shape | None,
    states: SupportsIndex | None,
    actions: int | None,
    horizon: int | None,
) -> Shape:
    """Return the size of a problem that is given as a `Shape` or by three numbers.

    Parameters
    ----------
    shape : Shape or None
        Size of the problem; None if the numbers are given.
    states, actions, horizon
        Numbers of states, actions and steps; None if `shape` is given.

    Returns
    -------
    Shape
        Size of the problem.

    Raises
    ------
    TypeError
        If `shape` is given together with a number, or if neither `shape` nor all three numbers are
        given.
    """
    numbers = {"states": states, "actions": actions, "horizon": horizon}
    missing = [name for name, number in numbers.items() if number is None]
    if shape is not None:
        if len(missing) < len(numbers):
            raise TypeError("Give shape, or states, actions and horizon, not both.")
        return shape
    if missing:
        raise TypeError(f"Give shape, or states, actions and horizon; missing: {missing}.")
    return Shape(**numbers)  # type: ignore[arg-type]
