"""Conversion of the status and the history of a problem to JSON."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from belated.online.history.histogram import HistogramView
from belated.online.history.history import History
from belated.online.history.time_histogram import MICROSECONDS_PER_SECOND
from belated.online.host import Failure
from belated.online.open_episodes import summarize_ages
from belated.online.serving import ServingState
from belated.online.status import ProblemStatus
from belated.service.requests.parsing import UNIX_EPOCH

FOLD_FIELDS: Final = (
    *("seq", "waiting", "begun", "observed", "missing", "lost", "mean_delay", "psi", "lateness"),
    *("ages", "recorded_ages", "in_flight", "updates", "epochs", "alpha"),
)
"""Fields of a status that are null if the problem's state cannot be computed from its events."""

MIN_TIME_S: Final = (datetime.min.replace(tzinfo=UTC) - UNIX_EPOCH) // timedelta(seconds=1)
"""First second of the year 1, in seconds since 1970 (UTC)."""


def status_json(
    problem: str, serving: ServingState, fold: ProblemStatus | Failure, *, now: int
) -> dict[str, Any]:
    """Return the status of a problem as a JSON object.

    Parameters
    ----------
    problem : str
        Name of the problem.
    serving : ServingState
        Served version, and the modes that determine it.
    fold : ProblemStatus | Failure
        Status computed from the events of the problem, or the failure that prevented this.
    now : int
        Time at which the ages of episodes are computed, in microseconds since 1970 (UTC).

    Returns
    -------
    dict[str, Any]
        JSON object with the fields of `models.status.Status`.
    """
    head: dict[str, Any] = {"problem": problem, "serving": serving_json(serving)}
    if isinstance(fold, Failure):
        return head | dict.fromkeys(FOLD_FIELDS) | {"failure": fold.reason}
    status = fold.learner
    in_flight = status.in_flight
    return head | {
        "failure": None,
        "seq": fold.seq,
        "waiting": fold.waiting,
        "begun": status.begun,
        "observed": status.observed,
        "missing": status.missing,
        "lost": fold.lost,
        "mean_delay": finite_or_none(status.mean_delay),
        "psi": finite_or_none(status.psi),
        "lateness": {
            "episodes": status.lateness.facts(),
            "seconds": fold.lateness_s(now=now).facts(),
        },
        "ages": summarize_ages(fold.opened_at, now=now),
        "recorded_ages": summarize_ages(fold.recorded_at, now=now),
        "in_flight": {
            "most": float(in_flight.max()),
            "mean": float(in_flight.mean()),
            "exact": status.exact,
        },
        "updates": fold.updates,
        "epochs": fold.epochs,
        "alpha": finite_or_none(fold.alpha),
    }


def serving_json(serving: ServingState) -> dict[str, Any]:
    """Return `serving` as a JSON object with the fields of `models.policies.ServingState`."""
    return {
        "version": serving.version,
        "newest": serving.newest,
        "frozen": serving.frozen is not None,
        "shadow": serving.shadow is not None,
    }


def finite_or_none(value: float) -> float | None:
    """Return `value`, or None if `value` is infinite or NaN, which JSON cannot represent."""
    return float(value) if math.isfinite(value) else None


def history_json(problem: str, fold: ProblemStatus | Failure) -> dict[str, Any]:
    """Return the history of a problem as a JSON object with the fields of `models.history.History`.

    `problem` is the name of the problem. `fold` is the status computed from the events of the
    problem, or the failure that prevented this; the history is empty in case of a failure.
    """
    history = History().view() if isinstance(fold, Failure) else fold.history
    return {
        "problem": problem,
        "seq": None if isinstance(fold, Failure) else fold.seq,
        "times": times_json(history.times),
        "arrivals": times_json(history.arrivals),
        "versions": versions_json(history.versions, history.newest),
    }


def times_json(view: HistogramView) -> dict[str, Any]:
    """Return `view`, a histogram over time, as a JSON object.

    The object has the fields of `models.history.TimeBins`. The field `outside` is present only if
    some times lie in no bin.
    """
    bins = []
    for start, row in bin_rows(view):
        count = int(row["returned"])
        bins.append(
            {
                "start": format_utc(start),
                "opened": int(row["opened"]),
                "returned": count,
                "delay": row["delay"] / count if count else None,
                "longest": row["longest"] if count else None,
                "episodes": row["episodes"] / count if count else None,
            }
        )
    outside = {"outside": dict(view.outside)} if view.outside else {}
    return {"width": view.width / MICROSECONDS_PER_SECOND, "bins": bins, **outside}


def versions_json(view: HistogramView, newest: int) -> dict[str, Any]:
    """Return `view`, a histogram over versions, as a JSON object.

    The object has the fields of `models.history.VersionBins`. The last bin ends at the version
    `newest`.
    """
    bins = []
    for first, row in bin_rows(view):
        count = int(row["returned"])
        bins.append(
            {
                "first": first,
                "last": min(first + view.width - 1, newest),
                "opened": int(row["opened"]),
                "returned": count,
                "mean_return": row["earned"] / count if count else None,
                "error": standard_error(count, row["earned"], row["squares"]),
            }
        )
    return {"width": view.width, "bins": bins}


def bin_rows(view: HistogramView) -> list[tuple[int, dict[str, float]]]:
    """Return the start of each bin of `view`, and a dict from column names to its values."""
    columns = [column.tolist() for column in view.columns.values()]
    rows = (dict(zip(view.columns, row, strict=True)) for row in zip(*columns, strict=True))
    return list(zip(view.starts, rows, strict=True))


def standard_error(count: int, total: float, squares: float) -> float | None:
    """Return the standard error of a mean.

    Parameters
    ----------
    count : int
        Number of values.
    total : float
        Sum of the values.
    squares : float
        Sum of the squares of the values.

    Returns
    -------
    float | None
        Standard error of the mean, or None for fewer than two values.

    Examples
    --------
    >>> standard_error(1, 3.0, 9.0), standard_error(4, 4.0, 16.0)
    (None, 1.0)
    """
    if count < 2:
        return None
    # Rounding may leave a variance slightly below 0.
    variance = max(0.0, squares - total * total / count) / (count - 1)
    return math.sqrt(variance / count)


def format_utc(microseconds: int) -> str:
    """Return a time, given in `microseconds` since 1970 (UTC), in ISO 8601 to the second.

    Times before the year 1, which ISO 8601 cannot represent, are returned as the first second of
    the year 1.

    >>> format_utc(1_794_750_602_000_000)
    '2026-11-15T13:50:02Z'
    """
    seconds = max(microseconds // MICROSECONDS_PER_SECOND, MIN_TIME_S)
    time = UNIX_EPOCH + timedelta(seconds=seconds)
    return f"{time.replace(tzinfo=None).isoformat()}Z"
