"""Delays of the episodes of a problem, from its events: input of `bl.lateness`."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from belated.ledger.content import Columns, is_complete, parse_content
from belated.ledger.events import Event, Exclusions
from belated.ledger.problems import ProblemSpec
from belated.survival.records import DelayRecords, records_of

MICROSECONDS_PER_SECOND = 1_000_000


def delay_records(events: Iterable[Event | Mapping[str, Any]], *, now: Any = None) -> DelayRecords:
    """Return the delays of the episodes of one problem, with first states, first actions, returns.

    An episode is back when its feedback is complete. The time of its return is the latest time at
    which a part of the feedback happened. Corrected feedback is replaced by its correction, and
    withdrawn episodes are left out. An episode that was declared lost counts as not back.

    Parameters
    ----------
    events : iterable of Event or mapping
        All events of the problem, in order: `Ledger.events(problem)`, or the lines of an export as
        mappings with the fields seq, episode, kind, at, event_time, body and redacted.
    now : optional
        Time up to which returns are known: a number of seconds since 1970, a datetime or an ISO
        8601 text; by default the time of the last event.

    Returns
    -------
    DelayRecords
        Records up to that time, for `bl.lateness`. First states and first actions are None where no
        feedback has told them.

    Raises
    ------
    ValueError
        If the definition of the problem is missing, events of several problems are given, or `now`
        is before an opening.
    """
    history = [event if isinstance(event, Event) else _event_of(event) for event in events]
    defined = [event for event in history if event.kind == "defined"]
    if len(defined) != 1:
        raise ValueError(
            "events must be all events of one problem, with its definition, got "
            f"{len(defined)} definitions."
        )
    spec = ProblemSpec.of(defined[0].body)
    excluded = Exclusions(history)
    parts: dict[str, list[Event]] = {}
    for event in history:
        id = event.episode or ""
        if event.kind == "opened" and event not in excluded:
            parts[id] = [event]
        elif event.kind in ("feedback", "corrected") and id in parts and event not in excluded:
            parts[id].append(event)
    if not parts:
        raise ValueError("events must hold at least one opened episode, got none.")
    feedback = [[parse_content(event.body, spec) for event in rest] for _, *rest in parts.values()]
    last = [max(event.happened_at for event in events) for events in parts.values()]
    described = (_describe(columns, spec) for columns in feedback)
    first_states, first_actions, returns = zip(*described, strict=True)
    return records_of(
        [opening.happened_at / MICROSECONDS_PER_SECOND for opening, *_ in parts.values()],
        [
            at / MICROSECONDS_PER_SECOND if is_complete(columns, spec) else None
            for at, columns in zip(last, feedback, strict=True)
        ],
        now=max(event.at for event in history) / MICROSECONDS_PER_SECOND if now is None else now,
        returns=returns,
        groups={"first state": first_states, "first action": first_actions},
    )


def _describe(feedback: list[Columns], spec: ProblemSpec) -> tuple[str | None, str | None, float]:
    """Return the first state, the first action and the return of an episode, as far as known."""
    path: dict[int, tuple[int, int]] = {}
    rewards: dict[int, float] = {}
    for columns in feedback:
        if columns.has_path:
            path |= {step: row[:2] for step, row in columns.rows().items()}
        rewards |= columns.known_rewards()
    if 0 not in path:
        return None, None, np.nan
    if spec.rewards is not None:
        table = np.broadcast_to(spec.rewards, spec.shape.table)
        rewards = {step: table[step, s, a] for step, (s, a) in path.items()}
    known = [rewards[step] for step in sorted(path) if step in rewards]
    total = float(sum(known)) if len(known) == len(path) else np.nan
    state, action = path[0]
    return spec.states[state], spec.actions[action], total


def _event_of(row: Mapping[str, Any]) -> Event:
    """Return the event of one line of an export, whose body may be JSON text or its content."""
    try:
        body = row["body"]
        return Event(
            seq=row["seq"],
            problem=0,
            episode=row["episode"],
            kind=row["kind"],
            at=row["at"],
            event_time=row.get("event_time"),
            text=body if body is None or isinstance(body, str) else json.dumps(body),
            salt=None,
            sha=row.get("sha", ""),
            redacted=bool(row.get("redacted")),
        )
    except KeyError as error:
        raise ValueError(f"Each exported event needs the field {error}.") from None
