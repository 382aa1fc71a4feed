"""Delay laws, and the queue that stores feedback in flight until its arrival."""

from belated.delays.calendar import by_time, weekly, with_calendar
from belated.delays.dependent import DependentLaw, by_action, by_return, by_state
from belated.delays.laws import (
    NEVER,
    Law,
    constant,
    empirical,
    from_scipy,
    geometric,
    longest_delay,
    never,
    parse,
    poisson,
    uniform,
)
from belated.delays.mixture import mixture
from belated.delays.queue import Queue
from belated.delays.selector import Selector

__all__ = [
    "NEVER",
    "DependentLaw",
    "Law",
    "Queue",
    "Selector",
    "by_action",
    "by_return",
    "by_state",
    "by_time",
    "constant",
    "empirical",
    "from_scipy",
    "geometric",
    "longest_delay",
    "mixture",
    "never",
    "parse",
    "poisson",
    "uniform",
    "weekly",
    "with_calendar",
]
