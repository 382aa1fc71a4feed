"""Write transaction of a ledger: lookup of problems and episodes; insertion of events and rows."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

from belated.check import is_id
from belated.ledger import schema
from belated.ledger.events import (
    DataWithdrawn,
    EpisodeRecord,
    Event,
    NewEvent,
    NotFound,
    Recorded,
    chunk_ids,
    read_episodes,
)
from belated.ledger.policies import EncodedPolicy
from belated.ledger.problems import Problem, ProblemSpec
from belated.ledger.schema import SALT_BYTES, canonical, digest

MAX_PARAMETERS_PER_INSERT: Final = 10_000
"""Maximum number of values in one INSERT statement of SQLite, which allows three times as many."""

MAX_ROWS_PER_INSERT: Final = 1000
"""Maximum number of rows in one INSERT statement of PostgreSQL."""

EVENT_COLUMNS: Final = [column.name for column in schema.events.columns]
"""Names of the columns of the table of events, in the order of the fields of an `Event`."""


class ProblemCache:
    """Cache of the problems of a ledger. A problem is read only once, since it never changes."""

    def __init__(self) -> None:
        self._known: dict[int, Problem] = {}
        self.damaged: dict[int, str] = {}
        """Map from the id of each problem whose definition was found damaged to a message."""

    def get(self, connection: sa.Connection, id: int) -> Problem | None:
        """Return the problem with the id `id`; None if there is no such problem.

        A problem that is not cached is read from the database over `connection`. Raises ValueError
        if the definition of the problem is damaged.
        """
        if id not in self._known:
            events = schema.events.c
            query = sa.select(events.body, events.sha)
            query = query.where(events.seq == id, events.kind == "defined")
            row = connection.execute(query).first()
            if row is None:
                return None
            try:
                if digest(row.body) != row.sha:
                    raise ValueError("digest mismatch")
                self._known[id] = Problem(id, ProblemSpec.of(json.loads(row.body)))
            except (ValueError, TypeError, AttributeError) as error:
                reason = str(error).rstrip(".")
                self.damaged[id] = f"Event {id}, which defines a problem, is damaged: {reason}."
                raise ValueError(self.damaged[id]) from None
        return self._known[id]

    def find(self, connection: sa.Connection, name: str) -> Problem | None:
        """Return the problem with the name `name`; None if there is no such problem.

        The database is read over `connection`. Raises ValueError if the definition of the problem
        is damaged.
        """
        problems = schema.problems.c
        id = connection.scalar(sa.select(problems.id).where(problems.name == name))
        return None if id is None else self.get(connection, id)

    def all(self, connection: sa.Connection) -> list[Problem]:
        """Return all problems, oldest first. The database is read over `connection`.

        Problems with a damaged definition are omitted; see `damaged`.
        """
        ids = connection.scalars(sa.select(schema.problems.c.id).order_by(schema.problems.c.id))
        found = []
        for id in ids.all():
            with suppress(ValueError):
                found.append(self.get(connection, id))
        return [problem for problem in found if problem is not None]


class Transaction:
    """Open write transaction of a ledger.

    New rows are kept in memory until `flush`. Lookups include these rows, so that each of several
    new events is compared with the events before it.

    Parameters
    ----------
    connection : sa.Connection
        Connection with an open write transaction.
    problems : ProblemCache
        Cache of the problems of the ledger.
    last : int
        Sequence number of the last event; 0 if there is none.
    at : int
        Time of recording, in microseconds since 1970 (UTC).
    """

    def __init__(
        self, connection: sa.Connection, problems: ProblemCache, *, last: int, at: int
    ) -> None:
        self.at = at
        self.seq = last
        """Sequence number of the last event, including events that are not yet inserted."""
        self.redacted = False
        """Whether data has been redacted in this transaction."""
        self.keys: dict[str, str] | None = None
        """Map from each idempotency key that was loaded or added to the digest of its request; None
        until the keys were loaded."""
        self.last_key_id = 0
        """Id of the last stored response, if the idempotency keys were loaded."""
        self.last_ticks: dict[int, tuple[int, int]] = {}
        """Map from the id of a problem to a pair: the seq of its last tick, and the seq at which
        the batch of this tick ends. Only ticks that were loaded or added are contained."""
        self.events: Collection[NewEvent] = ()
        """Events to be recorded, as given to `load_episodes`."""
        self.connection = connection
        self.policy: EncodedPolicy | None = None
        """Policy of the next publication; None while tables are rebuilt, which omits policies."""
        self._problems = problems
        self._new_problems: dict[int, Problem] = {}
        # foreign keys refer to earlier tables
        self._rows: dict[sa.Table, list[dict[str, Any]]] = {
            table: [] for table in schema.metadata.sorted_tables
        }
        self._claims: dict[int, dict[str, Any]] = {}  # changed rows, by seq of the opening
        self._episodes: dict[str, EpisodeRecord | None] = {}
        self._events: dict[int, Event] = {}  # those loaded or added, by seq
        self._max_values: dict[tuple[sa.Column[Any], int], int] = {}
        self._archived: dict[int, int | None] = {}
        self.last_sha: str | None = None  # of the last new event

    def load_episodes(self, events: Collection[NewEvent]) -> None:
        """Load all episodes to which `events` refer in few queries."""
        self.events = events
        ids = {getattr(event, name, None) for event in events for name in ("id", "episode")}
        self.reload_episodes(sorted(str(id) for id in ids if is_id(id)))

    def reload_episodes(self, ids: Sequence[str]) -> None:
        """Load the episodes `ids` from the database, even if already loaded."""
        self.flush()
        self._episodes |= dict.fromkeys(ids)
        self._episodes |= read_episodes(self.connection, ids)

    def episode(self, id: str) -> EpisodeRecord | None:
        """Return the record of the episode `id`; None if it does not exist or was not loaded."""
        return self._episodes.get(id)

    def find_episode(
        self, id: str, problem: int | None = None
    ) -> EpisodeRecord | NotFound | DataWithdrawn:
        """Return the record of the episode `id`, or the outcome of an event that refers to it.

        An episode that was withdrawn, or that belongs to another problem than the one with the id
        `problem`, has no record here.
        """
        episode = self.episode(id)
        if episode is None or problem not in (None, episode.problem):
            where = "" if problem is None else " of this problem"
            return NotFound(f"There is no episode {id[:64]!r}{where}.")
        if episode.withdrawn is not None:
            return DataWithdrawn(f"Episode {id} has been withdrawn.", episode.withdrawn)
        return episode

    def get_episode(self, event: Event) -> EpisodeRecord:
        """Return the record of the episode of `event`; raise ValueError if there is none."""
        episode = self.episode(event.episode or "")
        if episode is None:
            raise ValueError(f"There is no episode {event.episode!r}.")
        return episode

    def spec(self, episode: EpisodeRecord) -> ProblemSpec:
        """Return the specification of the problem of `episode`."""
        problem = self.problem(episode.problem)
        assert problem is not None
        return problem.spec

    def problem(self, id: int) -> Problem | None:
        """Return the problem with the id `id`; None if there is no such problem."""
        return self._new_problems.get(id) or self._problems.get(self.connection, id)

    def find_problem(self, name: str) -> Problem | None:
        """Return the problem with the name `name`; None if there is no such problem."""
        new = [problem for problem in self._new_problems.values() if problem.name == name]
        return new[0] if new else self._problems.find(self.connection, name)

    def max_value(self, column: sa.Column[Any], problem: int) -> int:
        """Return the maximum of `column` over the rows of its table that belong to a problem.

        `problem` is the id of the problem. The result is 0 if there are no such rows.
        """
        if (column, problem) not in self._max_values:
            query = sa.select(sa.func.max(column)).where(column.table.c.problem == problem)
            self._max_values[column, problem] = self.execute(query).scalar() or 0
        return self._max_values[column, problem]

    def archived(self, problem: int) -> int | None:
        """Return the seq of the event that archived `problem`; None if it is not archived."""
        if problem not in self._archived:
            query = sa.select(schema.problems.c.archived).where(schema.problems.c.id == problem)
            self._archived[problem] = self.execute(query).scalar_one()
        return self._archived[problem]

    def set_archived(self, problem: int, seq: int | None) -> None:
        """Store that the event `seq` archived `problem`, or None that it is not archived."""
        self._archived[problem] = seq
        table = schema.problems
        self.execute(sa.update(table).where(table.c.id == problem).values(archived=seq))

    def last_tick(self, problem: int) -> tuple[int, int]:
        """Return the seq of the last tick of `problem`, and the seq at which its batch ends.

        Both are 0 if there is no tick.
        """
        if problem not in self.last_ticks:
            events = schema.events.c
            query = sa.select(events.seq, events.body).order_by(events.seq.desc()).limit(1)
            query = query.where(events.problem == problem, events.kind == "tick")
            row = self.connection.execute(query.where(sa.text(schema.RARE))).first()
            self.last_ticks[problem] = (row.seq, json.loads(row.body)["upto"]) if row else (0, 0)
        return self.last_ticks[problem]

    def add_event(
        self, new: NewEvent, body: Any, *, problem: int | None = None, episode: str | None = None
    ) -> Recorded:
        """Append an event, let the derived tables follow it, and return the outcome.

        Parameters
        ----------
        new : NewEvent
            The new event.
        body : Any
            Body of the event, which becomes canonical JSON.
        problem : int, optional
            Id of the problem; None if the event defines a problem, whose id is then the sequence
            number of the event.
        episode : str, optional
            Id of the episode; None if the event does not belong to a single episode.

        Returns
        -------
        Recorded
            Outcome with the sequence number of the event.
        """
        self.seq += 1
        # a salt keeps redacted content from being guessed from its digest
        salt = os.urandom(SALT_BYTES) if new.is_personal else None
        text = canonical(body)
        sha = self.last_sha = digest(text, salt or b"")
        problem = self.seq if problem is None else problem
        times = self.at, new.event_time
        event = Event(self.seq, problem, episode, new.kind, *times, text, salt, sha, redacted=False)
        self._events[event.seq] = event
        self._rows[schema.events].append(dict(zip(EVENT_COLUMNS, event, strict=True)))
        new.follow(self, event)
        return Recorded(event.seq)

    def read_events(self, seqs: Sequence[int]) -> list[Event]:
        """Return the events `seqs`, which must not be redacted.

        The first call that has to read an event reads the valid feedback of all episodes that were
        loaded, in few queries. New events are not inserted for this, since that would prevent the
        insertion of many rows with one statement.
        """
        if any(seq not in self._events for seq in seqs):
            feedback = {seq for each in self._episodes.values() if each for seq in each.feedback}
            events = schema.events
            for chunk in chunk_ids(sorted((feedback | {*seqs}) - self._events.keys())):
                rows = self.connection.execute(sa.select(events).where(events.c.seq.in_(chunk)))
                self._events |= {row.seq: Event._make(row) for row in rows}
        return [self._events[seq] for seq in seqs]

    def add_problem(self, problem: Problem) -> None:
        """Let later lookups find `problem`, which the last event has defined."""
        self._new_problems[problem.id] = problem

    def add_subject(self, id: str, subject: str) -> None:
        """Store the subject of the episode `id`, which the last event has opened."""
        episode = self._episodes[id]
        assert episode is not None
        self._episodes[id] = replace(episode, subject=subject)
        self.add_row(schema.subjects, episode=episode.seq, subject=subject)

    def add_episode(self, episode: EpisodeRecord) -> None:
        """Add `episode` to the table of episodes."""
        self._episodes[episode.id] = episode
        self._max_values[schema.episodes.c.number, episode.problem] = episode.number
        self.add_row(schema.episodes, **vars(episode))

    def set_lost(self, episode: EpisodeRecord, seq: int | None) -> None:
        """Store that the event `seq` declared `episode` lost, or None that it is not lost."""
        self._episodes[episode.id] = replace(episode, lost=seq)
        table = schema.episodes
        self.execute(sa.update(table).where(table.c.id == episode.id).values(lost=seq))

    def set_feedback(
        self, episode: EpisodeRecord, feedback: tuple[int, ...], replaced: tuple[int, ...]
    ) -> None:
        """Store which events hold the feedback of `episode`, which is then no longer lost.

        `feedback` and `replaced` are the sequence numbers of the events with its valid feedback,
        and of those that a correction has replaced.
        """
        if episode.lost is not None:
            self.set_lost(episode, None)
        seqs, earlier = (",".join(map(str, each)) for each in (feedback, replaced))
        self._claims[episode.seq] = {"episode": episode.seq, "seqs": seqs, "replaced": earlier}
        self._episodes[episode.id] = replace(
            episode, feedback=feedback, replaced=replaced, lost=None
        )

    def add_version(self, problem: int, version: int, **row: Any) -> None:
        """Add a published version to the table of policies."""
        self._max_values[schema.policies.c.version, problem] = version
        self.add_row(schema.policies, problem=problem, version=version, **row)

    def add_row(self, table: sa.Table, **row: Any) -> None:
        """Add `row` to the rows of `table` that are to be inserted."""
        self._rows[table].append(row)

    def delete_snapshots(self, problem: int, *, since: int) -> None:
        """Delete the snapshots of `problem` that include the event with seq `since`."""
        snapshots = schema.snapshots
        mine = (snapshots.c.problem == problem, snapshots.c.seq >= since)
        self.execute(sa.delete(snapshots).where(*mine))

    def execute(self, statement: sa.Executable, **parameters: Any) -> sa.CursorResult[Any]:
        """Insert all pending rows, execute `statement` with `parameters`, and return its result."""
        self.flush()
        return self.connection.execute(statement, parameters or None)

    def flush(self) -> None:
        """Insert all pending rows into the database."""
        for table, rows in self._rows.items():
            if rows:
                insert_rows(self.connection, table, rows)
                self._rows[table] = []
        if self._claims:
            insert_rows(self.connection, schema.claims, list(self._claims.values()))
            self._claims = {}
        if self.last_sha is not None:
            end = {"events": self.seq, "sha": self.last_sha}
            self.connection.execute(sa.update(schema.ledger).values(**end))
            self.last_sha = None

    def commit(self) -> None:
        """Insert all pending rows, and commit the transaction.

        On PostgreSQL, both are sent in one round trip: other writers wait for the commit, so that
        each further round trip would delay all of them.
        """
        transaction = self.connection.get_transaction()
        assert transaction is not None
        driver: Any = self.connection.connection.dbapi_connection
        pipeline = getattr(driver, "pipeline", nullcontext)  # psycopg has one, sqlite3 has not
        try:
            with pipeline():
                self.flush()
                transaction.commit()
        except BaseException:
            # SQLAlchemy assumes that a failed commit has ended the transaction, but the server
            # skips the commit if an insertion in the same pipeline fails
            with suppress(Exception):
                driver.rollback()
            raise


def insert_rows(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert many rows in few statements; rows of claims replace those of the same episode.

    The database driver releases Python's interpreter lock at each statement. With one statement
    for each row, other threads could interrupt the insertion after each row.

    Parameters
    ----------
    connection : sa.Connection
        Connection with an open write transaction.
    table : sa.Table
        Table to insert into.
    rows : sequence of mappings
        Rows to insert. Each row maps the name of every column to None, a number, a text, a boolean
        or bytes; other keys are ignored.
    """
    if connection.dialect.name == "postgresql":
        for first in range(0, len(rows), MAX_ROWS_PER_INSERT):
            chunk = rows[first : first + MAX_ROWS_PER_INSERT]
            parameter = json.dumps(chunk, default=bytes.hex, ensure_ascii=False)
            connection.exec_driver_sql(_postgres_insert(table, connection.dialect), (parameter,))
        return
    names = [column.name for column in table.columns]
    size = MAX_PARAMETERS_PER_INSERT // len(names)
    for first in range(0, len(rows), size):
        chunk = rows[first : first + size]
        statement = _sqlite_insert(table, len(chunk))
        parameters = tuple([row[name] for row in chunk for name in names])  # not a generator: fast
        connection.exec_driver_sql(statement, parameters)


