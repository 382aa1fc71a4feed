"""Write transaction of a ledger: lookup of problems, episodes and claims; insertion of rows."""

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from belated.check import is_id
from belated.ledger import schema
from belated.ledger.canonical import SALT_BYTES, digest
from belated.ledger.clients.idempotency import StoredResponse
from belated.ledger.episodes import EPISODE_COLUMNS, EpisodeRecord, chunk_ids, opening_seqs
from belated.ledger.events import Feedback, Kind, Lost, NewEvent, Opened, Published, Withdrawn
from belated.ledger.policies import EncodedPolicy
from belated.ledger.problems import Problem, ProblemCache
from belated.ledger.recording.deduplication import Claim, Claims
from belated.ledger.recording.insertion import insert_rows

EPISODE_EVENTS: Final = (Feedback, Lost, Withdrawn)
"""Types of events that refer to an existing episode."""

BODY_QUERY: Final = sa.select(schema.events.c.seq, schema.events.c.body).where(
    schema.events.c.seq.in_(sa.bindparam("seqs", expanding=True))
)

# tables in an order in which foreign keys refer to earlier tables
INSERT_ORDER: Final = (
    schema.problems,
    schema.episodes,
    schema.subjects,
    schema.events,
    schema.claims,
    schema.replaced,
    schema.policies,
    schema.idempotency_keys,
)


EPISODE_QUERIES: Final[dict[str, sa.Select[Any] | sa.TextClause]] = {
    "sqlite": sa.select(
        schema.claims.c.part, schema.claims.c.sha, schema.claims.c.seq, *EPISODE_COLUMNS
    )
    .select_from(
        schema.episodes.outerjoin(schema.claims, schema.claims.c.episode == schema.episodes.c.seq)
    )
    .where(schema.episodes.c.id.in_(sa.bindparam("ids", expanding=True))),
    # Lateral joins, since PostgreSQL scans whole tables until it has statistics. The ids are one
    # JSON text: with an array, whose length it knows, it plans the statement anew each time.
    "postgresql": sa.text(
        "SELECT part, claims.sha, claims.seq, "
        "episodes.id, problem, number, version, episodes.seq, subject, withdrawn, lost "
        "FROM json_array_elements_text(:ids) AS wanted(id), "
        "LATERAL (SELECT * FROM episodes WHERE id = wanted.id OFFSET 0) AS episodes "
        "LEFT JOIN LATERAL (SELECT * FROM subjects WHERE episode = episodes.seq OFFSET 0)"
        " AS subjects ON true "
        "LEFT JOIN LATERAL (SELECT * FROM claims WHERE episode = episodes.seq OFFSET 0)"
        " AS claims ON true"
    ),
}
"""Map from the SQL dialect to the query for the records and the claims of episodes."""


