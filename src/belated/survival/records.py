"""Records of delays: when episodes were opened and when their feedback came back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.check import check_choice
from belated.episode import Bools, Floats
from belated.survival.estimate import Unit

GROUP_COLUMNS: Final = ("arm", "action", "first_action", "state", "first_state")
"""Columns of a table of episodes that are used as groups unless others are named."""


@dataclass(frozen=True, eq=False)
class DelayRecords:
    """Durations of episodes, in order of opening, with what their lateness may depend on."""

    durations: Mapping[Unit, Floats]
    """Delay of each episode that is back and age of each other one, by unit; the first unit is the
    one in which the episodes were recorded."""
    returned: Bools
    """Whether the feedback of each episode is back."""
    ages: Mapping[Unit, Floats] = field(default_factory=dict)
    """Time since each episode was opened, by unit; empty if the order of opening is unknown."""
    returns: Floats | None = None
    """Return, the sum of the rewards, of each episode; NaN where it is unknown."""
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Group of each episode by name of the grouping; None where it is unknown."""

    @property
    def unit(self) -> Unit:
        """Unit in which the episodes were recorded."""
        return next(iter(self.durations))

    def delay_records(self) -> "DelayRecords":
        """Return the records themselves."""
        return self


def records_of(
    opened: ArrayLike | Sequence[Any],
    returned: ArrayLike | Sequence[Any],
    *,
    now: Any = None,
    returns: ArrayLike | Sequence[Any] | None = None,
    groups: Mapping[str, Any] | Sequence[str] | None = None,
    unit: Unit | None = None,
) -> DelayRecords:
    """Return the records of episodes that are given by arrays.

    Parameters
    ----------
    opened : sequence
        Time at which each episode was opened: numbers, datetimes or ISO 8601 texts; with
        unit="episodes", the number of the episode.
    returned : sequence
        Time at which its feedback was complete; None or NaN if it is not back. With
        unit="episodes", the number of the last episode opened by then, i + tau_i.
    now : optional
        Time up to which returns are known; by default the latest of the times.
    returns : array_like, optional
        Return of each episode; NaN or None where it is unknown.
    groups : mapping, optional
        Group of each episode by name of the grouping; None where it is unknown.
    unit : {"seconds", "episodes"}, optional
        Unit of the times, if they are numbers; by default "seconds".

    Returns
    -------
    DelayRecords
        Records in order of opening. Times in seconds give delays in episodes too: the number of
        episodes opened after an episode and up to its return.

    Raises
    ------
    ValueError
        If the lengths differ, a time is missing or later than `now`, or a return precedes its
        opening.
    """
    start, end = _numbers("opened", opened), _numbers("returned", returned)
    if start.size == 0:
        raise ValueError("opened must hold at least one episode, got none.")
    if end.shape != start.shape:
        raise ValueError(
            f"returned must have one entry for each of the {start.size} episodes in opened, None "
            f"or NaN for those in flight, got {end.size}."
        )
    if not np.isfinite(start).all():
        raise ValueError("opened must be known for every episode, got None, NaN or inf.")
    check_choice("unit", unit or "seconds", ("seconds", "episodes"))
    if groups is not None and not isinstance(groups, Mapping):
        raise TypeError(f"groups must be a mapping of names to arrays, got {groups!r}.")
    back = np.isfinite(end)
    early = back & (end < start)
    if early.any():
        i = int(np.flatnonzero(early)[0])
        raise ValueError(
            f"returned must not be before opened, but episode {i} was opened at {start[i]:g} and "
            f"returned at {end[i]:g}."
        )
    latest = float(max(start.max(), np.max(end[back], initial=-np.inf)))
    last = latest if now is None else float(_numbers("now", [now])[0])
    if not last >= start.max():
        raise ValueError(f"now must not be before an opening, got {last:g} and {start.max():g}.")
    back &= end <= last
    order = np.argsort(start, kind="stable")
    start, end, back = start[order], end[order], back[order]
    ages: dict[Unit, Floats] = {unit or "seconds": last - start}
    durations: dict[Unit, Floats] = {unit or "seconds": np.where(back, end, last) - start}
    if unit != "episodes":
        numbers = np.arange(1, start.size + 1)
        known = np.searchsorted(start, np.where(back, end, last), side="right")
        durations["episodes"] = np.maximum(known - numbers, 0).astype(np.float64)
        ages["episodes"] = (start.size - numbers).astype(np.float64)
    values = None if returns is None else _numbers("returns", returns)
    if values is not None and values.shape != start.shape:
        raise ValueError(
            f"returns must have {start.size} entries, one for each episode, got {values.size}."
        )
    columns = (groups or {}).items()
    labels = {name: _labels(name, column, start.size)[order] for name, column in columns}
    return DelayRecords(durations, back, ages, None if values is None else values[order], labels)


def records_of_rows(
    rows: Iterable[Mapping[str, Any]],
    *,
    now: Any = None,
    groups: Iterable[str] | None = None,
    unit: Unit | None = None,
) -> DelayRecords:
    """Return the records of episodes that are given by rows, such as those of a CSV file.

    Parameters
    ----------
    rows : iterable of mapping
        One row for each episode, with the fields "opened", "returned" (empty or None if not back)
        and optionally "return".
    now, unit
        As in `records_of`.
    groups : iterable of str, optional
        Fields that are groups; by default those of `GROUP_COLUMNS` that occur.

    Returns
    -------
    DelayRecords
        Records in order of opening.
    """
    table = list(rows) if isinstance(rows, Iterable) else [rows]
    if not all(isinstance(row, Mapping) for row in table):
        raise TypeError(
            "records must be a Run, a Learner, or rows with the fields opened and returned, got "
            f"{type(rows).__name__}; pass arrays as opened=... and returned=...."
        )
    names = set().union(*(row.keys() for row in table)) if table else set()
    for name in ("opened", "returned", *(groups or ())):
        if name not in names:
            listed = ", ".join(sorted(names)) or "none"
            raise ValueError(f"Each episode needs the field {name!r}; the fields are {listed}.")
    columns = groups if groups is not None else [n for n in GROUP_COLUMNS if n in names]
    return records_of(
        [row.get("opened") for row in table],
        [row.get("returned") for row in table],
        now=now,
        returns=[row.get("return") for row in table] if "return" in names else None,
        groups={name: [_empty_to_none(row.get(name)) for row in table] for name in columns},
        unit=unit,
    )


def _numbers(name: str, values: Any) -> Floats:
    """Return `values` as floats, with times in seconds since 1970 and NaN for what is missing."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {array.shape}.")
    if array.dtype.kind == "M":
        seconds: Floats = array.astype("datetime64[us]").astype(np.int64) / 1e6
        return np.where(np.isnat(array), np.nan, seconds)
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    return np.array([_number(name, value) for value in array.tolist()], np.float64)


def _number(name: str, value: Any) -> float:
    """Return one value as a float: a number, a datetime, an ISO 8601 text, or NaN if missing."""
    if _empty_to_none(value) is None:
        return np.nan
    try:
        if isinstance(value, str):
            try:
                return float(value)
            except ValueError:
                value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        if not isinstance(value, bool):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"{name} must hold numbers, times in ISO 8601 or None, got {value!r}.")


def _labels(name: str, column: Any, size: int) -> NDArray[Any]:
    labels = np.empty(size, object)
    values = list(column)
    if len(values) != size:
        raise ValueError(
            f"group {name!r} must have {size} entries, one for each episode, got {len(values)}."
        )
    labels[:] = values
    return labels


def _empty_to_none(value: Any) -> Any:
    return None if value == "" else value
