"""Recording of feedback on PostgreSQL with decisions made before the lock is acquired.

The episodes are read without the lock, and the events are compared with them. Lock, insertion and
commit are then sent in one round trip, so that no other writer waits for this process. The
insertion does nothing if the ledger contains an event, added after the episodes were read, on which
a decision could depend.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, cast

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.events import Feedback, NewEvent
from belated.ledger.outcomes import AlreadyRecorded, Outcome, Recorded
from belated.ledger.problems import ProblemCache
from belated.ledger.recording.episodes import record_feedback
from belated.ledger.recording.insertion import MAX_ROWS_PER_INSERT, encode_rows, postgres_insert
from belated.ledger.recording.transaction import EPISODE_QUERIES, Transaction
from belated.ledger.store import LOCK_STATEMENT, Store

class LockNeededError(Exception):
    """Error because an event cannot be recorded without more queries, which need the lock."""


class _NoConnection:
    """Connection of a transaction without a lock; raises LockNeededError when it is used."""

    def __getattr__(self, name: str) -> Any:
        raise LockNeededError


def record_without_lock(
    store: Store, problems: ProblemCache, events: Sequence[NewEvent]
) -> list[Outcome] | None:
    """Record feedback, and acquire the lock only when the rows to insert are known."""
    if not events or len(events) > MAX_ROWS_PER_INSERT:
        return None
    feedback = [event for event in events if type(event) is Feedback]
    if len(feedback) < len(events):
        return None
    ids = sorted({event.episode for event in feedback})
    wanted = json.dumps(ids)
    read, write = _statements(store.writer.dialect)
    with store.autocommitting() as driver:
        cursor = driver.cursor()
        rows = cursor.execute(read, {"ids": wanted}, prepare=True).fetchall()
        if not rows:
            return None
        last = rows[0][0]
        transaction = Transaction(
            cast("sa.Connection", _NoConnection()), problems, last=last, at=store.now()
        )
        transaction.set_episodes(ids, (row[1:] for row in rows))
        try:
            outcomes = [record_feedback(transaction, event) for event in feedback]
        except LockNeededError:
            return None
        if transaction.seq == last:
            return outcomes
        pending = transaction.pending_rows
        parameters = {
            "ids": wanted,
            "last": last,
            "events": encode_rows(pending[schema.events]),
            "claims": encode_rows(pending[schema.claims]),
        }
        with driver.pipeline():
            driver.execute(LOCK_STATEMENT, prepare=True)
            cursor.execute(write, parameters, prepare=True)
        found = cursor.fetchone()
    if found is None:
        return None
    return [_move(outcome, last, found[0]) for outcome in outcomes]


def _move(outcome: Outcome, last: int, distance: int) -> Outcome:
    if distance and isinstance(outcome, Recorded | AlreadyRecorded) and outcome.seq > last:
        return replace(outcome, seq=outcome.seq + distance)
    return outcome


@lru_cache(maxsize=8)
def _statements(dialect: sa.Dialect) -> tuple[str, str]:
    events, claims = (
        postgres_insert(table, dialect, f"%({table.name})s", "moved")
        for table in (schema.events, schema.claims)
    )
    write = f"""
        WITH newest AS (SELECT max(seq) AS last FROM events),
        moved AS (
            SELECT last - %(last)s AS distance FROM newest WHERE NOT EXISTS (
                SELECT FROM generate_series(%(last)s::bigint + 1, last) AS later(seq), LATERAL (
                    SELECT kind, episode FROM events WHERE events.seq = later.seq OFFSET 0
                ) AS event
                WHERE kind = 'withdrawn' OR episode IN (SELECT json_array_elements_text(%(ids)s))
            )
        ),
        add_events AS ({events}),
        add_claims AS ({claims})
        SELECT distance FROM moved"""
    episodes = EPISODE_QUERIES["postgresql"].compile(dialect=dialect)
    read = (
        "SELECT last, found.* FROM (SELECT max(seq) AS last FROM events) AS newest, "
        f"({episodes}) AS found"
    )
    return read, write
