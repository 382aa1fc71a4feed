"""Instance: one copy of a base with its own learner state."""

import heapq
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from belated.check import check_integer, check_range
from belated.compiled import JIT, as_plain
from belated.compiled.budget import UNLIMITED
from belated.episode import Ints, Policy, Shape
from belated.learner import background
from belated.learner.backup import as_backup
from belated.learner.bases.base import NO_RULE, check_plan
from belated.learner.feedback import Feedback, concatenate
from belated.learner.in_flight import Episodes
from belated.learner.own_functions import rehearse, unrehearsed
from belated.learner.planning.loops import Form, plain_loops
from belated.learner.problem import LearningProblem
from belated.learner.snapshot import restore_state, snapshot_state
from belated.learner.state import (
    EPOCH,
    OWN,
    PLAN_DUE,
    PLANS,
    SINCE_PLAN,
    Counts,
    LearnerRecord,
    LearnerState,
    configure,
    empty_state,
    with_room_for,
)
from belated.learner.updaters.matured import MICROSECONDS, Received
from belated.learner.updaters.updater import Arrival, EpochStart
from belated.learner.updating import (
    absorb,
    finish_plan,
    plan_now,
    start_plan,
)
from belated.notice import announce_compilation
from belated.worklist import clear


class Instance:
    """One copy of a base: adds feedback to its learner state and plans from that state.

    Parameters
    ----------
    problem : LearningProblem
        Learning problem of the learner.
    index : int
        Number of the instance, from 0.
    state : LearnerState, optional
        State to continue from; by default an empty state, without observations or a plan.
    planned_at : int
        Number of episodes that had been started when the last plan was made.
    planned_us : int
        Online: time of the last plan, in microseconds since 1970 (UTC).
    """

    def __init__(
        self,
        problem: LearningProblem,
        index: int,
        state: LearnerState | None = None,
        planned_at: int = 0,
        planned_us: int = 0,
    ) -> None:
        self.problem = problem
        self.index = index
        announce_compilation()
        self.config = configure(problem, index)
        self.state = empty_state(problem) if state is None else state
        self.planned_at = planned_at
        self.planned_us = planned_us
        self._rule = problem.backup_rule
        compiled = as_backup(self._rule.backup).compiled or not JIT
        self._form = Form(
            self._rule if compiled else NO_RULE, self.state.table.q.size, absorb, plan_now
        )
        if background.is_enabled() and not self._form.is_ready():
            done = background.request(problem.algorithm)
            if not self._form.is_plain:
                done.wait()

    @property
    def nbytes(self) -> int:
        """Size of the arrays of the learner state and of the configuration, in bytes."""
        return _array_bytes(self.state) + _array_bytes(self.config)

    @property
    def plans(self) -> int:
        """Number of plans computed, including the first one."""
        return int(self.state.numbers[PLANS])

    @property
    def delayed_counts(self) -> Ints:
        """(rows) For each row, the number of visits whose delayed feedback has arrived.

        If only rewards are late, these are the visits whose reward has arrived.
        """
        late = self.problem.late_rewards
        return self.state.reward_sums.n if late else self.state.counts.n

    def absorb(
        self, feedback: list[Feedback], *, started: int, own: int = 0, now_us: int = 0
    ) -> bool:
        """Add `feedback` to the counts and return whether the updater requires a plan.

        Parameters
        ----------
        feedback : list of Feedback
            Feedback to count.
        started : int
            Number of episodes started so far.
        own : int
            Number of episodes started since the last plan that are complete with `feedback`.
        now_us : int
            Online: current time in microseconds since 1970 (UTC).

        Returns
        -------
        bool
            Whether a plan is due.
        """
        delayed = [item for item in feedback if item.delayed]
        moved = [item for item in feedback if item.transitions]
        if len(delayed) == len(moved) == len(feedback):
            self._absorb(concatenate(feedback), transitions=True, delayed=True)
        else:
            self._absorb(concatenate(moved), transitions=True, delayed=False)
            self._absorb(concatenate(delayed), transitions=False, delayed=True)
        self.state.numbers[SINCE_PLAN] += len(delayed)
        updater = self.problem.updater
        if not delayed and not updater.every_start:
            return False
        if updater.lazy_alpha() is not None:
            return bool(self.state.numbers[PLAN_DUE])
        self.state.numbers[OWN] += own
        rows = concatenate(delayed).rows(self.problem.shape, self.problem.count_stages)
        return updater.due(
            Arrival(
                self.delayed_counts,
                self.state.epoch_counts,
                rows,
                len(delayed),
                int(self.state.numbers[SINCE_PLAN]),
                float(self.state.alpha[0]),
                started - self.planned_at,
                int(self.state.numbers[OWN]),
                int(self.state.numbers[EPOCH]),
                now_us / MICROSECONDS,
                self.planned_us / MICROSECONDS,
            )
        )

    def _absorb(self, feedback: Feedback, *, transitions: bool, delayed: bool) -> None:
        """Add `feedback` to the learner state.

        `transitions` selects whether transitions are counted. `delayed` selects whether the delayed
        part is processed: the rewards, and the visits that the updater counts.
        """
        rewards = feedback.rewards if self.problem.unknown_rewards else None
        arrays = (
            feedback.steps,
            feedback.states,
            feedback.actions,
            feedback.successors,
            np.zeros(0) if rewards is None else rewards,
        )
        done = 0
        while True:
            record = LearnerRecord(self.config, self.state)
            add = self._form.kernel(absorb)
            done = add(self._form.loops(record), record, done, *arrays, transitions, delayed)
            if done == feedback.steps.size:
                return
            self.state = with_room_for(self.state, 1)

    def plan(self, mean_delay: float, *, refresh: bool = True) -> None:
        """Compute a plan from all feedback so far.

        Parameters
        ----------
        mean_delay : float
            Mean delay observed so far, in episodes.
        refresh : bool
            Whether to update the estimated rewards. If False, late rewards that arrived in this
            epoch are not used yet.
        """
        base = self.problem.algorithm
        if base.planner is not None:
            start_plan(self.config, self.state, refresh)
            self._plan_with(base.planner)
            finish_plan(self.config, self.state, refresh, mean_delay)
        else:
            self._plan_rows(refresh, mean_delay)
        clear(self.state.changed)

    def _plan_rows(self, refresh: bool, mean_delay: float) -> None:
        """Compute a plan by rows; it may begin as plain Python and go on compiled."""
        record, form, rule = LearnerRecord(self.config, self.state), self._form, self._rule
        if not as_backup(rule.backup).compiled:
            as_plain(plan_now)(plain_loops(rule), record, refresh, mean_delay, UNLIMITED)
            return
        if own := unrehearsed({"backup": rule.backup}):
            with rehearse(own, plans=1):
                copy = record._replace(state=deepcopy(self.state))
                as_plain(plan_now)(plain_loops(rule), copy, refresh, mean_delay, UNLIMITED)
        complete = False
        while not complete:
            plan = form.kernel(plan_now)
            complete = plan(form.loops(record), record, refresh, mean_delay, form.limit())
            form.count(int(self.state.scratch.work[0]))

    def _plan_with(self, planner: Any) -> None:
        """Compute a plan with the `plan` method of `planner`, and store it in `state.table`."""
        visits, transitions = to_dense(self.problem.shape, self.state.counts)
        rewards = self.state.rewards.reshape(self.problem.shape.table).copy()
        shape = self.problem.shape
        keywords = {"shape": shape} if shape.is_restricted else {}
        plan = planner.plan(visits, transitions, rewards, self.problem.episodes, **keywords)
        check_plan(plan, shape)
        table = self.state.table
        table.q[:] = np.reshape(plan.q, table.q.shape)
        table.v[:], table.actions[:] = plan.v, plan.policy


