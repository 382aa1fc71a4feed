"""One copy of a base at work: its counts, its epoch, its plan."""

from typing import Any

import numpy as np

from belated.buckets import buckets, clear, put
from belated.compiled import JIT
from belated.episode import Episode, Ints
from belated.learner.backup import as_backup
from belated.learner.bases.base import Base, kernel_of
from belated.learner.counts import Counts, add_episode, empty, roomy, to_dense
from belated.learner.incremental import begin_epoch, plan_changes
from belated.learner.planning import Table, Ties, blank, plan_all, scratch
from belated.learner.problem import Problem


class Instance:
    """Counts what it is given and plans when it is told to."""

    def __init__(self, problem: Problem, index: int) -> None:
        counts = empty(problem.shape, problem.count_stages)
        self._set(problem, index, counts, np.zeros_like(counts.n), blank(problem.shape), 0, 0)
        self.plan()

    def _set(
        self,
        problem: Problem,
        index: int,
        counts: Counts,
        epoch: Ints,
        table: Table,
        plans: int,
        since: int,
    ) -> None:
        self.problem = problem
        self.index = index
        self.counts = counts
        self.epoch = epoch
        self.table = table
        self.plans = plans
        self.since = since
        shape, base = problem.shape, problem.base
        self._work = scratch(shape)
        self._changed = buckets(shape.horizon, items=shape.horizon * shape.states)
        self._touched = buckets(problem.count_stages, items=counts.n.size)
        self._touch(np.flatnonzero(counts.n != epoch))
        self._incremental = False
        if isinstance(base, Base):
            self._kernel = kernel_of(base, shape, problem.episodes)
            quick = as_backup(self._kernel.backup).compiled or not JIT
            self._incremental = quick and problem.planning == "incremental"

    def _touch(self, rows: Ints) -> None:
        stage_rows = self.problem.shape.states * self.problem.shape.actions
        for row in rows.tolist():
            put(self._touched, row // stage_rows, row)

    def absorb(self, episodes: list[Episode]) -> Ints:
        """Count the episodes; returns the rows they touched."""
        touched = np.zeros((len(episodes), self.problem.shape.horizon), np.int64)
        for episode, rows in zip(episodes, touched, strict=True):
            self.counts = roomy(self.counts, rows.size)
            add_episode(self.counts, episode.states, episode.actions, rows)
        self.since += len(episodes)
        self._touch(touched.ravel())
        return touched.ravel()

    def plan(self) -> None:
        """Plan from all that has been counted; a new epoch begins."""
        problem, base, table = self.problem, self.problem.base, self.table
        if isinstance(base, Base):
            ties = Ties(base.ties == "random", problem.seed, self.plans + (self.index << 32))
            what = (base, self._kernel, self.counts)
            if self._incremental and self.plans > 0:
                changed = self._changed
                plan_changes(
                    *what, self._touched, problem.rewards, ties, table, changed, self._work
                )
                clear(changed)
            else:
                plan_all(*what, problem.rewards, ties, table, self._work)
        else:
            n, m = to_dense(problem.shape, self.counts)
            made = base.plan(n, m, problem.rewards, problem.episodes)
            table.q[:] = np.reshape(made.q, table.q.shape)
            table.v[:], table.actions[:] = made.v, made.policy
        begin_epoch(self.counts, self.epoch, self._touched)
        self.plans += 1
        self.since = 0

    def snapshot(self) -> dict[str, Any]:
        """Everything that changes, as plain arrays and numbers."""
        return {
            "counts": {name: array.copy() for name, array in self.counts._asdict().items()},
            "table": {name: array.copy() for name, array in self.table._asdict().items()},
            "epoch": self.epoch.copy(),
            "plans": self.plans,
            "since": self.since,
        }

    @classmethod
    def restore(cls, problem: Problem, index: int, state: dict[str, Any]) -> "Instance":
        """The instance as it was, without planning again."""
        self = cls.__new__(cls)
        counts = Counts(**{name: array.copy() for name, array in state["counts"].items()})
        table = Table(**{name: array.copy() for name, array in state["table"].items()})
        epoch = state["epoch"].copy()
        self._set(problem, index, counts, epoch, table, state["plans"], state["since"])
        return self