def _conflict(table: sa.Table) -> str:
    if table is not schema.claims:
        return ""
    return " ON CONFLICT (episode) DO UPDATE SET seqs = excluded.seqs, replaced = excluded.replaced"


@lru_cache(maxsize=256)
def _postgres_insert(table: sa.Table, dialect: sa.Dialect) -> str:
    """Return a statement that inserts the rows in one parameter, a list of objects as JSON.

    A statement with a parameter for each value would take twice as long, and could not be prepared,
    since its text depends on the number of rows. Bytes are given in hexadecimal.
    """
    types = {each.name: each.type.compile(dialect) for each in table.columns}
    read = (f"{name} {'TEXT' if type == 'BYTEA' else type}" for name, type in types.items())
    values = (f"decode({name}, 'hex')" if type == "BYTEA" else name for name, type in types.items())
    return (
        f"INSERT INTO {table.name} ({', '.join(types)}) SELECT {', '.join(values)} "
        f"FROM json_to_recordset(%s) AS given({', '.join(read)}){_conflict(table)}"
    )


@lru_cache(maxsize=256)
def _sqlite_insert(table: sa.Table, rows: int) -> str:
    columns = [column.name for column in table.columns]
    row = f"({', '.join('?' * len(columns))})"
    # the names need no quotes, since none of them is a reserved word
    head = f"INSERT INTO {table.name} ({', '.join(columns)})"
    return f"{head} VALUES {', '.join([row] * rows)}{_conflict(table)}"
