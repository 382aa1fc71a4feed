"""Episodes of a learner: which are in flight, and how late the others came back."""

import heapq
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from belated.check import check_id, check_integer, check_range
from belated.episode import Floats, Ints
from belated.id_set import IdSet
from belated.learner.feedback import (
    Feedback,
    PendingEpisode,
    restore_pending,
    snapshot_pending,
)
from belated.learner.problem import LearningProblem
from belated.learner.updaters.matured import HeldFeedback, Received
from belated.survival.duration_counts import DurationCounts
from belated.survival.estimate import DelayEstimate, estimate_from_counts
from belated.theory.lemmas import psi, share_in_flight


@dataclass(frozen=True, eq=False)
class Status:
    """Numbers of episodes started, observed and in flight, and the share of visits in flight.

    Examples
    --------
    >>> from belated import Learner, Shape
    >>> parts = {"base": "ucrl2", "updater": "active", "rewards": "unknown"}
    >>> learner = Learner(Shape(states=3, actions=2, horizon=2), **parts, episodes=100)
    >>> _ = learner.start(1), learner.start(2)
    >>> learner.status.begun, learner.status.missing
    (2, 2)
    """

    begun: int
    """Number of episodes started."""
    observed: int
    """Number of episodes whose feedback has been counted completely: when it has arrived and, with
    the updater `Matured`, its episode is old enough."""
    missing: int
    """S_k, the number of episodes whose feedback has not been counted completely."""
    mean_delay: float
    """Mean delay so far, in episodes. The delay of an episode in flight is taken as the number of
    episodes started after it, so that the mean is too low while episodes are in flight; `lateness`
    estimates the delay without this bias."""
    psi: float
    """Upper bound of all S_k with high probability, computed from `mean_delay` (Lemma 1)."""
    in_flight: Floats = field(repr=False)
    """For each triple, the fraction N'' / N of its visits whose feedback is missing; shape
    (stages, S, A)."""
    lateness: DelayEstimate = field(repr=False)
    """Kaplan-Meier estimate of the delay in episodes, of the episodes that were started: median,
    share not back at an age, share that never returns. Lost episodes count as not back."""
    exact: bool = True
    """Whether `in_flight` is exact. If False, it is an upper bound: an episode in flight whose path
    is unknown is assumed to visit every triple."""


class Episodes:
    """Episodes that were started or observed, and the feedback that is held back.

    Parameters
    ----------
    problem : LearningProblem
        Problem of the learner.
    saved : mapping, optional
        Snapshot of the learner to continue from; by default there are no episodes.

    Raises
    ------
    ValueError
        If the snapshot is damaged.
    """

    def __init__(self, problem: LearningProblem, saved: Mapping[str, Any] | None = None) -> None:
        self.problem = problem
        self.begun = 0  # number of episodes started
        self.waited = 0  # sum of the numbers of episodes in flight at the start of each
        self.seen = IdSet()  # episodes whose feedback has arrived completely
        self.pending: dict[int, PendingEpisode] = {}  # episodes in flight, by id
        self.delays = DurationCounts()
        self.free = [0]  # heap of the instances without outstanding feedback
        self.held = HeldFeedback(problem.updater)
        if saved is not None:
            self._restore(saved)

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

    def status(self, counts: Ints, lost: Mapping[int, int]) -> Status:
        """Return the current status of the learner.

        Parameters
        ----------
        counts : Ints
            (rows) For each row, the number of visits whose feedback has arrived.
        lost : mapping
            Episodes to leave out; see `Learner.status_without`.

        Returns
        -------
        Status
            The status.
        """
        shape, stages = self.problem.shape, self.problem.count_stages
        # visits in flight whose triple is known
        known = np.bincount(self.held.rows(shape, stages), minlength=counts.size)
        pending = [episode for id, episode in self.pending.items() if id not in lost]
        unknown = 0
        for episode in pending:
            if episode.path is None:
                unknown += 1
                continue
            rows = episode.path.rows(shape, stages)
            waits = [not episode.received >> step & 1 for step in range(rows.size)]
            known += np.bincount(rows[waits], minlength=counts.size)
        # with pooled counts an episode may visit a triple at every step at which it is playable
        possible = shape.playable.sum(axis=0) if stages == 1 else shape.playable
        in_flight = share_in_flight(known + unknown * possible.ravel(), counts)
        mean_delay = self.mean_delay(lost.values())
        return Status(
            begun=self.begun,
            observed=self.observed,
            missing=len(pending) + self.held.complete,
            mean_delay=mean_delay,
            psi=psi(mean_delay, self.problem.episodes, self.problem.algorithm.delta),
            in_flight=in_flight.reshape(stages, shape.states, shape.actions),
            lateness=self.lateness(),
            exact=unknown == 0,
        )

    def lateness(self) -> DelayEstimate:
        """Return the Kaplan-Meier estimate of the delay; see `Learner.lateness`."""
        return estimate_from_counts(self.delays, self.ages())

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
        """Return the episodes as plain arrays and numbers."""
        return {
            "seen": self.seen.snapshot(),
            "pending": snapshot_pending(self.pending),
            "begun": self.begun,
            "waited": self.waited,
            "delays": self.delays.snapshot(),
            **({"held": self.held.snapshot()} if self.held else {}),
        }

    def _restore(self, saved: Mapping[str, Any]) -> None:
        problem, instances = self.problem, len(saved["instances"])
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
