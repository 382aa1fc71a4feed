"""Quarantine: table of rejected requests, each with the reason for the rejection."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from belated.check import check_seq, is_id
from belated.ledger import schema
from belated.ledger.canonical import canonical, digest, to_json
from belated.ledger.outcomes import DataWithdrawn, Invalid
from belated.ledger.store import Store, read_pages

MAX_REQUESTS_PER_PROBLEM: Final = 10_000
"""Maximum number of requests to keep for each problem.

The same maximum applies to all requests without a problem together. When there are more requests,
the oldest ones are deleted."""
MAX_BODY_CHARS: Final = 1 << 16
"""Maximum number of characters of a request body.

A longer body is truncated and stored as a text."""
MAX_REASON_CHARS: Final = 1000
MAX_REWRITTEN_CHARS: Final = 1 << 24
"""Maximum number of characters of all stored request bodies together for which `rewrite_quarantine`
rewrites the table."""
PRUNE_EVERY_REQUESTS: Final = 100
"""Average number of new requests between two deletions of old requests. A deletion reduces the
requests of each problem to `MAX_REQUESTS_PER_PROBLEM`."""


@dataclass(frozen=True)
class QuarantinedRequest:
    """Rejected request as stored in the quarantine. Identical requests share one entry."""

    id: int
    """Unique id, increasing in order of first arrival."""
    at: int
    """Time of the last rejection, in microseconds since 1970 (UTC)."""
    problem: int | None
    """Id of the problem; None if it is not known."""
    episode: str | None
    """Id of the episode; None if the request contains no valid id."""
    outcome: str
    """Name of the outcome.

    "conflict" for contradicting content, "unknown" if the episode, problem or subject does not
    exist, "gone" for withdrawn data, and "refused" if the request is invalid or too large."""
    reason: str
    text: str | None
    """Body of the request as JSON; None if the body must not be stored, as for withdrawn data."""
    times: int
    """Number of times the request was rejected."""


class RejectedRequest(NamedTuple):
    """Rejected request that is to be put in the quarantine."""

    reason: str
    body: Any
    problem: int | None = None
    episode: str | None = None
    outcome: str = Invalid.name


def quarantine_request(connection: sa.Connection, request: RejectedRequest, *, at: int) -> None:
    """Put a rejected request in the quarantine.

    If the quarantine contains an identical request, the number of rejections and the time of that
    request are updated instead.

    Parameters
    ----------
    connection : sa.Connection
        Connection with an open write transaction.
    request : RejectedRequest
        The rejected request.
    at : int
        Time of the rejection, in microseconds since 1970 (UTC).
    """
    row = {
        "problem": request.problem,
        "episode": request.episode if is_id(request.episode) else None,
        "outcome": request.outcome,
        "reason": _printable(request.reason)[:MAX_REASON_CHARS],
        "body": None if request.body is None else _truncated(to_json(request.body)),
    }
    parameters = {**row, "sha": digest(canonical(row)), "now": at}
    stored = connection.execute(_upsert(connection.dialect.name), parameters).one()
    if stored.times == 1 and stored.id % PRUNE_EVERY_REQUESTS == 0:
        _prune(connection)


def rewrite_quarantine(connection: sa.Connection) -> None:
    """Rewrite the quarantine table of SQLite, so that no copies of deleted requests remain in it.

    SQLite overwrites deleted content, but not the copies that it leaves in unallocated space when
    it moves a row or an index entry to another page. If a whole table is emptied, its pages are
    overwritten. The table is not rewritten if the bodies have more than `MAX_REWRITTEN_CHARS`
    characters together, since other writers would have to wait for long. On PostgreSQL, nothing is
    done. `connection` must have an open write transaction.
    """
    table = schema.quarantine
    if connection.dialect.name != "sqlite":
        return
    size = connection.scalar(sa.select(sa.func.sum(sa.func.length(table.c.body))))
    if (size or 0) <= MAX_REWRITTEN_CHARS:
        rows = connection.execute(sa.select(table).order_by(table.c.id)).mappings().all()
        connection.execute(sa.delete(table))
        if rows:
            connection.execute(sa.insert(table), [dict(row) for row in rows])


class Quarantine:
    """Access to the rejected requests of the ledger whose database is `store`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __iter__(self) -> Iterator[QuarantinedRequest]:
        """Return an iterator over all rejected requests in order of their ids."""
        return self.read()

    def read(
        self, problem: int | None = None, *, after: int = 0, limit: int | None = None
    ) -> Iterator[QuarantinedRequest]:
        """Return an iterator over rejected requests in order of their ids.

        Parameters
        ----------
        problem : int, optional
            Id of the problem whose requests are read; None for all requests.
        after : int
            Read only requests with an id greater than `after`.
        limit : int, optional
            Maximum number of requests; None for no maximum.

        Returns
        -------
        iterator of QuarantinedRequest
            The requests, read page by page.
        """
        columns = schema.quarantine.c
        query = sa.select(*(column for column in columns if column.name != "sha"))
        if problem is not None:
            query = query.where(columns.problem == check_seq("problem", problem))
        after = check_seq("after", after, 0)
        limit = None if limit is None else check_seq("limit", limit, 0)
        rows = read_pages(self._store, query, columns.id, after=after, limit=limit)
        return (QuarantinedRequest(*tuple(row)) for row in rows)

    def add(
        self, reason: str, body: Any, *, problem: int | None = None, episode: str | None = None
    ) -> None:
        """Add a request that was rejected before it reached the ledger.

        Parameters
        ----------
        reason : str
            Reason for the rejection.
        body : Any
            Body of the request.
        problem, episode : optional
            Ids of the problem and of the episode; None if not known.
        """
        self.add_all([RejectedRequest(reason, body, problem, episode)])

    def add_all(self, requests: Iterable[RejectedRequest]) -> None:
        """Add `requests` that were rejected before they reached the ledger, in one transaction.

        A request without a problem is assigned to the problem of its episode, if the episode
        exists. The body of a request for a withdrawn episode is not stored.
        """
        given = list(requests)
        with self._store.writing() as connection:
            ids = {request.episode for request in given if is_id(request.episode)}
            episodes = {id: _find_episode(connection, id) for id in ids}
            at = self._store.now()
            for request in given:
                completed = _complete(request, episodes.get(request.episode))
                quarantine_request(connection, completed, at=at)

    def forget(self, *, before: int) -> int:
        """Delete all requests whose last rejection was before the time `before`.

        `before` is in microseconds since 1970 (UTC). Returns the number of deleted requests.
        """
        check_seq("before", before, 0)
        table = schema.quarantine
        with self._store.writing() as connection:
            count = connection.execute(sa.delete(table).where(table.c.at < before)).rowcount
            if count:
                rewrite_quarantine(connection)
        if count:
            self._store.scrub(wait=True)
        return count


