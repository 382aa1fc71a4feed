"""Scheduled updating: plan after every n episodes, after every n arrivals, or at set times."""

import math
from dataclasses import dataclass
from typing import Literal, Self

from belated.check import check_choices, check_integer
from belated.learner.updaters.trigger import TriggerRule, trigger
from belated.learner.updaters.updater import Arrival, DelayLaw, Updater


@trigger
def episodes_have_passed(constants, arrival):  # type: ignore[no-untyped-def]
    """Return whether `constants[0]` episodes have been started since the last plan."""
    return arrival.age >= constants[0]


@trigger
def feedback_has_arrived(constants, arrival):  # type: ignore[no-untyped-def]
    """Return whether `constants[0]` items of feedback have arrived since the last plan."""
    return arrival.since_plan >= constants[0]


@dataclass(frozen=True)
class Scheduled(Updater):
    """Updater that plans on a fixed schedule, from all feedback that has arrived until then.

    With unit="episodes", it plans at the start of the episodes n + 1, 2n + 1, ..., where n is
    `every`, whether or not feedback has arrived. A run of K episodes then has ceil(K / n) plans,
    including the first. In the service, which plans at the end of a batch of feedback, it plans at
    the end of the first batch before which n episodes were opened since the last plan.

    Parameters
    ----------
    every : int
        Number of episodes, arrivals or seconds between two plans, at least 1.
    unit : {"episodes", "arrivals", "seconds"}
        What `every` counts: episodes started since the last plan; items of feedback that have
        arrived since the last plan (episodes, or steps if each step has its own delay); or seconds.
        With "seconds", which only the service supports, plans are made at the multiples of `every`
        seconds since 1970 (UTC), such as every midnight for 86400, if feedback has arrived.

    Examples
    --------
    >>> from belated import UCRL2, chain, simulate
    >>> setting = {"base": UCRL2(scale=0.1), "delay": "geometric:20", "episodes": 500}
    >>> simulate(chain(3), updater=Scheduled(100), **setting).epochs
    5
    """

    every: int
    unit: Literal["episodes", "arrivals", "seconds"] = "episodes"

    name = "scheduled"
    is_lazy = True
    keeps_policy = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", check_integer("every", self.every, 1))
        check_choices(self)
        object.__setattr__(self, "every_start", self.unit != "arrivals")
        object.__setattr__(self, "needs_start", self.unit != "arrivals")

    def due(self, arrival: Arrival) -> bool:
        scheduled_s = self.next_plan_s(arrival.planned_s)
        return super().due(arrival) if scheduled_s is None else arrival.now_s >= scheduled_s

    def next_plan_s(self, planned_s: float) -> float | None:
        if self.unit != "seconds":
            return None
        return float(self.every * (planned_s // self.every + 1))

    def trigger_rule(self) -> TriggerRule | None:
        if self.unit == "seconds":
            return None
        rule = episodes_have_passed if self.unit == "episodes" else feedback_has_arrived
        return TriggerRule(rule, [self.every])

    def for_simulation(self, law: DelayLaw) -> Self:
        if self.unit == "seconds":
            raise ValueError(
                "unit='seconds' of Scheduled is for the service, since a simulation has no time of "
                "day; use 'episodes' or 'arrivals'."
            )
        return self

    def expected_plans(self, episodes: int, rows: int) -> float:
        return math.ceil(episodes / self.every)