class Transaction:
    """Open write transaction of a ledger.

    New rows are kept in memory until `flush`. Lookups include these rows, so that each of several
    new events is compared with the events before it. The claims of an episode are the records of
    its parts that have arrived.

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
        self.has_deleted_rejected = False
        """Whether rejected requests have been deleted from the quarantine in this transaction."""
        self.keys: dict[str, str] = {}
        """Map from each idempotency key that was loaded or added to the digest of its request."""
        self.last_key_id = 0
        """Id of the last stored response; valid only after the idempotency keys were loaded."""
        self.last_ticks: dict[int, tuple[int, int]] = {}
        """Map from the id of a problem to a pair: the seq of its last tick, and the seq at which
        the batch of this tick ends. Only ticks that were loaded or added are contained."""
        self.subject_seqs: dict[str, list[int]] = {}
        """Map from each subject that was loaded to the seqs of the openings of its episodes, in
        increasing order."""
        self.has_neighbours = False
        """Whether the recorded steps directly before and after the steps in `events` are loaded."""
        self.events: Collection[NewEvent] = ()
        """Events to be recorded, as given to `load_episodes`."""
        self.connection = connection
        self._problems = problems
        self._new_problems: dict[int, Problem] = {}
        self._rows: dict[sa.Table, list[dict[str, Any]]] = {table: [] for table in INSERT_ORDER}
        self._episodes: dict[str, EpisodeRecord | None] = {}
        self._claims: dict[str, Claims] = {}
        self._bodies: dict[int, str] = {}
        self._max_values: dict[tuple[sa.Column[Any], int], int] = {}
        self._limits: dict[int, tuple[int, int | None]] = {}

    def load_episodes(self, events: Collection[NewEvent]) -> None:
        """Load all episodes to which `events` refer, with their claims, in few queries."""
        self.events = events
        ids = set()
        for event in events:
            id = event.id if isinstance(event, Opened) else None
            id = event.episode if isinstance(event, EPISODE_EVENTS) else id
            if is_id(id) and id not in self._episodes:
                ids.add(str(id))
        self.reload_episodes(sorted(ids))

    def reload_episodes(self, ids: Sequence[str]) -> None:
        """Load the episodes `ids` and their claims from the database, even if already loaded."""
        for chunk in chunk_ids(ids):
            dialect = self.connection.dialect.name
            wanted = json.dumps(chunk) if dialect == "postgresql" else chunk
            self.set_episodes(chunk, self.execute(EPISODE_QUERIES[dialect], ids=wanted))

    def set_episodes(self, ids: Iterable[str], rows: Iterable[Any]) -> None:
        """Replace the loaded episodes `ids` by `rows`, the result of one of `EPISODE_QUERIES`."""
        self._episodes |= dict.fromkeys(ids)
        self._claims |= {id: {} for id in ids}
        for part, sha, seq, id, *rest in rows:
            if self._episodes[id] is None:
                self._episodes[id] = EpisodeRecord(id, *rest)
            if part is not None:
                self._claims[id][part] = Claim(sha, seq)

    def episode(self, id: str) -> EpisodeRecord | None:
        """Return the record of the episode `id`; None if it does not exist or was not loaded."""
        return self._episodes.get(id)

    def claims(self, episode: str) -> Claims:
        """Return a dict that maps the name of each recorded part of `episode` to its claim.

        A claim is the record that a part has arrived. The episode must have been loaded.
        """
        return self._claims[episode]

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

    def add_event(
        self,
        kind: Kind,
        text: str,
        *,
        problem: int | None = None,
        episode: str | None = None,
        event_time: int | None = None,
    ) -> int:
        """Append an event, and return its sequence number.

        Parameters
        ----------
        kind : str
            Kind of the event.
        text : str
            Body as canonical JSON.
        problem : int, optional
            Id of the problem; None if the event defines a problem, whose id is then the sequence
            number of the event.
        episode : str, optional
            Id of the episode; None if the event does not belong to a single episode.
        event_time : int, optional
            Time at which the event happened, in microseconds since 1970 (UTC); None if unknown.

        Returns
        -------
        int
            Sequence number of the event.
        """
        self.seq += 1
        # a salt keeps redacted content from being guessed from its digest
        salt = os.urandom(SALT_BYTES) if kind in ("feedback", "corrected", "lost") else None
        self._rows[schema.events].append(
            {
                "seq": self.seq,
                "problem": self.seq if problem is None else problem,
                "episode": episode,
                "kind": kind,
                "at": self.at,
                "event_time": event_time,
                "body": text,
                "salt": salt,
                "sha": digest(text, salt or b""),
                "redacted": False,
            }
        )
        return self.seq

    def read_body(self, seq: int) -> str:
        """Return the body of the event with sequence number `seq`, as canonical JSON.

        An event that is not yet inserted is read from memory, since inserting it now would prevent
        the insertion of many rows with one statement.
        """
        pending = self._rows[schema.events]
        place = seq - self.seq - 1 + len(pending)  # sequence numbers have no gaps
        if place >= 0:
            return str(pending[place]["body"])
        if seq not in self._bodies:
            self.load_bodies([seq])
        return self._bodies[seq]

    def load_bodies(self, seqs: Collection[int]) -> None:
        """Load the bodies of the events with the sequence numbers `seqs`, in few queries."""
        for chunk in chunk_ids(sorted(seqs)):
            rows: Iterable[Any] = self.connection.execute(BODY_QUERY, {"seqs": chunk})
            self._bodies |= {seq: str(body) for seq, body in rows}

    def add_problem(self, problem: Problem) -> None:
        """Add `problem` to the table of problems. Call this after adding its event "defined"."""
        self._new_problems[problem.id] = problem
        self._add_row(schema.problems, id=problem.id, name=problem.name, archived=None)

    def add_episode(self, episode: EpisodeRecord) -> None:
        """Add `episode` to the table of episodes. Call this after adding its opening event."""
        self._episodes[episode.id] = episode
        self._claims[episode.id] = {}
        self._max_values[schema.episodes.c.number, episode.problem] = episode.number
        self._add_row(schema.episodes, **vars(episode))
        if episode.subject is not None:
            self._add_row(schema.subjects, episode=episode.seq, subject=episode.subject)
            if episode.subject in self.subject_seqs:
                self.subject_seqs[episode.subject].append(episode.seq)

    def set_lost(self, episode: EpisodeRecord, seq: int | None) -> None:
        """Store that the event with sequence number `seq` declared `episode` lost.

        If `seq` is None, store that the episode is not lost.
        """
        self._episodes[episode.id] = replace(episode, lost=seq)
        table = schema.episodes
        self.execute(sa.update(table).where(table.c.id == episode.id).values(lost=seq))

    def add_response(self, response: StoredResponse) -> None:
        """Add `response` to the stored responses.

        The idempotency keys must have been loaded before.
        """
        self.keys[response.key] = response.sha
        self.last_key_id += 1
        row = {**vars(response), "id": self.last_key_id, "at": self.at}
        del row["episode"]
        self._add_row(schema.idempotency_keys, **row)

    def opening_limits(self, problem: int) -> tuple[int, int | None]:
        """Return the newest version of `problem`, and the seq of the event that archived `problem`.

        The version is 0 if none is published, and the seq is None if the problem is not archived.
        """
        if problem not in self._limits:
            versions, problems = schema.policies.c, schema.problems.c
            archived = sa.select(problems.archived).where(problems.id == problem).scalar_subquery()
            query = sa.select(sa.func.max(versions.version), archived)
            row: Any = self.execute(query.where(versions.problem == problem)).one()
            self._limits[problem] = row[0] or 0, row[1]
        return self._limits[problem]

    def set_archived(self, problem: int, seq: int | None) -> None:
        """Store that the event with sequence number `seq` archived `problem`.

        If `seq` is None, store that the problem is not archived.
        """
        self._limits.pop(problem, None)
        table = schema.problems
        self.execute(sa.update(table).where(table.c.id == problem).values(archived=seq))

    def add_policy(self, event: Published, encoded: EncodedPolicy) -> None:
        """Add the policy `encoded`, which `event` publishes, to the table of policies.

        Call this directly after the publication was added with `add_event`.
        """
        problem, version = event.problem, event.version
        self._max_values[schema.policies.c.version, problem] = version
        self._limits.pop(problem, None)
        row = {"problem": problem, "version": version, "seq": self.seq, "tick": event.tick}
        self._add_row(schema.policies, **row, **encoded._asdict())

    def add_claims(self, episode: str, digests: Mapping[str, str]) -> None:
        """Add a claim for each part of the feedback in the event that was added last.

        A claim is the record that a part has arrived. `episode` is the id of the episode, and
        `digests` maps the name of each part to its digest.
        """
        opened = self._opening_seq(episode)
        for part, sha in digests.items():
            self._claims[episode][part] = Claim(sha, self.seq)
            self._add_row(schema.claims, episode=opened, part=part, sha=sha, seq=self.seq)

    def replace_claims(self, episode: str) -> None:
        """Delete the claims of `episode`, the records of its parts that have arrived.

        The events that contain these parts are added to the table of replaced events.
        """
        opened = self._opening_seq(episode)
        for seq in sorted({claim.seq for claim in self._claims[episode].values()}):
            self._add_row(schema.replaced, episode=opened, seq=seq)
        self.delete_claims([episode])

    def delete_claims(self, episodes: Sequence[str]) -> None:
        """Delete all claims (records of arrived parts) of the episodes with the ids `episodes`."""
        claims = schema.claims
        for chunk in chunk_ids(episodes):
            self.execute(sa.delete(claims).where(claims.c.episode.in_(opening_seqs(chunk))))
        self._claims |= {id: {} for id in episodes}

    def _opening_seq(self, episode: str) -> int:
        known = self._episodes[episode]
        assert known is not None
        return known.seq

    def delete_snapshots(self, problem: int, *, since: int) -> None:
        """Delete the snapshots of `problem` that include the event with seq `since`."""
        snapshots = schema.snapshots
        mine = (snapshots.c.problem == problem, snapshots.c.seq >= since)
        self.execute(sa.delete(snapshots).where(*mine))

    def _add_row(self, table: sa.Table, **row: Any) -> None:
        self._rows[table].append(row)

    @property
    def pending_rows(self) -> Mapping[sa.Table, Sequence[Mapping[str, Any]]]:
        """Map from each table to the rows that are not yet inserted."""
        return self._rows

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
