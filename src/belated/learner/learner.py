"""The learner, which takes feedback in any order and at any time and provides a policy.

The same class is used in simulations and in the service for real episodes. A learner has no access
to the world, to exact values or to delays; its only input is the feedback.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from belated.check import check_id
from belated.episode import Episode, Floats, Policy, Shape, Step
from belated.html import describe
from belated.learner.bases import BASE_NAMES
from belated.learner.bases.base import BaseAlgorithm
from belated.learner.feedback import (
    Feedback,
    PendingEpisode,
    check_feedback,
    check_late_rewards,
    join_steps,
    path_of,
    rewards_of,
    single_step,
    whole_episode,
    without_padding,
)
from belated.learner.in_flight import Episodes, Status
from belated.learner.instance import Instances
from belated.learner.plan import Planner
from belated.learner.problem import LearningProblem, choose_shape
from belated.learner.snapshot import (
    damage_errors,
    restore_problem,
    snapshot_problem,
)
from belated.learner.state import SINCE_PLAN
from belated.learner.updaters import UPDATER_NAMES
from belated.learner.updaters.matured import MICROSECONDS
from belated.learner.updaters.updater import Updater
from belated.options import (
    LearnerOptions,
    accepts,
    name_with_options,
)
from belated.padding import RepetitionWatch
from belated.shape import Allowed
from belated.survival.estimate import DelayEstimate
from belated.survival.records import DelayRecords

F = TypeVar("F", Episode, Step)


class Learner:
    """Base algorithm that learns from delayed feedback and plans whenever its updater requires it.

    Parameters
    ----------
    shape : Shape, optional
        Numbers of states, actions and steps. It may also hold terminal states and allowed actions.
    states, actions, horizon : optional
        Numbers of states, actions and steps, to be given instead of `shape`. `states` may be the
        result of `bl.states`.
    base : Base, BaseAlgorithm, Planner or str
        Base algorithm: built in, your own, or any object with a `plan` method; or its name, such as
        "ucrl2:scale=0.1" (see `belated.names`).
    updater : Updater or str
        Rule that decides when to plan, or its name, such as "lazy:10".
    rewards : array_like, "unknown" or None
        Known mean rewards, of shape (H, S, A) or (S, A), in [0, 1]; "unknown" or None if rewards
        are unknown and observed with the feedback.
    episodes : int
        Number of episodes K that will be played; the log terms of bonuses depend on it. If more
        episodes are played, a warning is given once.
    seed : int
        Seed of all random numbers of the learner.
    terminal : iterable of int
        States in which an episode ends. Their value is 0, and episodes and feedback may end there.
    allowed : mapping or array_like, optional
        Actions that may be played; see `Shape`.
    **options
        `stages`, `late`, `reward_bonus` and `planning`; see `LearnerOptions`.

    Examples
    --------
    >>> from belated.learner.bases import UCRL2
    >>> from belated.learner.updaters import Active
    >>> learner = Learner(Shape(2, 2, 1), base=UCRL2(), updater=Active(),
    ...                   rewards=[[0, 0], [0, 1]], episodes=10)
    >>> learner.policy.actions.tolist()
    [[0, 1]]
    >>> learner.observe([Episode(1, states=[0, 1], actions=[0])])
    False
    """

    @accepts(LearnerOptions)
    def __init__(
        self,
        shape: Shape | None = None,
        *,
        states: SupportsIndex | None = None,
        actions: int | None = None,
        horizon: int | None = None,
        base: BaseAlgorithm | Planner | str,
        updater: Updater | str,
        rewards: ArrayLike | None,
        episodes: int,
        seed: int = 0,
        terminal: Iterable[int] = (),
        allowed: Allowed = None,
        **options: Any,
    ) -> None:
        shape = choose_shape(shape, states, actions, horizon)
        if isinstance(shape, Shape):
            shape = shape.restrict(terminal=terminal, allowed=allowed)
        problem = LearningProblem(
            shape=shape,
            base=BASE_NAMES.parse(base),
            updater=UPDATER_NAMES.parse(updater),
            rewards=rewards,
            episodes=episodes,
            seed=seed,
            **options,
        )
        self._initialise(problem)

    @classmethod
    def of(cls, problem: LearningProblem, saved: Mapping[str, Any] | None = None) -> "Learner":
        """Return a learner for `problem`, new or in the state of the snapshot `saved`."""
        learner = cls.__new__(cls)
        learner._initialise(problem, saved)
        return learner

    def _initialise(self, problem: LearningProblem, saved: Mapping[str, Any] | None = None) -> None:
        self._problem = problem
        self._episodes = Episodes(problem, saved)
        self._instances = Instances(self._episodes, saved)
        self._watch = RepetitionWatch(problem.shape)

    def __repr__(self) -> str:
        problem = self._problem
        return (
            f"Learner({problem.shape}, base={problem.base!r}, updater={problem.updater!r}, "
            f"started={self._episodes.begun}, observed={self.observed}, in_flight={self.missing}, "
            f"updates={self.updates})"
        )

    @property
    def shape(self) -> Shape:
        """Numbers of states, actions and steps, terminal states and allowed actions."""
        return self._problem.shape

    @property
    def updater(self) -> Updater:
        """Rule that decides when to plan, with all options that follow from the problem."""
        return self._problem.updater

    @property
    def policy(self) -> Policy:
        """Policy for the next episode, unless `start` plans before it."""
        return self._instances.policy()

    @property
    def value(self) -> Floats:
        """(S) V~_1(s), the optimistic value of each state at the first step in the current plan."""
        return self.value_table[0]

    @property
    def value_table(self) -> Floats:
        """(H + 1, S) V~_h(s), the optimistic values of the current plan; 0 after the last step."""
        self._instances.policy()  # plans, if a plan is due
        return self._instances.next().state.table.v.copy()

    @property
    def observed(self) -> int:
        """Number of episodes whose feedback has been counted completely."""
        return self._episodes.observed

    @property
    def missing(self) -> int:
        """Number of episodes in flight: those whose feedback has not been counted completely.

        Feedback is counted when it arrives; with the updater `Matured`, not before its episode is
        old enough.
        """
        return self._episodes.missing

    @property
    def mean_delay(self) -> float:
        """Mean delay of the episodes started, in episodes; 0 if none was started.

        The delay of an episode in flight is taken as the number of episodes started after it. The
        sum of all delays then equals the sum of S_k over the episodes started, and the mean is
        computed from that sum. It is too low while episodes are in flight, because they will be
        later than they are so far; `lateness` estimates the delay without this bias.
        """
        return self._episodes.mean_delay()

    @property
    def lateness(self) -> DelayEstimate:
        """Kaplan-Meier estimate of the delay of the episodes started, in episodes.

        Episodes in flight count as not back at their age. An episode that was observed without
        `start` does not count.
        """
        return self._episodes.lateness()

    def delay_records(self) -> DelayRecords:
        """Return the delays and ages of the episodes started, for `bl.lateness`.

        Delays of 128 episodes or more are rounded up, by less than 1/64.
        """
        delays = self._episodes.delays
        back = np.repeat(delays.durations(), delays.numbers())
        ages = self._episodes.ages().astype(np.float64)
        returned = np.repeat([True, False], [back.size, ages.size])
        return DelayRecords({"episodes": np.concatenate([back, ages])}, returned)

    def mean_delay_without(self, lost: Iterable[int]) -> float:
        """Return the mean delay in episodes, where the delay of a lost episode ends with its loss.

        `lost` contains, for each lost episode, the number of episodes that had been started at that
        time.
        """
        return self._episodes.mean_delay(lost)

    @property
    def failure_probability(self) -> float:
        """Probability delta in the formulas of the base."""
        return self._problem.algorithm.delta

    @property
    def nbytes(self) -> int:
        """Size of the arrays of the learner state, in bytes, without the episodes in flight."""
        return sum(instance.nbytes for instance in self._instances.every)

    @property
    def updates(self) -> int:
        """Number of plans, not counting the first plan of each instance."""
        return self.epochs - self.instances

    @property
    def epochs(self) -> int:
        """Number of plans, including the first plan of each instance, made without observations."""
        return sum(instance.plans for instance in self._instances.every[: self.instances])

    @property
    def instances(self) -> int:
        """Number of instances of the base: one, except with MultiInstance."""
        return self._instances.used

    @property
    def alpha(self) -> float:
        """Parameter alpha of lazy updating in the current epoch; infinity for other updaters."""
        return float(self._instances.next().state.alpha[0])

    @property
    def status(self) -> Status:
        """Numbers of episodes in flight and observed, delays, and the share of visits in flight."""
        return self.status_without({})

    def status_without(self, lost: Mapping[int, int]) -> Status:
        """Return the status without lost episodes, whose feedback is no longer expected.

        The learner itself does not change: a lost episode may still be observed.

        Parameters
        ----------
        lost : mapping
            Map from the id of each lost episode to the number of episodes that had been started
            when it was lost; its delay ends then. Lost episodes must be in flight.

        Returns
        -------
        Status
            Status in which the lost episodes are not counted as in flight.
        """
        counts = np.sum([instance.delayed_counts for instance in self._instances.every], axis=0)
        return self._episodes.status(counts, lost)

    def _repr_html_(self) -> str:
        """Return an HTML table with the properties of the learner, which notebooks display."""
        shape, problem = self.shape, self._problem
        return describe(
            "Learner",
            {
                "size": f"{shape.states:,} states, {shape.actions:,} actions, "
                f"{shape.horizon:,} steps",
                "base": name_with_options(problem.base),
                "updater": name_with_options(problem.updater),
                "episodes": f"{problem.episodes:,} planned, {self._episodes.begun:,} started, "
                f"{self.observed:,} observed, {self.missing:,} in flight",
                "mean delay": f"{self.mean_delay:.4g} episodes",
                "plans": f"{self.epochs:,}",
            },
        )

    @property
    def next_change_us(self) -> int | None:
        """Time at which `absorb` may plan without new feedback, in microseconds since 1970 (UTC).

        None if the updater does not depend on the time, or if no feedback waits for it.
        """
        instance = self._instances.every[0]
        times = [self._episodes.held.next_us]
        if instance.state.numbers[SINCE_PLAN] > 0:
            scheduled_s = self.updater.next_plan_s(instance.planned_us / MICROSECONDS)
            times.append(None if scheduled_s is None else int(scheduled_s * MICROSECONDS))
        return min((time for time in times if time is not None), default=None)

    def pending(self, id: int) -> PendingEpisode | None:
        """Return the record of episode `id`, or None if the episode is not in flight."""
        return self._episodes.pending.get(id)

    def start(self, id: int) -> Policy:
        """Start an episode and return its policy.

        With updaters that depend on the episodes started, such as MultiInstance and Batched, this
        call is required. With other updaters it is optional; without it, `missing` and `mean_delay`
        do not include the episode before its first feedback. If the updater is Scheduled or
        Matured, a plan may become due because an episode is started; it is made first.

        Parameters
        ----------
        id : int
            Number of the episode: any number from 0 to 2**63 - 1 that no other episode has.
            Numbers need not be consecutive or increase.

        Returns
        -------
        Policy
            Policy to play the episode with.

        Raises
        ------
        ValueError
            If the episode has been started or observed before.
        """
        known = self._known
        if self._episodes.held or self._problem.updater.every_start:
            self._absorb([])
        policy = self.begin(id)
        self._warn_beyond(known, stacklevel=3)
        return policy

    def begin(self, id: int, *, opened_us: int = 0, follows_plan: bool = True) -> Policy:
        """Start an episode as `start` does, but without warnings and without planning first.

        Parameters
        ----------
        id : int
            Number of the episode.
        opened_us : int
            Time of the opening in microseconds since 1970 (UTC), for ages in seconds.
        follows_plan : bool
            Whether the episode follows the current policy of the learner.

        Returns
        -------
        Policy
            Current policy.
        """
        id = self._episodes.check_new(id)
        policy = self.policy
        player = self._instances.next()
        pending = self._episodes.begin(id, player.index)
        if self._problem.updater.needs_start:
            pending.opened_us = opened_us
            player.planned_us = player.planned_us or opened_us  # the first plan has no time
            pending.batch = player.planned_at if follows_plan else -1
        self._instances.begin(player)
        return policy

    def observe(self, episodes: Episode | Iterable[Episode]) -> bool:
        """Learn from complete `episodes`, in any order, and return whether the policy has changed.

        A single episode need not be in a list. If any episode is invalid, an error is raised and
        none of them is used. An episode may end when it reaches a terminal state; steps after this
        state are ignored.
        """
        feedback = self._convert(episodes, Episode, whole_episode)
        changed = self._observe(feedback)
        if self._watch.see(feedback, self._problem.rewards):
            warnings.warn(self._watch.message, stacklevel=2)
        return changed

    def observe_steps(self, steps: Step | Iterable[Step]) -> bool:
        """Learn from single `steps`, in any order, and return whether the policy has changed.

        A single step need not be in a list. An episode is complete when all of its steps have been
        observed: H steps, or those up to a terminal state. Raises ValueError if a step does not
        begin in the state to which the step before it leads. A restored learner checks this only
        among the steps that it has observed since it was restored.
        """
        feedback = self._convert(steps, Step, single_step)
        pending = self._episodes.pending
        joined = join_steps(feedback, pending, self._episodes.seen, self.shape)
        changed = self._observe(feedback)
        for id in joined.keys() & pending.keys():
            pending[id].steps = joined[id]
        return changed

    def observe_path(self, episodes: Episode | Iterable[Episode]) -> bool:
        """Learn from the paths of `episodes` and return whether the policy has changed.

        A single episode need not be in a list. The rewards follow with `observe_rewards`. Raises
        ValueError unless the learner has late="rewards".
        """
        self._check_late_rewards("observe_path")
        return self._observe(self._convert(episodes, Episode, path_of))

    def observe_rewards(self, rewards: Mapping[int, ArrayLike]) -> bool:
        """Learn from late rewards and return whether the policy has changed.

        Parameters
        ----------
        rewards : mapping
            Map from the id of each episode to an array of its H rewards, NaN where a reward has not
            arrived. For an episode that has ended in a terminal state, the array may be shorter.

        Returns
        -------
        bool
            Whether `policy` has changed.

        Raises
        ------
        ValueError
            If the path of an episode has not been observed, if a reward has been observed before,
            or if the learner does not have late="rewards".
        """
        self._check_late_rewards("observe_rewards")
        feedback = []
        for id, values in rewards.items():
            pending = self._episodes.pending.get(check_id("id", id))
            if pending is None or pending.path is None:
                raise ValueError(
                    f"All rewards of episode {id} have been observed already; observe each reward "
                    "once."
                    if id in self._episodes.seen
                    else f"The path of episode {id} is not known; call observe_path first."
                )
            checked = check_late_rewards(id, values, self.shape, pending.path.steps.size)
            feedback.append(rewards_of(pending.path, checked))
        return self._absorb([item for item in feedback if item.steps.size])

    def _check_late_rewards(self, method: str) -> None:
        if not self._problem.late_rewards:
            raise ValueError(f"{method} needs a learner with late='rewards'.")

    def _convert(
        self, items: F | Iterable[F], kind: type[F], convert: Callable[[F], Feedback]
    ) -> list[Feedback]:
        feedback = []
        if isinstance(items, Mapping):
            raise TypeError(
                f"Feedback must be of type {kind.__name__}, got a mapping; "
                f"see help(bl.{kind.__name__})."
            )
        for item in items if isinstance(items, Iterable) else (items,):
            if not isinstance(item, kind):
                raise TypeError(f"Feedback must be of type {kind.__name__}, got {item!r}.")
            item.check(self.shape)
            feedback.append(convert(item))
        return feedback

    def _observe(self, feedback: list[Feedback]) -> bool:
        """Absorb `feedback` and return whether the policy has changed.

        A warning is given when the number of episodes first exceeds K, the argument `episodes` of
        the learner.
        """
        known = self._known
        changed = self._absorb(feedback)
        self._warn_beyond(known, stacklevel=4)
        return changed

    @property
    def _known(self) -> int:
        """Number of episodes that have been started or observed."""
        return self.observed + self.missing

    def _warn_beyond(self, known: int, *, stacklevel: int) -> None:
        """Warn if the number of episodes has grown from at most K to more than K.

        K is the argument `episodes` of the learner, and `known` is the earlier number of episodes.
        `stacklevel` is passed to `warnings.warn`.
        """
        K = self._problem.episodes
        if known <= K < self._known:
            warnings.warn(
                f"Episode {K + 1} of a learner with episodes={K}: its bonuses were computed for "
                f"K = {K}, and are too small for more episodes. Learning continues; for the "
                "guarantees, create the learner with at least as many episodes as will be played.",
                stacklevel=stacklevel,
            )

    def absorb(self, feedback: list[Feedback], *, now_us: int = 0, checked: bool = False) -> bool:
        """Process `feedback` of any kind as one batch and return whether the policy has changed.

        If any item is invalid, ValueError is raised and the learner is unchanged. Steps in terminal
        states are ignored. `now_us` is the current time in microseconds since 1970 (UTC), for
        updaters that depend on it. Pass `checked` only if the types, lengths and ranges of all
        arrays have been checked.
        """
        if not checked:
            check_feedback(feedback, self.shape)
        return self._absorb(feedback, now_us)

    def _absorb(self, feedback: list[Feedback], now_us: int = 0) -> bool:
        """Process `feedback`, whose arrays have been checked, as `absorb` does."""
        if self.shape.terminal:
            feedback = [without_padding(item, self.shape) for item in feedback]
            feedback = [item for item in feedback if item.steps.size]
        arrived = self._episodes.receive(feedback)
        episode = self._episodes.begun + 1
        counted = self._episodes.held.exchange(arrived, episode=episode, now_us=now_us)
        return self._instances.absorb(counted, now_us)

    def snapshot(self) -> dict[str, Any]:
        """Return the complete learner as plain arrays and numbers, for `restore`."""
        return {
            **snapshot_problem(self._problem),
            **self._episodes.snapshot(),
            **self._instances.snapshot(),
        }

    @classmethod
    def restore(
        cls,
        saved: dict[str, Any],
        *,
        base: BaseAlgorithm | Planner | None = None,
        updater: Updater | None = None,
    ) -> "Learner":
        """Return a learner in exactly the state in which a snapshot was taken.

        Parameters
        ----------
        saved : dict
            Result of `snapshot`.
        base, updater : optional
            Base and updater of the original learner; required only if they are not built in.

        Returns
        -------
        Learner
            Restored learner.

        Raises
        ------
        ValueError
            If the snapshot is damaged: a part is missing, or an array has a wrong type, shape or
            range.
        """
        with damage_errors():
            return cls.of(restore_problem(saved, base, updater), saved)
