"""Feedback that has arrived, and is held until its episode is old enough to be counted."""

from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

import numpy as np

from belated.check import check_id, check_integer
from belated.episode import Ints, Shape
from belated.learner.feedback import Feedback, check_feedback
from belated.learner.updaters.updater import Updater

MICROSECONDS: Final = 1_000_000
"""Number of microseconds in a second."""


class Received(NamedTuple):
    """Item of feedback that has arrived, with the data of its episode."""

    feedback: Feedback
    instance: int = 0  # number of the instance that played the episode
    opened: int = 0  # number of episodes started up to and including the episode
    opened_us: int = 0  # time of the opening in microseconds since 1970 (UTC); 0 if unknown
    batch: int = -1  # number of episodes started before the plan that the episode followed
    completes: bool = False  # whether the feedback of the episode is complete with this item


class HeldFeedback:
    """Feedback that has arrived, but whose episode is not old enough to be counted.

    Parameters
    ----------
    updater : Updater
        Updater of the learner; its `min_age` and `min_age_s` are the age in episodes and in
        seconds.
    """

    def __init__(self, updater: Updater) -> None:
        self._min_age = updater.min_age
        self._min_age_us = int(updater.min_age_s * MICROSECONDS)
        self._uses_time = updater.min_age_s > 0
        self._heap: list[tuple[int, int, int, int, Received]] = []  # by time or place of opening
        self._pushed = 0
        self.complete = 0
        """Number of episodes that would be complete if the held feedback were counted."""

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_us(self) -> int | None:
        """Time at which the next item is old enough, in microseconds since 1970 (UTC).

        None if nothing is held, or if ages are in episodes.
        """
        if not (self._uses_time and self._heap):
            return None
        return self._heap[0][0] + self._min_age_us

    def rows(self, shape: Shape, stages: int) -> Ints:
        """Return the rows, (stage, state, action) triples, of all steps of the held feedback.

        `shape` is the size of the problem, and `stages` the number of stages of the counts.
        """
        rows = [item.feedback.rows(shape, stages) for *_, item in self._heap]
        return np.concatenate([np.zeros(0, np.int64), *rows])

    def exchange(self, arrived: list[Received], *, episode: int, now_us: int) -> list[Received]:
        """Add new feedback, and remove and return all that is old enough to be counted.

        Parameters
        ----------
        arrived : list of Received
            New feedback.
        episode : int
            Number of the next episode: 1 more than the number of episodes started.
        now_us : int
            Current time in microseconds since 1970 (UTC); used only if ages are in seconds.

        Returns
        -------
        list of Received
            Paths of `arrived`, which are not delayed, then the other feedback in the order of the
            openings and steps. If the updater sets no age, `arrived` itself.
        """
        if self._min_age <= 1 and not self._uses_time:
            return arrived
        counted = [item for item in arrived if not item.feedback.delayed]
        for item in arrived:
            if item.feedback.delayed:
                self._push(item)
        latest = now_us - self._min_age_us if self._uses_time else episode - self._min_age
        while self._heap and self._heap[0][0] <= latest:
            item = heappop(self._heap)[-1]
            self.complete -= item.completes
            counted.append(item)
        return counted

    def _push(self, item: Received) -> None:
        born = item.opened_us if self._uses_time else item.opened
        step = int(item.feedback.steps[0])
        heappush(self._heap, (born, item.opened, step, self._pushed, item))
        self._pushed += 1
        self.complete += item.completes

    def snapshot(self) -> list[dict[str, Any]]:
        """Return the held feedback as plain arrays and numbers, for `restore`."""
        return [
            {**item._asdict(), "feedback": item.feedback._asdict()}
            for *_, item in sorted(self._heap, key=lambda entry: entry[:-1])
        ]

    def restore(self, saved: list[dict[str, Any]], shape: Shape) -> None:
        """Add the feedback of a snapshot, for a problem of size `shape`.

        Raises ValueError if a number is out of range.
        """
        items = []
        for fields in saved:
            feedback = Feedback(**fields["feedback"])
            check_id("id", feedback.id)
            check_integer("number of steps", feedback.steps.size, 1)
            items.append(Received(**{**fields, "feedback": feedback}))
        check_feedback([item.feedback for item in items], shape)
        for item in items:
            if item.instance != 0:
                raise ValueError("Held feedback must belong to instance 0.")
            for name in ("opened", "opened_us"):
                check_integer(name, getattr(item, name), 0)
            check_integer("batch", item.batch, -1)
            self._push(item)
