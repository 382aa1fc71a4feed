"""One copy of a base at work: its counts, its epoch, its plan."""

import math
from typing import Any

import numpy as np

from belated.buckets import OUT, buckets, clear, put_all
from belated.compiled import JIT
from belated.episode import Ints
from belated.learner import stepwise
from belated.learner.backup import as_backup
from belated.learner.bases.base import Base
from belated.learner.counts import Counts, added, empty, to_dense
from belated.learner.feedback import Parcel, joined
from belated.learner.incremental import begin_epoch, begin_reward_epoch, plan_changes
from belated.learner.planning import Table, Ties, blank, plan_all, scratch
from belated.learner.problem import Problem
from belated.learner.rewards import Earnings, earn_rows, earnings, reconsider


class Instance:
    """Takes in what it is given and plans when it is told to."""

    def __init__(self, problem: Problem, index: int) -> None:
        self._make(problem, index)
        if self.stepwise:
            stepwise.begin(problem.shape, problem.kernel.constants, self.table)

    def _make(self, problem: Problem, index: int) -> None:
        shape, base, rows = problem.shape, problem.base, problem.rows
        self.problem = problem
        self.index = index
        self.counts = empty(shape, problem.count_stages)
        self.earned = earnings(rows if problem.rewards is None else 0)
        self.epoch = np.zeros(rows, np.int64)
        self.table = blank(shape)
        self.rewards = problem.first_rewards()
        self.plans = 0
        self.since = 0
        self.alpha = math.inf
        self._work = scratch(shape)
        self._changed = buckets(shape.horizon, items=shape.horizon * shape.states)
        self._touched = buckets(problem.count_stages, items=rows)
        self._fresh = buckets(problem.count_stages, items=rows)
        self.stepwise = isinstance(base, Base) and base.stepwise
        self._box = stepwise.inbox(shape.horizon if self.stepwise else 0)
        self._kept = stepwise.memory(rows if self.stepwise else 0)
        self._incremental = False
        if isinstance(base, Base):
            quick = as_backup(problem.kernel.backup).compiled or not JIT
            self._incremental = (
                quick and problem.planning == "incremental" and not problem.kernel.drawn
            )

    @property
    def late_counts(self) -> Ints:
        """The counts of what comes late: N', or the rewards observed."""
        return self.earned.n if self.problem.late_rewards else self.counts.n

    def absorb(self, parcels: list[Parcel]) -> Ints:
        """Count the parcels; returns the rows of those that came late."""
        walked = [parcel for parcel in parcels if parcel.transitions]
        if walked:
            self._walk(joined(walked))
        late = [parcel for parcel in parcels if parcel.late]
        self.since += len(late)
        return self._earn(joined(late)) if late else np.zeros(0, np.int64)

    def _walk(self, come: Parcel) -> None:
        """Count transitions."""
        rows = self._rows(come)
        self.counts = added(self.counts, rows, come.states, come.successors)
        self._mark(self._touched, rows)

    def _earn(self, come: Parcel) -> Ints:
        """Take note of what came late; returns its rows."""
        rows = self._rows(come)
        if self.problem.rewards is None:
            assert come.rewards is not None
            earn_rows(self.earned, rows, come.rewards)
            self._mark(self._fresh, rows)
        if self.stepwise:
            self._post(rows, come)
        return rows

    def _rows(self, come: Parcel) -> Ints:
        return come.rows(self.problem.shape, self.problem.count_stages)

    def _mark(self, where: Any, rows: Ints) -> None:
        put_all(where, rows, self.problem.shape.states * self.problem.shape.actions)

    def _post(self, rows: Ints, parcel: Parcel) -> None:
        self._box = stepwise.roomier(self._box, rows.size)
        rewards = self.rewards.ravel()[rows]
        if self.problem.rewards is None:
            assert parcel.rewards is not None
            rewards = parcel.rewards
        for row, successor, reward in zip(rows, parcel.successors, rewards, strict=True):
            stepwise.post(self._box, int(row), int(successor), float(reward))

    def plan(self, *, refresh: bool = True) -> None:
        """Plan from all that has come; where only rewards are late, those only on `refresh`."""
        problem, base, table, number = self.problem, self.problem.base, self.table, self.plans
        if problem.late_rewards and refresh:
            begin_reward_epoch(self.earned, self._fresh, self.epoch)
        address = number + (self.index << 32)
        if problem.rewards is None and refresh:
            reconsider(problem.hope, self.earned, self._fresh, address, self.rewards, self._touched)
        if not isinstance(base, Base):
            self._ask(base)
        elif self.stepwise:
            ties = Ties(base.ties == "random", problem.seed, address)
            constants = problem.kernel.constants
            stepwise.learn(constants, self._box, self._kept, ties, table, self._changed)
        else:
            ties = Ties(base.ties == "random", problem.seed, address)
            what = (base, problem.kernel, self.counts)
            if self._incremental and number > 0:
                changed = self._changed
                plan_changes(*what, self._touched, self.rewards, ties, table, changed, self._work)
            else:
                plan_all(*what, self.rewards, ties, table, self._work)
        clear(self._changed)
        if problem.late_rewards:
            clear(self._touched)
        else:
            begin_epoch(self.counts, self.epoch, self._touched)
        self.plans += 1
        if refresh:
            self.since = 0

    def _ask(self, base: Any) -> None:
        """A plan from a base that is a Python object."""
        n, m = to_dense(self.problem.shape, self.counts)
        rewards = self.rewards.reshape(self.problem.shape.table).copy()
        made = base.plan(n, m, rewards, self.problem.episodes)
        table = self.table
        table.q[:] = np.reshape(made.q, table.q.shape)
        table.v[:], table.actions[:] = made.v, made.policy

    def snapshot(self) -> dict[str, Any]:
        """Everything that changes, as plain arrays and numbers."""
        records = (self.counts, self.table, self.earned, self._box, self._kept)
        return {
            **{name: copied(part) for name, part in zip(RECORDS, records, strict=True)},
            "rewards": self.rewards.copy(),
            "epoch": self.epoch.copy(),
            "unplanned": members(self._touched),
            "fresh": members(self._fresh),
            "plans": self.plans,
            "since": self.since,
            "alpha": self.alpha,
        }

    @classmethod
    def restore(cls, problem: Problem, index: int, state: dict[str, Any]) -> "Instance":
        """The instance as it was, without planning again."""
        self = cls.__new__(cls)
        self._make(problem, index)
        kinds = (Counts, Table, Earnings, stepwise.Inbox, stepwise.Memory)
        made: list[Any] = [
            kind(**{field: array.copy() for field, array in state[name].items()})
            for name, kind in zip(RECORDS, kinds, strict=True)
        ]
        self.counts, self.table, self.earned, self._box, self._kept = made
        self.rewards = state["rewards"].copy()
        self.epoch = state["epoch"].copy()
        self._mark(self._touched, state["unplanned"])
        self._mark(self._fresh, state["fresh"])
        self.plans, self.since, self.alpha = state["plans"], state["since"], state["alpha"]
        return self


RECORDS = ("counts", "table", "earned", "inbox", "memory")


def copied(record: Any) -> dict[str, Any]:
    """A record of arrays as a dict of copies."""
    return {name: array.copy() for name, array in record._asdict().items()}


def members(some: Any) -> Ints:
    """What is in the buckets."""
    return np.flatnonzero(some.after != OUT).astype(np.int64)
