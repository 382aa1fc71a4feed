"""Audit of a ledger, and copies that are compared with the original.

A derived table holds data that follow from the events. An audit compares events with their digests,
builds the derived tables once more, from the events alone, in an empty database, and names the
first row that differs.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.events import Event, chunk_ids
from belated.ledger.kinds import KINDS
from belated.ledger.policies import digest_policy
from belated.ledger.problems import ProblemCache, ProblemSpec
from belated.ledger.schema import digest
from belated.ledger.store import PAGE_SIZE, Store
from belated.ledger.transaction import Transaction

if TYPE_CHECKING:
    from belated.ledger.ledger import Ledger

MAX_FAULTS: Final = 100
"""Maximum number of messages that a check returns."""

DERIVED: Final[dict[sa.Table, tuple[str, ...]]] = {
    schema.problems: ("id", "name", "archived"),
    schema.episodes: ("problem", "number", "id", "version", "seq", "withdrawn", "lost"),
    schema.claims: ("episode", "seqs", "replaced"),
    schema.policies: ("problem", "version", "seq", "tick", "sha"),
}
"""Map from each derived table to the columns that an audit compares; it reads the rows in order of
these columns. A publication does not contain its policy, only the digest."""


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
    """Return a message if the content of `event` is not valid for its problem, else None.

    `spec` is the specification of the problem. The check is that of `belated.ledger.kinds`.
    """
    if event.text is None:
        return None
    try:
        KINDS[event.kind].check_body(event.body, spec)
    except Exception as error:  # content that is not JSON, or malformed in any other way
        return f"Event {event.seq} has invalid content. {error}"
    return None


def check_events(events: Iterable[Event]) -> list[str]:
    """Return a message for each event that is missing, changed or redacted incompletely.

    `events` must be all events of a ledger, in order of their sequence numbers. The check stops
    after `MAX_FAULTS` messages.
    """
    faults = []
    expected = 1
    for event in events:
        if event.seq != expected:
            faults.append(f"Event {expected} is missing.")
        expected = event.seq + 1
        fault = find_event_fault(event)
        if fault is not None:
            faults.append(fault)
        if len(faults) >= MAX_FAULTS:
            break
    return faults


def check_end(store: Store) -> list[str]:
    """Return a message if the ledger does not end with the event that was recorded last."""
    events = schema.events.c
    with store.consistent_reading() as connection:
        known = connection.execute(sa.select(schema.ledger)).one()
        query = sa.select(events.seq, events.sha).order_by(events.seq.desc()).limit(1)
        last = connection.execute(query).first()
    seq, sha = (0, None) if last is None else (last.seq, last.sha)
    if (seq, sha) == (known.events, known.sha):
        return []
    return [
        f"The ledger must end with event {known.events} and the digest {known.sha}, "
        f"got event {seq} with the digest {sha}."
    ]


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
        A message for the first row of each table that differs, for the first event that cannot be
        applied, for the first event that is redacted or not as its episode is withdrawn, and for
        the first subject that should not be stored.
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
                faults = _rebuild(_read_events(stored, problem), rebuilt)
                for table, columns in DERIVED.items():
                    rows = (_read_rows(c, table, columns, problem) for c in (stored, rebuilt))
                    faults += _compare(table, columns, *rows)
                return [*faults, *_check_redaction(stored, rebuilt, problem)]
        finally:
            new.close()


def _read_events(connection: sa.Connection, problem: int | None) -> Iterator[Event]:
    query = sa.select(schema.events).order_by(schema.events.c.seq)
    if problem is not None:
        query = query.where(schema.events.c.problem == problem)
    return (Event._make(row) for row in _stream(connection, query))


def _stream(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[Any]:
    with connection.execute(query, execution_options={"yield_per": PAGE_SIZE}) as rows:
        yield from rows


def _rebuild(events: Iterator[Event], connection: sa.Connection) -> list[str]:
    """Let the tables of `connection` follow `events`; return a message for the first that fails."""
    faults: list[str] = []
    while page := list(islice(events, PAGE_SIZE)):
        transaction = Transaction(connection, ProblemCache(), last=0, at=0)
        transaction.reload_episodes(sorted({e.episode for e in page if isinstance(e.episode, str)}))
        for event in page:
            try:
                KINDS[event.kind].follow(transaction, event)
            except (ValueError, KeyError, TypeError, sa.exc.IntegrityError) as error:
                reason = f"{type(error).__name__}: {error}"
                faults.append(f"The tables cannot follow event {event.seq}. {reason}")
        try:
            transaction.flush()
        except sa.exc.IntegrityError as error:
            faults.append(
                f"The tables cannot follow events {page[0].seq} to {page[-1].seq}. {error.orig}"
            )
    return faults[:1]


def _read_rows(
    connection: sa.Connection, table: sa.Table, columns: tuple[str, ...], problem: int | None
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `table`, of one problem or all, as tuples of the `columns`."""
    query = sa.select(*(table.c[name] for name in columns))
    query = query.order_by(*(table.c[name] for name in columns[:2]))
    if problem is not None and table is schema.claims:
        episodes = schema.episodes.c
        query = query.where(
            table.c.episode.in_(sa.select(episodes.seq).where(episodes.problem == problem))
        )
    elif problem is not None:
        query = query.where(table.c[columns[0]] == problem)
    return map(tuple, _stream(connection, query))


