"""Delay laws, and the queue that stores feedback in flight until its arrival."""

from belated.delays.calendar import with_calendar
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
from belated.delays.queue import Queue

__all__ = [
    "NEVER",
    "Law",
    "Queue",
    "constant",
    "empirical",
    "from_scipy",
    "geometric",
    "longest_delay",
    "never",
    "parse",
    "poisson",
    "uniform",
    "with_calendar",
]
