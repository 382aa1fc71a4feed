"""Whether a ledger holds what it recorded."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import sqlalchemy as sa

from belated.online import canonical, schema
from belated.online.events import Event, Kind

MOST: Final = 100
"""How many faults to tell of."""


@dataclass(frozen=True)
class Counts:
    """How much a ledger holds."""

    events: dict[Kind, int]
    """By kind; a kind that never happened is left out."""
    redacted: int
    episodes: int
    answered: int
    """Episodes of which something has come back, and not been withdrawn."""
    withdrawn: int
    refusals: int


def count(connection: sa.Connection, problem: int | None = None) -> Counts:
    """Count, of one problem or of all; this reads every row."""
    events, episodes, claims = schema.events.c, schema.episodes.c, schema.claims.c
    refusals = schema.quarantine.c

    def number(query: sa.Select[int], of: sa.Column[int]) -> int:
        return connection.scalar(query if problem is None else query.where(of == problem)) or 0

    kinds = sa.select(events.kind, sa.func.count()).group_by(events.kind).order_by(events.kind)
    if problem is not None:
        kinds = kinds.where(events.problem == problem)
    some = sa.select(sa.func.count())
    answered = sa.select(claims.episode).where(claims.episode == episodes.seq).exists()
    return Counts(
        events={row[0]: row[1] for row in connection.execute(kinds)},
        redacted=number(some.where(events.redacted), events.problem),
        episodes=number(some.select_from(schema.episodes), episodes.problem),
        answered=number(some.select_from(schema.episodes).where(answered), episodes.problem),
        withdrawn=number(some.where(episodes.withdrawn.is_not(None)), episodes.problem),
        refusals=number(some.select_from(schema.quarantine), refusals.problem),
    )


def digest(events: Iterable[Event]) -> str:
    """One digest of all of these events; redaction leaves it as it is."""
    total = sha256()
    for event in events:
        facts = (event.seq, event.problem, event.episode, event.kind, event.at, event.sha)
        total.update(canonical.canonical(facts).encode())
    return total.hexdigest()


def faults(events: Iterable[Event]) -> list[str]:
    """Sentences about what is wrong with a whole ledger, the first ones; none if it is sound."""
    found = []
    expected = 1
    for event in events:
        if event.seq != expected:
            found.append(f"Event {expected} is missing.")
        expected = event.seq + 1
        if event.redacted:
            if (event.text, event.salt, event.event_time) != (None, None, None):
                found.append(f"Event {event.seq} is redacted, but something of it is left.")
        elif event.text is None or canonical.digest(event.text, event.salt or b"") != event.sha:
            found.append(f"Event {event.seq} has been changed: its digest is another.")
        if len(found) >= MOST:
            break
    return found