@cache  # building the statement takes as long as executing it
def _upsert(dialect: str) -> sa.Executable:
    """Return the SQL statement, for `dialect`, that inserts a request or increments its count.

    The statement returns the id of the row, and the number of times the request was rejected.
    """
    table = schema.quarantine
    now = sa.bindparam("now", type_=schema.Number)
    # ids follow the clock, so that the id of a deleted row is never assigned again; a reader that
    # continues after that id would miss the new row
    last = sa.func.max(table.c.id)
    id = sa.select(sa.case((last >= now, last + 1), else_=now)).scalar_subquery()
    names = ("problem", "episode", "outcome", "reason", "body", "sha")
    given = {name: sa.bindparam(name, type_=table.c[name].type) for name in names}
    insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    statement = insert(table).values(**given, id=id, at=now, times=1)
    again = {"times": table.c.times + 1, "at": now}
    upsert = statement.on_conflict_do_update(index_elements=[table.c.sha], set_=again)
    return upsert.returning(table.c.id, table.c.times)


def _find_episode(connection: sa.Connection, id: str | None) -> Any:
    columns = schema.episodes.c
    query = sa.select(columns.id, columns.problem, columns.withdrawn).where(columns.id == id)
    return connection.execute(query).first()


def _complete(request: RejectedRequest, episode: Any) -> RejectedRequest:
    """Return `request` completed from the stored `episode`, or unchanged if `episode` is None.

    If the problem is missing, it is set to the problem of the episode. If the episode is withdrawn,
    the body is removed, and the reason and the outcome state that the data was withdrawn.
    """
    if episode is None:
        return request
    if episode.withdrawn is not None:
        reason = f"Episode {episode.id} has been withdrawn."
        request = request._replace(reason=reason, body=None, outcome=DataWithdrawn.name)
    problem = episode.problem if request.problem is None else request.problem
    return request._replace(problem=problem)


def _prune(connection: sa.Connection) -> None:
    """Delete the oldest requests of problems with more than `MAX_REQUESTS_PER_PROBLEM`."""
    table = schema.quarantine
    newest_first = (table.c.at.desc(), table.c.id.desc())
    rank = sa.func.row_number().over(partition_by=table.c.problem, order_by=newest_first)
    ranked = sa.select(table.c.id, rank.label("rank")).subquery()
    excess = sa.select(ranked.c.id).where(ranked.c.rank > MAX_REQUESTS_PER_PROBLEM)
    connection.execute(sa.delete(table).where(table.c.id.in_(excess)))


def _printable(text: str) -> str:
    """Return `text` if all its characters are printable, else `text` with escapes as in `repr`."""
    return text if text.isprintable() else repr(text)[1:-1]


def _truncated(text: str) -> str:
    return text if len(text) <= MAX_BODY_CHARS else to_json(text[:MAX_BODY_CHARS])
