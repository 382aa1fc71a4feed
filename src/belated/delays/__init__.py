"""Lateness: laws to draw delays from, and the queue that holds feedback until it is due."""

from belated.delays.laws import (
    NEVER,
    Law,
    constant,
    empirical,
    from_scipy,
    geometric,
    longest,
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
    "longest",
    "never",
    "parse",
    "poisson",
    "uniform",
]
