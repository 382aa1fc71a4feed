"""Where a problem stands, as JSON holds it."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Any, Final

from belated.online.host import Failure
from belated.online.serving import ServingState
from belated.online.status import ProblemStatus

AGES: Final = (60, 600, 3600, 6 * 3600, 86400, 3 * 86400, 7 * 86400, 14 * 86400, 30 * 86400)
"""Seconds up to which missing episodes are counted."""


def status_of(
    problem: str, choice: ServingState, standing: ProblemStatus | Failure, *, now: int
) -> dict[str, Any]:
    """Everything there is to say."""
    said: dict[str, Any] = {"problem": problem, "serving": choice_of(choice)}
    names = "seq waiting begun observed missing mean_delay psi ages in_flight updates epochs alpha"
    if isinstance(standing, Failure):
        return said | dict.fromkeys(names.split()) | {"failure": standing.reason}
    status = standing.learner
    flying = status.in_flight
    return said | {
        "failure": None,
        "seq": standing.seq,
        "waiting": standing.waiting,
        "begun": status.begun,
        "observed": status.observed,
        "missing": status.missing,
        "mean_delay": number(status.mean_delay),
        "psi": number(status.psi),
        "ages": ages_of(standing.opened_at, now=now),
        "in_flight": {
            "most": float(flying.max()),
            "mean": float(flying.mean()),
            "exact": status.exact,
        },
        "updates": standing.updates,
        "epochs": standing.epochs,
        "alpha": number(standing.alpha),
    }


def choice_of(choice: ServingState) -> dict[str, Any]:
    """Which version is served, and why."""
    return {
        "version": choice.version,
        "newest": choice.newest,
        "frozen": choice.frozen is not None,
        "shadow": choice.shadow is not None,
    }


def ages_of(opened: Sequence[int], *, now: int) -> dict[str, Any]:
    """How long ago episodes were opened, in seconds; times are in microseconds.

    >>> ages_of([0, 40_000_000], now=70_000_000)["counts"]["60"]
    1
    """
    ages = [max(0, now - at) / 1e6 for at in opened]
    counts = {str(limit): sum(age < limit for age in ages) for limit in AGES}
    return {
        "oldest": max(ages, default=None),
        "median": median(ages) if ages else None,
        "counts": counts | {"inf": len(ages)},
    }


def number(value: float) -> float | None:
    """What JSON can hold."""
    return float(value) if math.isfinite(value) else None
