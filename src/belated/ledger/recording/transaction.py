"""Batch: what one call appends, decided in memory and written together."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.canonical import SALT_BYTES, digest
from belated.ledger.episodes import EpisodeRecord
from belated.ledger.events import Feedback, Happening, Kind, Opened, Withdrawn
from belated.ledger.problems import Problem, Problems
from belated.ledger.recording.deduplication import Claim, Claims
from belated.ledger.validation import is_id

AT_ONCE: Final = 500
"""How many ids to ask for in one query."""

# what is referred to comes first
ORDER: Final = (
    schema.problems,
    schema.episodes,
    schema.events,
    schema.claims,
    schema.replaced,
    schema.policies,
)


def _known(claims: sa.FromClause, related: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return (
        sa.select(claims.c.part, claims.c.sha, claims.c.seq, schema.episodes)
        .select_from(schema.episodes.outerjoin(claims, related))
        .where(schema.episodes.c.id.in_(sa.bindparam("ids", expanding=True)))
    )


_RELATED: Final = schema.claims.c.episode == schema.episodes.c.seq
KNOWN: Final = {
    "sqlite": _known(schema.claims, _RELATED),
    # one after another: until it has counted its rows, it would rather read all claims there are
    "postgresql": _known(
        sa.select(schema.claims).where(_RELATED).offset(0).lateral("claims"), sa.true()
    ),
}
"""Episodes, in the order of an EpisodeRecord, with the parts of each that have come."""


class Batch:
    """A transaction of a ledger, with what is known meanwhile.

    Rows wait until `flush`, so that what one event says is seen by the next at no cost.
    """

    def __init__(self, connection: sa.Connection, problems: Problems, at: int) -> None:
        self.at = at
        self.seq: int = connection.scalar(sa.select(sa.func.max(schema.events.c.seq))) or 0
        self.redacts = False
        self.connection = connection
        self._problems = problems
        self._fresh: dict[int, Problem] = {}
        self._rows: dict[sa.Table, list[dict[str, Any]]] = {table: [] for table in ORDER}
        self._episodes: dict[str, EpisodeRecord | None] = {}
        self._claims: dict[str, Claims] = {}
        self._most: dict[tuple[sa.Column[Any], int], int] = {}

    def expect(self, given: Iterable[Happening]) -> None:
        """Look up every episode that these speak of, all at once."""
        ids = set()
        for one in given:
            id = one.id if isinstance(one, Opened) else None
            id = one.episode if isinstance(one, Feedback | Withdrawn) else id
            if is_id(id) and id not in self._episodes:
                ids.add(str(id))
        self._episodes |= dict.fromkeys(ids)
        self._claims |= {id: {} for id in ids}
        for some in pieces(sorted(ids)):
            rows: Iterable[Any] = self.run(KNOWN[self.connection.dialect.name], ids=some)
            for part, sha, seq, id, *rest in rows:
                if self._episodes[id] is None:
                    self._episodes[id] = EpisodeRecord(id, *rest)
                if part is not None:
                    self._claims[id][part] = Claim(sha, seq)

    def episode(self, id: str) -> EpisodeRecord | None:
        """The episode of this id, if there is one; `expect` must have heard of it."""
        return self._episodes.get(id)

    def claims(self, episode: str) -> Claims:
        """Which parts of an episode have come."""
        return self._claims[episode]

    def problem(self, id: int) -> Problem | None:
        """The problem of this id, if there is one."""
        return self._fresh.get(id) or self._problems.get(self.connection, id)

    def named(self, name: str) -> Problem | None:
        """The problem of this name, if there is one."""
        fresh = [problem for problem in self._fresh.values() if problem.name == name]
        return fresh[0] if fresh else self._problems.named(self.connection, name)

    def most(self, column: sa.Column[Any], problem: int) -> int:
        """The largest number in a column, of one problem; 0 if there is none."""
        if (column, problem) not in self._most:
            query = sa.select(sa.func.max(column)).where(column.table.c.problem == problem)
            self._most[column, problem] = self.run(query).scalar() or 0
        return self._most[column, problem]

    def event(
        self,
        kind: Kind,
        text: str,
        *,
        problem: int | None = None,
        episode: str | None = None,
        event_time: int | None = None,
    ) -> int:
        """Append an event; a problem is known by the event that defined it."""
        self.seq += 1
        # what may have to be redacted must not be guessed from its digest
        salt = os.urandom(SALT_BYTES) if kind in ("feedback", "corrected") else None
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

    def define(self, problem: Problem) -> None:
        """Add a problem, whose event has been appended."""
        self._fresh[problem.id] = problem
        self.add(schema.problems, id=problem.id, name=problem.name)

    def open(self, episode: EpisodeRecord) -> None:
        """Add an episode, whose event has been appended."""
        self._episodes[episode.id] = episode
        self._claims[episode.id] = {}
        self._most[schema.episodes.c.number, episode.problem] = episode.number
        self.add(schema.episodes, **vars(episode))

    def publish(self, problem: int, version: int, **row: Any) -> None:
        """Add a version of a policy, whose event has been appended."""
        self._most[schema.policies.c.version, problem] = version
        self.add(schema.policies, problem=problem, version=version, seq=self.seq, **row)

    def claim(self, episode: str, parts: dict[str, str]) -> None:
        """Note that these parts of an episode, by their digests, came with the last event."""
        opened = self._opening(episode)
        for part, sha in parts.items():
            self._claims[episode][part] = Claim(sha, self.seq)
            self.add(schema.claims, episode=opened, part=part, sha=sha, seq=self.seq)

    def replace_claims(self, episode: str) -> None:
        """What has come of an episode counts no more, but stays known as what was replaced."""
        opened = self._opening(episode)
        for seq in sorted({claim.seq for claim in self._claims[episode].values()}):
            self.add(schema.replaced, episode=opened, seq=seq)
        self.forget_claims([episode])

    def forget_claims(self, episodes: Sequence[str]) -> None:
        """What has come of these episodes counts no more."""
        for some in pieces(episodes):
            self.run(sa.delete(schema.claims).where(schema.claims.c.episode.in_(openings(some))))
        self._claims |= {id: {} for id in episodes}

    def _opening(self, episode: str) -> int:
        known = self._episodes[episode]
        assert known is not None
        return known.seq

    def forget_snapshots(self, problem: int, since: int) -> None:
        """What was made of events from `since` on holds no more."""
        of = schema.snapshots.c
        self.run(sa.delete(schema.snapshots).where(of.problem == problem, of.seq >= since))

    def add(self, table: sa.Table, **row: Any) -> None:
        """Let a row wait."""
        self._rows[table].append(row)

    def run(self, statement: sa.Executable, **given: Any) -> sa.CursorResult[Any]:
        """Write what waits, then do this."""
        self.flush()
        return self.connection.execute(statement, given or None)

    def flush(self) -> None:
        """Write what waits."""
        for table, rows in self._rows.items():
            if rows:
                insert(self.connection, table, rows)
                self._rows[table] = []

    def refresh(self, ids: Sequence[str]) -> None:
        """Look these episodes up anew."""
        for id in ids:
            self._episodes.pop(id, None)
        self.expect(Feedback(id, None) for id in ids)


def openings(ids: Sequence[str]) -> sa.Select[tuple[int]]:
    """The seqs at which these episodes were opened, by which claims know them."""
    of = schema.episodes.c
    return sa.select(of.seq).where(of.id.in_(ids))


def answers(ids: Sequence[str]) -> sa.CompoundSelect[tuple[int]]:
    """The seqs of all that came back of these episodes, also of what counts no more."""
    return sa.union(
        *(
            sa.select(table.c.seq).where(table.c.episode.in_(openings(ids)))
            for table in (schema.claims, schema.replaced)
        )
    )


def pieces(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    """As many at once as a query may ask for."""
    for first in range(0, len(ids), AT_ONCE):
        yield ids[first : first + AT_ONCE]


MARKS: Final = 10_000
"""The most values in one statement; both databases take three times as many."""


def insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that have a value for each column, of a kind that the driver takes as it is."""
    names = [column.name for column in table.columns]
    for some in _pieces(rows, MARKS // len(names)):
        statement = _statement(table, len(some), connection.dialect.paramstyle)
        values = tuple(row[name] for row in some for name in names)
        connection.exec_driver_sql(statement, values)


def _pieces(rows: Sequence[Mapping[str, Any]], most: int) -> Iterator[Sequence[Mapping[str, Any]]]:
    for first in range(0, len(rows), most):
        yield rows[first : first + most]


@lru_cache(maxsize=256)
def _statement(table: sa.Table, rows: int, style: str) -> str:
    mark = "?" if style == "qmark" else "%s"
    columns = [column.name for column in table.columns]
    row = f"({', '.join([mark] * len(columns))})"
    # the names are ours, and are none that a database keeps for itself
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES {', '.join([row] * rows)}"
