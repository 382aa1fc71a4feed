"""Recording of feedback on PostgreSQL, with all decisions made before the lock is acquired.

The episodes are read without the lock, and the feedback is compared with them. The lock, the
insertion and the commit are then sent in one round trip, so that other writers wait only for the
database, never for this process. The insertion does nothing if the ledger contains later events on
which the comparison could depend; the caller then records the feedback under the lock.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import sqlalchemy as sa

from belated.check import is_id
from belated.ledger import schema
from belated.ledger.events import Feedback, NewEvent
from belated.ledger.outcomes import AlreadyRecorded, Outcome, Recorded
from belated.ledger.problems import ProblemCache
from belated.ledger.recording.episodes import record_feedback
from belated.ledger.recording.insertion import MAX_ROWS_PER_INSERT, encode_rows, postgres_insert
from belated.ledger.recording.transaction import EPISODE_QUERIES, Transaction
from belated.ledger.store import LOCK_STATEMENT, Store


class LockNeededError(Exception):
    """Error because an event can be recorded only by further statements, which need the lock."""


class _NoConnection:
    """Connection of a transaction without a database: raises LockNeededError when it is used."""

    def __getattr__(self, name: str) -> Any:
        raise LockNeededError


def record_optimistically(
    store: Store, problems: ProblemCache, events: Sequence[NewEvent]
) -> list[Outcome] | None:
    """Record feedback in one transaction; acquire the lock only to insert the rows.

    Parameters
    ----------
    store : Store
        Database, PostgreSQL.
    problems : ProblemCache
        Cache of the problems of the ledger.
    events : sequence of NewEvent
        The events.

    Returns
    -------
    list of Outcome or None
        One outcome for each event, in the same order. None if nothing was recorded: some event is
        not feedback, or is rejected, or its problem is not cached, or its recording requires
        further reads or changes of rows, or another writer has added events that may affect it.
    """
    feedback = [event for event in events if type(event) is Feedback]
    if not feedback or len(feedback) < len(events) or len(events) > MAX_ROWS_PER_INSERT:
        return None
    ids = sorted({event.episode for event in feedback if is_id(event.episode)})
    read, write = _statements(store.writer.dialect)
    with store.autocommitting() as driver:
        parameters = {"ids": json.dumps(ids)}
        cursor = driver.cursor()
        rows = cursor.execute(read, parameters, prepare=True).fetchall()
        if not rows:  # no episode exists
            return None
        last = rows[0][0]
        connection = cast("sa.Connection", _NoConnection())
        transaction = Transaction(connection, problems, last=last, at=store.now())
        transaction.set_episodes(ids, (row[1:] for row in rows))
        try:
            outcomes = [record_feedback(transaction, event) for event in feedback]
        except LockNeededError:
            return None
        if transaction.seq == last:  # everything is already recorded
            return outcomes
        pending = transaction.pending_rows
        if any(pending[table] for table in pending if table not in (schema.events, schema.claims)):
            return None
        parameters |= {
            "last": last,
            "events": encode_rows(pending[schema.events]),
            "claims": encode_rows(pending[schema.claims]),
        }
        with driver.pipeline():  # one transaction, which is committed at the end of the pipeline
            driver.execute(LOCK_STATEMENT, prepare=True)
            cursor.execute(write, parameters, prepare=True)
        moved = cursor.fetchone()
    return None if moved is None else [_move(outcome, last, moved[0]) for outcome in outcomes]


def _move(outcome: Outcome, last: int, distance: int) -> Outcome:
    """Add `distance` to the seq in `outcome` if it is that of a new event, one after `last`."""
    if distance and isinstance(outcome, Recorded | AlreadyRecorded) and outcome.seq > last:
        return replace(outcome, seq=outcome.seq + distance)
    return outcome


@lru_cache(maxsize=8)
def _statements(dialect: sa.Dialect) -> tuple[str, str]:
    """Return the statement that reads episodes, and the one that inserts events and claims.

    The first column of the read is the seq of the last event. The insertion adds to each seq the
    number of events that were recorded after this one, and returns this number. It inserts and
    returns nothing if one of these events changes an episode in question. Such an event names the
    episode, except for withdrawals, any of which may affect it.
    """
    read = (
        "SELECT last, found.* FROM (SELECT max(seq) AS last FROM events) AS newest, "
        f"({EPISODE_QUERIES['postgresql'].compile(dialect=dialect)}) AS found"
    )
    events, claims = (
        postgres_insert(table, dialect, f"%({table.name})s", "moved")
        for table in (schema.events, schema.claims)
    )
    # The later events are looked up one by one: a scan of all events is never the better plan.
    write = f"""
        WITH newest AS (SELECT max(seq) AS last FROM events),
        moved AS (
            SELECT last - %(last)s AS distance FROM newest WHERE NOT EXISTS (
                SELECT FROM generate_series(%(last)s::BIGINT + 1, last) AS later(seq), LATERAL (
                    SELECT kind, episode FROM events WHERE events.seq = later.seq OFFSET 0
                ) AS event
                WHERE kind = 'withdrawn'
                OR episode IN (SELECT json_array_elements_text(%(ids)s))
            )
        ),
        add_events AS ({events}),
        add_claims AS ({claims})
        SELECT distance FROM moved"""
    return read, write
