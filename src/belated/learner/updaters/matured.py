"""Learning from mature cohorts: feedback counts once its episode has reached a given age.

Where the delay of an episode depends on its outcome, what has come back so far is a biased sample
of the episodes played. Feedback of episode i is therefore counted at the start of episode k only if

    k - i >= age        (online also: time since the opening >= age)

Everything of an episode that has arrived by then is counted at once, and later feedback when it
arrives. If all delays are below the age, each episode is counted at that age, and what is counted
is not selected by its outcome. Otherwise the selection concerns at most the share of episodes that
is not back at the age. The price is that no feedback is used before the age: under delays that do
not depend on the outcome, a delay tau becomes max(tau, age - 1).
"""

import math
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np

from belated.check import check_choices, check_id, check_integer, check_probability
from belated.episode import Ints, Shape
from belated.learner.feedback import Feedback, check_feedback
from belated.learner.updaters.updater import DelayLaw, Updater
from belated.options import name_with_options

MAX_AGE: Final = 10**12
"""Largest age, in episodes or seconds."""

DECLARED: Final = ("is_lazy", "every_start", "keeps_policy")
METHODS: Final = (
    *("due", "trigger_rule", "epoch_alpha", "explorer", "lazy_alpha", "exploration"),
    *("next_plan_s", "expected_plans"),
)
"""Attributes and methods of `Matured` that are those of its inner updater."""


@dataclass(frozen=True)
class Matured(Updater):
    """Updater that counts the feedback of an episode only once the episode is old enough.

    The rule that decides when to plan is that of another updater. Use it if delays depend on
    outcomes, for example if good outcomes are reported sooner: the outcomes that have arrived are
    then a biased sample of those to come. Until an episode is counted, it is missing: statistics
    such as `Run.missing` and `Run.mean_delay` treat feedback that has arrived, but is not counted
    yet, as in flight.

    Parameters
    ----------
    updater : Updater or str
        Rule that decides when to plan, such as `Active()`, or its name. `MultiInstance` and a
        second `Matured` are not possible.
    age : int, optional
        Age at which an episode is counted, at least 0. In episodes: feedback of episode i counts at
        the start of episode k only if k - i >= `age`, and ages 0 and 1 have no effect.
    share : float, optional
        Given instead of `age`, in a simulation: the age is the number of episodes after which the
        feedback of this share of the episodes has arrived, which is one more than the quantile of
        the delay law. If the delay depends on the episode, it is the largest of the quantiles of
        the laws, so that this share is back of every kind of episodes. It must lie strictly between
        0 and 1, and the law must not change with time. A learner without a delay law, as in the
        service, needs an `age`.
    unit : {"episodes", "seconds"}
        Unit of `age`. "seconds", which only the service supports, is the time between the opening
        of the episode and the end of the batch of feedback.

    Examples
    --------
    >>> from belated import UCRL2, Active, chain, simulate
    >>> setting = {"base": UCRL2(scale=0.1), "delay": "geometric:20", "episodes": 500}
    >>> simulate(chain(3), updater=Matured(Active(), age=100), **setting).updates
    398
    """

    updater: Updater
    age: int | None = None
    share: float | None = None
    unit: Literal["episodes", "seconds"] = "episodes"

    name = "matured"
    takes = ("AGE", "UPDATER")  # see `belated.names`
    needs_start = True

    def __post_init__(self) -> None:
        updater: object = self.updater
        if isinstance(updater, str):
            from belated.learner.updaters import UPDATER_NAMES  # imports this module

            updater = UPDATER_NAMES.parse(updater)
        if not isinstance(updater, Updater):
            raise TypeError(
                f"updater must be an Updater such as Active(), or its name, got {updater!r}; the "
                "form as text is matured:AGE:UPDATER."
            )
        if isinstance(updater, Matured):
            raise ValueError(f"updater must not be a second Matured, got {updater!r}.")
        if updater.multi_instance:
            raise ValueError(
                f"updater must not be {type(updater).__name__}, which waits for the feedback of "
                "each instance and needs no older cohorts."
            )
        check_choices(self)
        if (self.age is None) is (self.share is None):
            raise ValueError(
                f"Give either age or share, got age={self.age} and share={self.share}."
            )
        if self.age is not None:
            object.__setattr__(self, "age", check_integer("age", self.age, 0))
            if self.age > MAX_AGE:
                raise ValueError(f"age must be at most {MAX_AGE:,}, got {self.age}.")
        if self.share is not None:
            check_probability("share", self.share)
            if self.unit == "seconds":
                raise ValueError("share needs unit='episodes', got 'seconds'; pass age in seconds.")
        object.__setattr__(self, "updater", updater)
        for name in (*DECLARED, *METHODS):
            if name not in vars(type(self)):
                object.__setattr__(self, name, getattr(updater, name))
        episodes = self.unit == "episodes"
        object.__setattr__(self, "min_age", self.age or 0 if episodes else 0)
        object.__setattr__(self, "min_age_s", 0.0 if episodes else float(self.age or 0))

    @property
    def full_name(self) -> str:
        """Name with all options, such as "matured:500:lazy:10" or "matured:share=0.99:active"."""
        age = f"share={self.share:g}" if self.age is None else str(self.age)
        unit = "" if self.unit == "episodes" else f",unit={self.unit}"
        return f"{self.name}:{age}{unit}:{name_with_options(self.updater)}"

    def for_simulation(self, law: DelayLaw) -> Self:
        if self.unit == "seconds":
            raise ValueError(
                "unit='seconds' of Matured is for the service, since a simulation has no time of "
                "day; give the age in episodes."
            )
        updater = self.updater.for_simulation(law)
        if self.share is None:
            return replace(self, updater=updater)
        if not all(group.stationary for group in law.groups):
            raise ValueError(
                f"share needs a delay law that does not change with time, got {law.name!r}; pass "
                "age instead."
            )
        delay = max(group.quantile(self.share) for group in law.groups)
        if delay == math.inf:
            raise ValueError(
                f"share={self.share:g} of the feedback never arrives under the delay law "
                f"{law.name!r}; pass a smaller share, or age."
            )
        return replace(self, updater=updater, age=int(delay) + 1, share=None)

    def for_learner(self, episodes: int) -> Self:
        if self.age is None:
            raise ValueError(
                "share needs a delay law, which only a simulation has; pass age to Matured."
            )
        return replace(self, updater=self.updater.for_learner(episodes))

    def with_longest_delay(self, delay: float) -> Self:
        longest = max(delay, self.min_age - 1)
        return replace(self, updater=self.updater.with_longest_delay(longest))


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