def _compare(
    table: sa.Table,
    columns: tuple[str, ...],
    stored: Iterator[tuple[Any, ...]],
    rebuilt: Iterator[tuple[Any, ...]],
) -> list[str]:
    """Return a message for the first row in which a stored table differs from the rebuilt one."""
    while True:
        found, expected = next(stored, None), next(rebuilt, None)
        if found != expected:
            break
        if found is None:
            return []
    ours, theirs = (
        None if row is None else dict(zip(columns, row, strict=True)) for row in (expected, found)
    )
    return [
        f"The table {table.name} differs from the events: the first row that differs must be "
        f"{json.dumps(ours)}, got {json.dumps(theirs, default=repr)}."
    ]


def _check_redaction(
    stored: sa.Connection, rebuilt: sa.Connection, problem: int | None
) -> Iterator[str]:
    """Yield messages about content of withdrawn episodes that is stored, and content that is not.

    `rebuilt` is the connection to the database with the rebuilt tables.
    """
    episodes, events, subjects = schema.episodes.c, schema.events.c, schema.subjects.c
    gone = {
        row.id: row.seq
        for row in rebuilt.execute(
            sa.select(episodes.id, episodes.seq).where(episodes.withdrawn.is_not(None))
        )
    }
    personal = [kind for kind, each in KINDS.items() if each.is_personal]
    query = sa.select(events.seq, events.episode, events.redacted).where(events.kind.in_(personal))
    if problem is not None:
        query = query.where(events.problem == problem)
    for seq, episode, redacted in _stream(stored, query.order_by(events.seq)):
        if redacted and episode not in gone:
            yield f"Event {seq} is redacted, but its episode was not withdrawn."
            break
        if not redacted and episode in gone:
            yield f"Event {seq} belongs to a withdrawn episode, but is not redacted."
            break
    for seqs in chunk_ids(sorted(gone.values())):
        kept = sa.select(subjects.episode).where(
            subjects.episode.in_(seqs), subjects.subject.is_not(None)
        )
        for seq in stored.scalars(kept.limit(1)):
            yield f"Event {seq} opens a withdrawn episode, but its subject is still stored."
            return


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


ROWS_PER_INSERT: Final = 500

TABLES: Final = [table for table in schema.metadata.sorted_tables if table is not schema.ledger]
"""Tables to copy; of the table `ledger`, all but the identity, since a copy is another ledger."""


def copy(source: "Ledger", target: "Ledger") -> dict[str, int]:
    """Copy all rows of `source` to the empty ledger `target` in one transaction.

    Returns a dict that maps the name of each table to the number of copied rows. Raises ValueError
    if `target` is not empty. Before the transaction is committed, the two ledgers are compared: the
    number of rows of each table, and the digest of all events. If they differ, RuntimeError is
    raised and nothing is copied.
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
        rows = {table.name: _copy_table(table, old, new) for table in TABLES}
        end = dict(old.execute(sa.select(schema.ledger)).mappings().one())
        del end["id"]
        new.execute(sa.update(schema.ledger).values(**end))
        for table in TABLES:
            found = new.scalar(sa.select(sa.func.count()).select_from(table))
            if found != rows[table.name]:
                raise RuntimeError(
                    f"The copy of table {table.name} must have {rows[table.name]} rows, "
                    f"got {found}."
                )
        if _digest(old) != _digest(new):
            raise RuntimeError("Digest mismatch: the events of the ledger and its copy differ.")
    return rows


def _copy_table(table: sa.Table, old: sa.Connection, new: sa.Connection) -> int:
    count = 0
    for rows in _partitions(table, old):
        new.execute(sa.insert(table), [dict(row._mapping) for row in rows])
        count += len(rows)
    return count


def _digest(connection: sa.Connection) -> str:
    rows: Iterable[Any] = (row for rows in _partitions(schema.events, connection) for row in rows)
    return digest_events(map(Event._make, rows))


def _partitions(table: sa.Table, connection: sa.Connection) -> Iterator[Any]:
    """Return an iterator over the rows of `table`, in order of their primary key.

    Each item is a list of at most `ROWS_PER_INSERT` rows.
    """
    query = sa.select(table).order_by(*table.primary_key)
    return connection.execution_options(yield_per=ROWS_PER_INSERT).execute(query).partitions()
