"""Conversion of the status and the history of a problem to types of the interface."""

import math
from datetime import UTC, datetime, timedelta
from typing import Final, cast

from belated.online.history import MICROSECONDS_PER_SECOND, HistogramView, History
from belated.online.served_version import ServingState
from belated.online.status import Failure, ProblemStatus, summarize_ages
from belated.service import responses
from belated.service.bodies import UNIX_EPOCH

MIN_TIME_S: Final = (datetime.min.replace(tzinfo=UTC) - UNIX_EPOCH) // timedelta(seconds=1)
"""First second of the year 1, in seconds since 1970 (UTC)."""


def status_of(
    problem: str, serving: ServingState, fold: ProblemStatus | Failure, *, now: int
) -> responses.Status:
    """Return the status of a problem.

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
    """
    if isinstance(fold, Failure):
        status = cast(responses.Status, dict.fromkeys(responses.Status.__annotations__))
        return {
            **status,
            "problem": problem,
            "serving": serving_state(serving),
            "failure": fold.reason,
        }
    learner, in_flight = fold.learner, fold.learner.in_flight
    return responses.Status(
        problem=problem,
        serving=serving_state(serving),
        failure=None,
        seq=fold.seq,
        waiting=fold.waiting,
        begun=learner.begun,
        observed=learner.observed,
        missing=learner.missing,
        lost=fold.lost,
        mean_delay=finite_or_none(learner.mean_delay),
        psi=finite_or_none(learner.psi),
        lateness=responses.Lateness(
            episodes=cast(responses.DelayEstimate, learner.lateness.facts()),
            seconds=cast(responses.DelayEstimate, fold.lateness_s(now=now).facts()),
        ),
        ages=cast(responses.Ages, summarize_ages(fold.opened_at, now=now)),
        recorded_ages=cast(responses.Ages, summarize_ages(fold.recorded_at, now=now)),
        in_flight=responses.InFlight(
            most=float(in_flight.max()), mean=float(in_flight.mean()), exact=learner.exact
        ),
        updates=fold.updates,
        epochs=fold.epochs,
        alpha=finite_or_none(fold.alpha),
    )


def serving_state(serving: ServingState) -> responses.ServingState:
    """Return `serving` as a type of the interface."""
    return responses.ServingState(
        version=serving.version,
        newest=serving.newest,
        frozen=serving.frozen is not None,
        shadow=serving.shadow is not None,
    )


def finite_or_none(value: float) -> float | None:
    """Return `value`, or None if `value` is infinite or NaN, which JSON cannot represent."""
    return float(value) if math.isfinite(value) else None


def history_of(problem: str, fold: ProblemStatus | Failure) -> responses.History:
    """Return the history of a problem.

    `problem` is the name of the problem. `fold` is the status computed from the events of the
    problem, or the failure that prevented this; the history is empty in case of a failure.
    """
    history = History().view() if isinstance(fold, Failure) else fold.history
    return responses.History(
        problem=problem,
        seq=None if isinstance(fold, Failure) else fold.seq,
        times=time_bins(history.times),
        arrivals=time_bins(history.arrivals),
        versions=version_bins(history.versions, history.newest),
    )


def time_bins(view: HistogramView) -> responses.TimeBins:
    """Return `view`, a histogram over time, as a type of the interface."""
    bins = []
    for start, row in bin_rows(view):
        count = int(row["returned"])
        each = responses.TimeBin(
            start=format_utc(start),
            opened=int(row["opened"]),
            returned=count,
            delay=row["delay"] / count if count else None,
            longest=row["longest"] if count else None,
            episodes=row["episodes"] / count if count else None,
        )
        bins.append(each)
    found = responses.TimeBins(width=view.width / MICROSECONDS_PER_SECOND, bins=bins)
    if view.outside:
        found["outside"] = cast(responses.Outside, view.outside)
    return found


def version_bins(view: HistogramView, newest: int) -> responses.VersionBins:
    """Return `view`, a histogram over versions, whose last bin ends at the version `newest`."""
    bins = []
    for first, row in bin_rows(view):
        count = int(row["returned"])
        each = responses.VersionBin(
            first=first,
            last=min(first + view.width - 1, newest),
            opened=int(row["opened"]),
            returned=count,
            mean_return=row["earned"] / count if count else None,
            error=standard_error(count, row["earned"], row["squares"]),
        )
        bins.append(each)
    return responses.VersionBins(width=view.width, bins=bins)


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