class Instances:
    """The instances of a learner: one, except with multi-instance updating.

    Parameters
    ----------
    episodes : Episodes
        Episodes of the learner.
    saved : mapping, optional
        Snapshot to continue from; by default the learner has no observations.

    Raises
    ------
    ValueError
        If the snapshot is damaged.
    """

    def __init__(self, episodes: Episodes, saved: Mapping[str, Any] | None = None) -> None:
        problem = self._problem = episodes.problem
        self._episodes = episodes
        self._explorer = problem.updater.explorer(problem.shape)
        self._every_episode = problem.algorithm.replans_every_episode(problem.updater)
        self.every: list[Instance] = []
        self.used = 1  # number of instances that have played
        self._stale = False  # whether the next episode needs a plan of its own
        if saved is None:
            self.next()
        else:
            self._restore(saved)
        self._policy = self._current_policy()

    def next(self) -> Instance:
        """Return the instance that plays the next episode."""
        free = self._episodes.free
        if not free:
            heapq.heappush(free, len(self.every))
        if free[0] == len(self.every):
            self.every.append(Instance(self._problem, free[0]))
            self._plan(self.every[-1], refresh=True)
        return self.every[free[0]]

    def policy(self) -> Policy:
        """Return the policy for the next episode, which is planned first if it is stale."""
        if self._stale:
            self._plan(self.next(), refresh=True)
            self._policy = self._current_policy()
        return self._policy

    def begin(self, player: Instance) -> None:
        """Take note that `player` has started an episode with the current policy."""
        if self._problem.updater.multi_instance:
            self.used = max(self.used, player.index + 1)
            self._policy = self._current_policy()
        self._stale = self._every_episode

    def absorb(self, counted: list[Received], now_us: int) -> bool:
        """Add feedback to the counts, plan if a plan is due, and return whether the policy changed.

        `counted` is the feedback, with the data of its episodes. `now_us` is the current time in
        microseconds since 1970 (UTC), for updaters that depend on it.
        """
        by_instance: dict[int, list[Received]] = {}
        if self._problem.updater.every_start:
            by_instance[0] = []
        for received in counted:
            by_instance.setdefault(received.instance, []).append(received)
        if not by_instance:
            return False
        for index, items in by_instance.items():
            self._feed(self.every[index], items, now_us)
        before, self._policy = self._policy, self._current_policy()
        if self._policy == before:
            self._policy = before
            return False
        return True

    def _feed(self, instance: Instance, received: list[Received], now_us: int) -> None:
        """Add feedback to the counts of an instance, and compute a plan if one is due.

        Parameters
        ----------
        instance : Instance
            Instance that played the episodes.
        received : list of Received
            Feedback to count.
        now_us : int
            Current time in microseconds since 1970 (UTC), for updaters that depend on it.
        """
        feedback = [item.feedback for item in received]
        if self._explorer is not None:
            for item in feedback:
                if item.delayed:
                    for h, s, a in zip(item.steps, item.states, item.actions, strict=True):
                        self._explorer.see(h, s, a)
        own = 0
        if self._problem.updater.needs_start:
            own = sum(item.completes and item.batch == instance.planned_at for item in received)
        due = instance.absorb(feedback, started=self._episodes.begun, own=own, now_us=now_us)
        # where only rewards are late, transitions are used at once
        new_paths = self._problem.late_rewards and any(item.transitions for item in feedback)
        if due or (new_paths and not self._problem.algorithm.stepwise):
            self._plan(instance, refresh=due or self._every_episode, now_us=now_us)

    def _plan(self, instance: Instance, *, refresh: bool, now_us: int = 0) -> None:
        mean_delay = self._episodes.mean_delay()
        instance.plan(mean_delay, refresh=refresh)
        if refresh and self._problem.updater.lazy_alpha() is None:
            base = self._problem.algorithm
            start = EpochStart(
                self._problem.shape,
                self._problem.episodes,
                base.name,
                base.delta,
                mean_delay,
                float(base.scale),
            )
            instance.state.alpha[0] = self._problem.updater.epoch_alpha(start)
            instance.planned_at, instance.planned_us = self._episodes.begun, now_us
        self._stale = False

    def _current_policy(self) -> Policy:
        state, shape = self.next().state, self._problem.shape
        marks = None if self._explorer is None else self._explorer.marks()
        if marks is None and state.exploration.explore.size:
            marks = state.exploration.explore.copy()
        restricted = shape.is_restricted
        if restricted and marks is not None and self._explorer is not None:
            marks = marks & shape.playable
        actions = state.table.actions.copy()
        actions.setflags(write=False)
        epsilon = state.exploration.epsilon
        allowed = shape.available if restricted and epsilon > 0 else None
        return Policy(actions, marks, epsilon, allowed, shape.terminal)

    def snapshot(self) -> dict[str, Any]:
        """Return the instances as plain arrays and numbers."""
        planned_at = [instance.planned_at for instance in self.every]
        planned_us = [instance.planned_us for instance in self.every]
        return {
            "used": self.used,
            "stale": self._stale,
            "instances": [snapshot_state(instance.state) for instance in self.every],
            # read by updaters that are not built in
            **({"planned_at": planned_at} if self._problem.updater.lazy_alpha() is None else {}),
            **({"planned_us": planned_us} if any(planned_us) else {}),
        }

    def _restore(self, saved: Mapping[str, Any]) -> None:
        count = len(saved["instances"])
        self.used, self._stale = check_integer("used", saved["used"], 1), bool(saved["stale"])
        check_range("used", self.used, 1, count)
        times = [saved.get(name, [0] * count) for name in ("planned_at", "planned_us")]
        for index, state in enumerate(saved["instances"]):
            planned = [check_integer("time of a plan", each[index], 0) for each in times]
            restored = restore_state(self._problem, state)
            self.every.append(Instance(self._problem, index, restored, *planned))


def _array_bytes(record: Any) -> int:
    """Return the total size in bytes of all arrays in `record`, a nested tuple.

    Values that are neither arrays nor tuples are ignored.
    """
    if isinstance(record, np.ndarray):
        return record.nbytes
    return sum(map(_array_bytes, record)) if isinstance(record, tuple) else 0


def to_dense(shape: Shape, counts: Counts) -> tuple[Ints, Ints]:
    """Return `counts` as dense arrays N' (stages, S, A) and M' (stages, S, A, S).

    `shape` is the size of the problem. The number of stages is H, or 1 for pooled counts.
    """
    stages, S = counts.visits.shape
    A = shape.actions
    m = np.zeros((counts.n.size, S), np.int64)
    for row in np.flatnonzero(counts.size):
        block = slice(counts.start[row], counts.start[row] + counts.size[row])
        m[row, counts.succ[block]] = counts.m[block]
    return counts.n.reshape(stages, S, A).copy(), m.reshape(stages, S, A, S)
