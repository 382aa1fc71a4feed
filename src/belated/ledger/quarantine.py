"""Quarantine: what was refused, with the reason."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from belated.ledger import schema
from belated.ledger.canonical import canonical, digest, legible
from belated.ledger.store import Store, paged
from belated.ledger.validation import check_seq, is_id

MOST: Final = 10_000
"""How many refusals to keep of each problem, and as many of none: those that came last."""
LONGEST: Final = 1 << 16
"""How many characters to keep of what was refused; of what is longer, the beginning as a text."""
LONGEST_REASON: Final = 1000
OFTEN: Final = 100
"""One of so many new refusals makes room: until then there may be more than `MOST`."""


@dataclass(frozen=True)
class Refusal:
    """Something that was refused; the same again counts up `times`."""

    id: int
    """It grows in the order in which they came, and is given once."""
    at: int
    """When it was refused last."""
    problem: int | None
    episode: str | None
    outcome: str
    """conflict, unknown, gone or refused."""
    reason: str
    text: str | None
    """What was refused, as JSON; None if that must not be kept."""
    times: int


class Rejection(NamedTuple):
    """Something that was refused before it came to the ledger, to be kept."""

    reason: str
    body: Any
    problem: int | None = None
    episode: str | None = None
    outcome: str = "refused"


def keep(
    connection: sa.Connection,
    *,
    at: int,
    problem: int | None,
    episode: str | None,
    outcome: str,
    reason: str,
    body: Any,
) -> None:
    """Put something in quarantine, or note that it is there once more."""
    row = {
        "problem": problem,
        "episode": episode if is_id(episode) else None,
        "outcome": outcome,
        "reason": _printable(reason)[:LONGEST_REASON],
        "body": None if body is None else _shortened(legible(body)),
    }
    given = {**row, "sha": digest(canonical(row)), "now": at}
    kept = connection.execute(_statement(connection.dialect.name), given).one()
    if kept.times == 1 and kept.id % OFTEN == 0:
        _make_room(connection)


class Quarantine:
    """The refusals of a ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __iter__(self) -> Iterator[Refusal]:
        """Every refusal, oldest first."""
        return self.read()

    def read(
        self, problem: int | None = None, *, after: int = 0, limit: int | None = None
    ) -> Iterator[Refusal]:
        """The refusals of a problem, or all of them, in order of id, after one of them."""
        of = schema.quarantine.c
        columns = (of.id, of.at, of.problem, of.episode, of.outcome, of.reason, of.body, of.times)
        query = sa.select(*columns)
        if problem is not None:
            query = query.where(of.problem == check_seq("problem", problem))
        after = check_seq("after", after, 0)
        limit = None if limit is None else check_seq("limit", limit, 0)
        rows = paged(self._store, query, of.id, after=after, limit=limit)
        return (Refusal(*tuple(row)) for row in rows)

    def add(
        self, reason: str, body: Any, *, problem: int | None = None, episode: str | None = None
    ) -> None:
        """Keep what was refused before it came to the ledger."""
        self.add_all([Rejection(reason, body, problem, episode)])

    def add_all(self, rejections: Iterable[Rejection]) -> None:
        """Keep what was refused before it came to the ledger, in one transaction.

        What names no problem is of the problem of its episode. Of an episode that was withdrawn,
        it is kept only that something came.
        """
        given = list(rejections)
        with self._store.writing() as connection:
            known = _episodes(connection, {one.episode for one in given if is_id(one.episode)})
            at = self._store.now()
            for one in given:
                keep(connection, at=at, **_fit(one, known.get(one.episode))._asdict())

    def forget(self, *, before: int) -> int:
        """Drop what was refused last before this time; returns how many."""
        check_seq("before", before, 0)
        of = schema.quarantine
        with self._store.writing() as connection:
            return connection.execute(sa.delete(of).where(of.c.at < before)).rowcount


@cache  # which takes as long as the rest
def _statement(dialect: str) -> sa.Executable:
    """Insert a row, or count it up; tells its id, and how often it came."""
    of = schema.quarantine
    now = sa.bindparam("now", type_=schema.Number)
    # numbers go by the clock, so that one that was dropped is not given again: who has read up to
    # it would miss the next
    last = sa.func.max(of.c.id)
    id = sa.select(sa.case((last >= now, last + 1), else_=now)).scalar_subquery()
    names = ("problem", "episode", "outcome", "reason", "body", "sha")
    given = {name: sa.bindparam(name, type_=of.c[name].type) for name in names}
    insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    statement = insert(of).values(**given, id=id, at=now, times=1)
    again = {"times": of.c.times + 1, "at": now}
    upsert = statement.on_conflict_do_update(index_elements=[of.c.sha], set_=again)
    return upsert.returning(of.c.id, of.c.times)


def _episodes(connection: sa.Connection, ids: set[str | None]) -> dict[str | None, Any]:
    """What rejections must be held against."""
    of, found = schema.episodes.c, {}
    for id in ids:
        query = sa.select(of.id, of.problem, of.withdrawn).where(of.id == id)
        found[id] = connection.execute(query).first()
    return found


def _fit(one: Rejection, episode: Any) -> Rejection:
    """A rejection as it may be kept."""
    if episode is None:
        return one
    if episode.withdrawn is not None:
        reason = f"Episode {episode.id} has been withdrawn."
        one = one._replace(reason=reason, body=None, outcome="gone")
    return one._replace(problem=episode.problem if one.problem is None else one.problem)


def _make_room(connection: sa.Connection) -> None:
    """Drop what is too much of each problem, the oldest first."""
    of = schema.quarantine
    order = (of.c.at.desc(), of.c.id.desc())
    place = sa.func.row_number().over(partition_by=of.c.problem, order_by=order)
    placed = sa.select(of.c.id, place.label("place")).subquery()
    connection.execute(
        sa.delete(of).where(of.c.id.in_(sa.select(placed.c.id).where(placed.c.place > MOST)))
    )


def _printable(text: str) -> str:
    """A text that any database can hold."""
    return text if text.isprintable() else repr(text)[1:-1]


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else legible(text[:LONGEST])
