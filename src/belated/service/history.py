"""The history of a problem, as JSON holds it."""

import math
from datetime import UTC, datetime
from typing import Any

from belated.online.history import MICROSECONDS_PER_SECOND, HistogramView, History
from belated.online.host import Failure
from belated.online.status import ProblemStatus


def history_of(problem: str, standing: ProblemStatus | Failure) -> dict[str, Any]:
    """All that is known of it; nothing where it cannot be folded."""
    seq: int | None = None
    past = History().view()
    if isinstance(standing, ProblemStatus):
        seq, past = standing.seq, standing.history
    return {
        "problem": problem,
        "seq": seq,
        "times": times_of(past.times),
        "versions": versions_of(past.versions, past.newest),
    }


def times_of(view: HistogramView) -> dict[str, Any]:
    """What was opened, and what returned how late, by time."""
    bins = []
    for start, row in rows(view):
        count = int(row["returned"])
        bins.append(
            {
                "start": utc(start),
                "opened": int(row["opened"]),
                "returned": count,
                "delay": row["delay"] / count if count else None,
                "longest": row["longest"] if count else None,
                "episodes": row["episodes"] / count if count else None,
            }
        )
    return {"width": view.width / MICROSECONDS_PER_SECOND, "bins": bins}


def versions_of(view: HistogramView, newest: int) -> dict[str, Any]:
    """What the episodes opened with each version earned; they reach up to the newest."""
    bins = []
    for first, row in rows(view):
        count = int(row["returned"])
        bins.append(
            {
                "first": first,
                "last": min(first + view.width - 1, newest),
                "opened": int(row["opened"]),
                "returned": count,
                "mean_return": row["earned"] / count if count else None,
                "error": error_of(count, row["earned"], row["squares"]),
            }
        )
    return {"width": view.width, "bins": bins}


def rows(view: HistogramView) -> list[tuple[int, dict[str, float]]]:
    """Where each bin begins, and its numbers."""
    columns = {name: column.tolist() for name, column in view.columns.items()}
    numbers = zip(*columns.values(), strict=True)
    made = [dict(zip(columns, row, strict=True)) for row in numbers]
    return list(zip(view.starts, made, strict=True))


def error_of(count: int, total: float, squares: float) -> float | None:
    """The standard error of a mean, from sums; None where there is no telling.

    >>> error_of(1, 3.0, 9.0), error_of(4, 4.0, 16.0)
    (None, 1.0)
    """
    if count < 2:
        return None
    # rounding may leave a little less than nothing
    variance = max(0.0, squares - total * total / count) / (count - 1)
    return math.sqrt(variance / count)


def utc(at: int) -> str:
    """A time in ISO 8601, to the second.

    >>> utc(1_794_750_602_000_000)
    '2026-11-15T13:50:02Z'
    """
    return f"{datetime.fromtimestamp(at // MICROSECONDS_PER_SECOND, UTC):%Y-%m-%dT%H:%M:%SZ}"
