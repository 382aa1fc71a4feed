"""Register of the episodes of a learner: which are in flight, and how late the others came back."""

import heapq
from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any

import numpy as np

from belated.check import check_id, check_integer, check_range
from belated.episode import Ints
from belated.id_set import IdSet
from belated.learner.feedback import (
    Feedback,
    PendingEpisode,
    restore_pending,
    snapshot_pending,
)
from belated.learner.maturity import HeldFeedback, Received
from belated.learner.problem import LearningProblem
from belated.survival.duration_counts import DurationCounts


class Register:
    """Episodes that were started or observed, and the feedback that is held back.

    Parameters
    ----------
    problem : LearningProblem
        Problem of the learner.
    """

    def __init__(self, problem: LearningProblem) -> None:
        self.problem = problem
        self.begun = 0  # number of episodes started
        self.waited = 0  # sum of the numbers of episodes in flight at the start of each
        self.seen = IdSet()  # episodes whose feedback has arrived completely
        self.pending: dict[int, PendingEpisode] = {}  # episodes in flight, by id
        self.delays = DurationCounts()
        self.free = [0]  # heap of the instances without outstanding feedback
        self.held = HeldFeedback(problem.updater)

    @property
    def observed(self) -> int:
        """Number of episodes whose feedback has been counted completely."""
        return len(self.seen) - self.held.complete

    @property
    def missing(self) -> int:
        """Number of episodes in flight: those whose feedback has not been counted completely."""
        return len(self.pending) + self.held.complete

    def ages(self) -> Ints:
        """Return the numbers of episodes started after each episode in flight that was started."""
        started = [episode.started for episode in self.pending.values() if episode.started]
        return self.begun - np.array(started, np.int64)

    def mean_delay(self, lost: Iterable[int] = ()) -> float:
        """Return the mean delay of the episodes started, in episodes; 0 if none was started.

        `lost` contains, for each lost episode, the number of episodes that had been started when it
        was lost: its delay ends then.
        """
        waited = self.waited - sum(self.begun - begun for begun in lost)
        return waited / self.begun if self.begun else 0.0

    def check_new(self, id: int) -> int:
        """Return the `id` of an episode to start; raise ValueError if the episode is known."""
        id = check_id("id", id)
        if id in self.seen:
            raise ValueError(
                f"id must be new, but episode {id} has been observed already; start an episode "
                "before its feedback, and only once."
            )
        if id in self.pending:
            raise ValueError(f"id must be new, but episode {id} has been started already.")
        return id

    def begin(self, id: int, instance: int) -> PendingEpisode:
        """Add an episode that `instance` plays, and return its record."""
        self.waited += self.missing
        self.begun += 1
        pending = self.pending[id] = PendingEpisode(instance, started=self.begun)
        if self.problem.updater.multi_instance:
            heapq.heappop(self.free)
        return pending

    def receive(self, feedback: list[Feedback]) -> list[Received]:
        """Record the arrival of `feedback`, and return each item with the data of its episode.

        Raises ValueError if any item is invalid; nothing is changed then.
        """
        horizon, updater = self.problem.shape.horizon, self.problem.updater
        records = self._check(feedback)
        for id, pending in records.items():
            if not pending.is_complete(horizon):
                self.pending[id] = pending
                continue
            self.pending.pop(id, None)
            self.seen.add(id)
            if pending.started:
                self.delays.add_one(self.begun - pending.started)
            if updater.multi_instance:
                heapq.heappush(self.free, pending.instance)
        last = {item.id: place for place, item in enumerate(feedback)}
        arrived = []
        for place, item in enumerate(feedback):
            one = records[item.id]
            completes = last[item.id] == place and one.is_complete(horizon)
            start = (one.started, one.opened_us, one.batch)
            arrived.append(Received(item, one.instance, *start, completes))
        return arrived

    def _check(self, feedback: list[Feedback]) -> dict[int, PendingEpisode]:
        """Raise ValueError if any item of `feedback` is invalid; nothing is changed.

        Returns the records of the episodes as they are after `feedback`, by the id of the episode.
        """
        updater = self.problem.updater
        batch: dict[int, PendingEpisode] = {}
        for item in feedback:
            if item.id in self.seen:
                raise ValueError(
                    f"Episode {item.id} has been observed already; observe each episode once."
                )
            if item.id not in self.pending and (updater.multi_instance or updater.needs_start):
                name = type(updater).__name__
                multi = updater.multi_instance
                what = "which instance played it" if multi else "when it was started"
                raise ValueError(
                    f"Episode {item.id} was not started; {name} must know {what}, so call "
                    f"start({item.id}) first."
                )
            if item.delayed and item.rewards is None and self.problem.unknown_rewards:
                raise ValueError(
                    f"Episode {item.id} has no rewards; they are unknown, so the feedback must "
                    "include them."
                )
            pending = batch.get(item.id)
            if pending is None:
                known = self.pending.get(item.id)
                pending = PendingEpisode(0) if known is None else copy(known)
                batch[item.id] = pending
            pending.receive(item, self.problem.shape)
        return batch

    def snapshot(self) -> dict[str, Any]:
        """Return the register as plain arrays and numbers, for `restore`."""
        return {
            "seen": self.seen.snapshot(),
            "pending": snapshot_pending(self.pending),
            "begun": self.begun,
            "waited": self.waited,
            "delays": self.delays.snapshot(),
            **({"held": self.held.snapshot()} if self.held else {}),
        }

    @classmethod
    def restore(
        cls, problem: LearningProblem, saved: Mapping[str, Any], instances: int
    ) -> "Register":
        """Return a register of `snapshot`; `instances` is the number of instances of the learner.

        Raises ValueError if the snapshot is damaged.
        """
        self = cls(problem)
        self.seen = IdSet.restore(saved["seen"])
        self.pending = restore_pending(saved["pending"], problem.shape, instances=instances)
        if any(id in self.seen for id in self.pending):
            raise ValueError("An episode must not be both pending and observed.")
        self.begun = check_integer("begun", saved["begun"], 0)
        self.waited = check_integer("waited", saved["waited"], 0)
        # absent in snapshots from before delays were counted
        delays = saved.get("delays")
        self.delays = DurationCounts() if delays is None else DurationCounts.restore(delays)
        check_range("number of delays", len(self.delays), 0, self.observed)
        self.held.restore(saved.get("held", []), problem.shape)
        multi = problem.updater.multi_instance
        busy = {pending.instance for pending in self.pending.values()} if multi else set()
        self.free = [index for index in range(instances) if index not in busy]
        return self
