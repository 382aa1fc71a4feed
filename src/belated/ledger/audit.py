"""Audit of a ledger, and copies that are compared with the original.

A derived table holds data that follow from the events. An audit compares events with their digests,
builds the derived tables once more, from the events alone, in an empty database, and names the
first row that differs.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from belated.check import check_text
from belated.ledger import schema
from belated.ledger.content import parse_content
from belated.ledger.events import Event
from belated.ledger.kinds import KINDS
from belated.ledger.policies import digest_policy
from belated.ledger.problems import ProblemSpec
from belated.ledger.schema import digest
from belated.ledger.store import PAGE_SIZE, Store
from belated.ledger.transaction import ProblemCache, Transaction, insert_rows

if TYPE_CHECKING:
    from belated.ledger.ledger import Ledger

_SUBJECTS: Final = schema.subjects.c

MAX_FAULTS: Final = 100
"""Maximum number of messages of a check of events or indexes."""

DERIVED: Final[dict[sa.Table, tuple[sa.ColumnElement[Any], ...]]] = {
    table: tuple(table.c[name] for name in names.split())
    for table, names in {
        schema.problems: "id name archived",
        schema.episodes: "problem number id version seq withdrawn lost",
        schema.claims: "episode seqs replaced",
        schema.policies: "problem version seq tick sha",
        schema.events: "seq redacted",
        schema.ledger: "events sha",
    }.items()
} | {schema.subjects: (_SUBJECTS.episode, _SUBJECTS.subject.is_(None).label("withdrawn"))}
"""Map from each table that follows from the events, at least in part, to the columns that an audit
compares; it reads the rows in order of these columns. A publication does not contain its policy,
only the digest."""


def digest_events(events: Iterable[Event]) -> str:
    """Return one SHA-256 digest of all `events`. Redacting an event does not change the digest."""
    total = sha256()
    for event in events:
        facts = (event.seq, event.problem, event.episode, event.kind, event.at, event.sha)
        # SQLite does not enforce the types of columns
        total.update(json.dumps(facts, separators=(",", ":"), default=repr).encode())
    return total.hexdigest()


def find_event_fault(event: Event) -> str | None:
    """Return a message if the stored `event` is faulty, else None.

    An event is faulty if its content does not match its digest, or if it is redacted but some of
    its content is still stored.
    """
    text, salt = event.text, event.salt or b""
    if event.redacted:
        if (text, event.salt, event.event_time) != (None, None, None):
            return f"Event {event.seq} is redacted, but not all of its content is deleted."
    # SQLite does not enforce the types of columns
    elif not (isinstance(text, str) and isinstance(salt, bytes)) or digest(text, salt) != event.sha:
        return f"Event {event.seq} has been changed: digest mismatch."
    return None


def find_content_fault(event: Event, spec: ProblemSpec) -> str | None:
    """Return a message if `event` has content that is not valid for its problem, else None.

    `spec` is the specification of the problem.
    """
    if event.text is None:
        return None
    try:
        if event.kind in ("feedback", "corrected"):
            parse_content(event.body, spec)
        elif event.kind == "lost":
            check_text("reason", event.body["reason"])
    except Exception as error:  # content that is not JSON, or malformed in any other way
        return f"Event {event.seq} has invalid content. {error}"
    return None


def check_events(events: Iterable[Event]) -> Iterator[str]:
    """Yield a message for each event that is missing, changed or redacted incompletely.

    `events` must be all events of a ledger, in order of their sequence numbers.
    """
    expected = 1
    for event in events:
        if event.seq != expected:
            yield f"Event {expected} is missing."
        expected = event.seq + 1
        fault = find_event_fault(event)
        if fault is not None:
            yield fault


def check_database(store: Store) -> list[str]:
    """Return a message for each inconsistency between a table and an index, in SQLite.

    Queries may read a value from an index, so that a damaged copy in the table would go unnoticed.
    The list is empty if `store` is a PostgreSQL database. At most `MAX_FAULTS` messages are
    returned.
    """
    if store.on_postgres:
        return []
    with store.reading() as connection:
        rows = connection.exec_driver_sql(f"PRAGMA integrity_check({MAX_FAULTS})").scalars()
        return [f"The database is damaged: {row}." for row in rows if row != "ok"]


def check_tables(store: Store, problem: int | None = None) -> list[str]:
    """Rebuild the derived tables in an empty database, and compare them with those in `store`.

    Parameters
    ----------
    store : Store
        Database of the ledger.
    problem : int, optional
        Id of the only problem whose rows are compared; None for all.

    Returns
    -------
    list of str
        A message for the first event that cannot be applied; if there is none, for the first row of
        each table that differs.
    """
    with (
        tempfile.TemporaryDirectory(prefix="belated-") as folder,  # readable by its owner only
        store.consistent_reading() as stored,
    ):
        new = Store.open(f"sqlite:///{Path(folder, 'audit.db')}")
        try:
            driver: Any = new.writer.raw_connection()
            driver.execute("PRAGMA foreign_keys = OFF")  # events may name what is missing
            driver.close()
            with new.writing() as rebuilt:
                schema.metadata.create_all(rebuilt)
                rebuilt.execute(sa.insert(schema.ledger).values(id="", events=0, digest_version=1))
                faults = _rebuild(stored, rebuilt, problem)
                if faults:
                    return faults
                for table, columns in DERIVED.items():
                    if problem is None or table is not schema.ledger:  # it ends with any problem
                        rows = (_read_rows(c, table, columns, problem) for c in (stored, rebuilt))
                        faults += _compare(table, *rows)
                return faults
        finally:
            new.close()


def _rebuild(stored: sa.Connection, rebuilt: sa.Connection, problem: int | None) -> list[str]:
    """Let the tables of `rebuilt` follow the events; return a message for the first that fails.

    Events are copied without their content, and subjects as they are; withdrawals blank them.
    """
    subjects = _read_rows(stored, schema.subjects, tuple(_SUBJECTS), problem)
    while rows := list(islice(subjects, PAGE_SIZE)):
        insert_rows(rebuilt, schema.subjects, rows)
    events = _read_events(stored, problem)
    while page := list(islice(events, PAGE_SIZE)):
        transaction = Transaction(rebuilt, ProblemCache(), last=page[-1].seq, at=0)
        transaction.last_sha = page[-1].sha
        transaction.reload_episodes(sorted({e.episode for e in page if isinstance(e.episode, str)}))
        for event in page:
            row = event._asdict() | {"body": None, "salt": None, "redacted": False}
            transaction.add_row(schema.events, **row)
            try:
                KINDS[event.kind].follow(transaction, event)
            except (ValueError, KeyError, TypeError, sa.exc.IntegrityError) as error:
                reason = f"{type(error).__name__}: {error}"
                return [f"The tables cannot follow event {event.seq}. {reason}"]
        try:
            transaction.flush()
        except sa.exc.IntegrityError as error:
            seqs = f"{page[0].seq} to {page[-1].seq}"
            return [f"The tables cannot follow events {seqs}. {error.orig}"]
    return []


def _read_events(connection: sa.Connection, problem: int | None = None) -> Iterator[Event]:
    query = sa.select(schema.events).order_by(schema.events.c.seq)
    if problem is not None:
        query = query.where(schema.events.c.problem == problem)
    return map(Event._make, _stream(connection, query))


def _stream(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[Any]:
    with connection.execute(query, execution_options={"yield_per": PAGE_SIZE}) as rows:
        yield from rows


def _read_rows(
    connection: sa.Connection,
    table: sa.Table,
    columns: Sequence[sa.ColumnElement[Any]],
    problem: int | None,
) -> Iterator[dict[str, Any]]:
    """Yield the `columns` of the rows of `table`, of one problem or all."""
    query = sa.select(*columns).order_by(*columns[:2])
    if problem is not None and "episode" in table.primary_key.columns:
        episodes = schema.episodes.c
        openings = sa.select(episodes.seq).where(episodes.problem == problem)
        query = query.where(table.c.episode.in_(openings))
    elif problem is not None:
        column = table.c.id if table is schema.problems else table.c.problem
        query = query.where(column == problem)
    return (dict(row._mapping) for row in _stream(connection, query))


def _compare(
    table: sa.Table, stored: Iterator[dict[str, Any]], rebuilt: Iterator[dict[str, Any]]
) -> list[str]:
    """Return a message for the first row in which a stored table differs from the rebuilt one."""
    for found, expected in zip_longest(stored, rebuilt):
        if found != expected:
            return [
                f"The table {table.name} differs from the events: the first row that differs must "
                f"be {json.dumps(expected)}, got {json.dumps(found, default=repr)}."
            ]
    return []


def check_policies(store: Store, problem: int) -> list[str]:
    """Return a message for each stored policy of a problem that does not match its digest."""
    table = schema.policies.c
    query = sa.select(table.version, table.actions, table.explore, table.epsilon, table.sha)
    with store.reading() as connection:
        rows = connection.execute(query.where(table.problem == problem).order_by(table.version))
        return [
            f"Version {row.version} has been changed since it was published: digest mismatch."
            for row in rows
            if digest_policy(row.actions, row.explore, row.epsilon) != row.sha
        ]


TABLES: Final = [table for table in schema.metadata.sorted_tables if table is not schema.ledger]
"""Tables to copy; of the table `ledger`, all but the identity, since a copy is another ledger."""


def copy(source: "Ledger", target: "Ledger") -> dict[str, int]:
    """Copy all rows of `source` to the empty ledger `target` in one transaction.

    Returns a dict that maps the name of each table to the number of copied rows. Raises ValueError
    if `target` is not empty. Before the transaction is committed, the digests of all events of the
    two ledgers are compared. If they differ, RuntimeError is raised and nothing is copied.
    """
    with (
        source.store.consistent_reading() as old,
        target.store.writing(limited=False) as new,
    ):
        for table in TABLES:
            if new.execute(sa.select(table).limit(1)).first() is not None:
                raise ValueError(
                    f"target must be an empty ledger, but its table {table.name} has rows."
                )
        counts = {table.name: _copy_table(table, old, new) for table in TABLES}
        end = dict(old.execute(sa.select(schema.ledger)).mappings().one())
        del end["id"]
        new.execute(sa.update(schema.ledger).values(**end))
        if digest_events(_read_events(old)) != digest_events(_read_events(new)):
            raise RuntimeError("Digest mismatch: the events of the ledger and its copy differ.")
    return counts


def _copy_table(table: sa.Table, old: sa.Connection, new: sa.Connection) -> int:
    """Copy the rows of `table` in order of the primary key, and return their number."""
    count, rows = 0, _stream(old, sa.select(table).order_by(*table.primary_key))
    while page := [dict(row._mapping) for row in islice(rows, PAGE_SIZE)]:
        new.execute(sa.insert(table), page)
        count += len(page)
    return count
