"""One copy of a base at work: its counts, its epoch, its plan."""

from typing import Any

import numpy as np

from belated.episode import Episode, Ints
from belated.learner.bases.base import Base
from belated.learner.counts import Counts, add_episode, empty, roomy, to_dense
from belated.learner.planning import Table, Ties, blank, plan_table
from belated.learner.problem import Problem


class Instance:
    """Counts what it is given and plans when it is told to."""

    def __init__(self, problem: Problem, index: int) -> None:
        self.problem = problem
        self.index = index
        self.counts = empty(problem.shape, problem.count_stages)
        self.epoch = np.zeros_like(self.counts.n)
        self.table = blank(problem.shape)
        self.plans = 0
        self.since = 0
        self._prepare()
        self.plan()

    def _prepare(self) -> None:
        base = self.problem.base
        if isinstance(base, Base):
            self._kernel = base.kernel(self.problem.shape, self.problem.episodes)

    def absorb(self, episodes: list[Episode]) -> Ints:
        """Count the episodes; returns the rows they touched."""
        touched = np.zeros((len(episodes), self.problem.shape.horizon), np.int64)
        for episode, rows in zip(episodes, touched, strict=True):
            self.counts = roomy(self.counts, rows.size)
            add_episode(self.counts, episode.states, episode.actions, rows)
        self.since += len(episodes)
        return touched.ravel()

    def plan(self) -> None:
        """Plan from all that has been counted; a new epoch begins."""
        problem, base = self.problem, self.problem.base
        if isinstance(base, Base):
            ties = Ties(base.ties == "random", problem.seed, self.plans + (self.index << 32))
            plan_table(base, self._kernel, self.counts, problem.rewards, ties, self.table)
        else:
            n, m = to_dense(problem.shape, self.counts)
            made = base.plan(n, m, problem.rewards, problem.episodes)
            self.table.q[:] = np.reshape(made.q, self.table.q.shape)
            self.table.v[:], self.table.actions[:] = made.v, made.policy
        self.epoch[:] = self.counts.n
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
        self.problem = problem
        self.index = index
        self.counts = Counts(**{name: array.copy() for name, array in state["counts"].items()})
        self.table = Table(**{name: array.copy() for name, array in state["table"].items()})
        self.epoch = state["epoch"].copy()
        self.plans = state["plans"]
        self.since = state["since"]
        self._prepare()
        return self
