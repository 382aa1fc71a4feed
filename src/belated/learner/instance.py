"""Instance: one copy of a base with its own learner state."""

from copy import deepcopy
from typing import Any

import numpy as np

from belated.compiled import JIT, as_plain
from belated.compiled.budget import UNLIMITED
from belated.episode import Ints
from belated.learner import background
from belated.learner.backup import as_backup
from belated.learner.bases.planner import check_plan
from belated.learner.counts import to_dense
from belated.learner.feedback import Feedback, concatenate
from belated.learner.maturity import MICROSECONDS
from belated.learner.own_functions import rehearse, unrehearsed
from belated.learner.planning.loops import NO_RULE, Form, plain_loops
from belated.learner.problem import LearningProblem
from belated.learner.state import (
    EPOCH,
    OWN,
    PLAN_DUE,
    PLANS,
    SINCE_PLAN,
    LearnerRecord,
    LearnerState,
    configure,
    empty_state,
    with_room_for,
)
from belated.learner.updaters.updater import Arrival
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
        self._rule = NO_RULE if problem.algorithm.planner is not None else problem.backup_rule
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


def _array_bytes(record: Any) -> int:
    """Return the total size in bytes of all arrays in `record`, a nested tuple.

    Values that are neither arrays nor tuples are ignored.
    """
    if isinstance(record, np.ndarray):
        return record.nbytes
    return sum(map(_array_bytes, record)) if isinstance(record, tuple) else 0
