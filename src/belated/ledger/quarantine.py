"""Quarantine: rejected requests, kept with the reason."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from belated.ledger import schema
from belated.ledger.canonical import canonical, digest, to_json
from belated.ledger.outcomes import DataWithdrawn, Invalid
from belated.ledger.store import Store, read_pages
from belated.ledger.validation import check_seq, is_id

MAX_REQUESTS_PER_PROBLEM: Final = 10_000
"""Maximum number of requests to keep for each problem, and for no problem; the oldest go first."""
MAX_BODY_CHARS: Final = 1 << 16
"""Maximum number of characters of a body; a longer one is truncated and kept as text."""
MAX_REASON_CHARS: Final = 1000
PRUNE_EVERY_REQUESTS: Final = 100
"""One in so many new requests deletes those beyond the maximum."""


@dataclass(frozen=True)
class QuarantinedRequest:
    """Rejected request in the quarantine; identical requests share one entry."""

    id: int
    """Unique id that grows in order of arrival."""
    at: int
    """Time of the last rejection, in microseconds since 1970 (UTC)."""
    problem: int | None
    """Id of the problem, if it is known."""
    episode: str | None
    """Id of the episode, if one was named."""
    outcome: str
    """One of "conflict", "unknown", "gone" and "refused"."""
    reason: str
    text: str | None
    """Body of the request as JSON; None if it must not be kept."""
    times: int
    """Number of identical requests."""


class RejectedRequest(NamedTuple):
    """Rejected request to be put in the quarantine."""

    reason: str
    body: Any
    problem: int | None = None
    episode: str | None = None
    outcome: str = Invalid.name


def quarantine_request(connection: sa.Connection, request: RejectedRequest, *, at: int) -> None:
    """Put a rejected request in the quarantine, or count it if it is there already.

    Parameters
    ----------
    connection : sa.Connection
        Connection with an open write transaction.
    request : RejectedRequest
        The request.
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


class Quarantine:
    """Quarantine of the ledger in `store`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __iter__(self) -> Iterator[QuarantinedRequest]:
        """Iterate over all requests, oldest first."""
        return self.read()

    def read(
        self, problem: int | None = None, *, after: int = 0, limit: int | None = None
    ) -> Iterator[QuarantinedRequest]:
        """Return an iterator over requests in order of id.

        Parameters
        ----------
        problem : int, optional
            Id of the problem; None for all requests.
        after : int
            Read only requests with a larger id.
        limit : int, optional
            Maximum number of requests.

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
            Id of the problem and of the episode, if they are known.
        """
        self.add_all([RejectedRequest(reason, body, problem, episode)])

    def add_all(self, requests: Iterable[RejectedRequest]) -> None:
        """Add `requests` that were rejected before they reached the ledger, in one transaction.

        A request without a problem belongs to the problem of its episode. The body of a request
        for a withdrawn episode is not kept.
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
        """Delete requests last rejected before `before` (microseconds); return their number."""
        check_seq("before", before, 0)
        table = schema.quarantine
        with self._store.writing() as connection:
            return connection.execute(sa.delete(table).where(table.c.at < before)).rowcount


@cache  # building the statement takes as long as executing it
def _upsert(dialect: str) -> sa.Executable:
    """Return a statement that inserts a row or counts it, and returns its id and count."""
    table = schema.quarantine
    now = sa.bindparam("now", type_=schema.Number)
    # ids follow the clock, so that a deleted id is never given to a later row, which a reader that
    # continues after the deleted one would miss
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
    """Return `request` with the problem of its episode, and without withdrawn data."""
    if episode is None:
        return request
    if episode.withdrawn is not None:
        reason = f"Episode {episode.id} has been withdrawn."
        request = request._replace(reason=reason, body=None, outcome=DataWithdrawn.name)
    problem = episode.problem if request.problem is None else request.problem
    return request._replace(problem=problem)


def _prune(connection: sa.Connection) -> None:
    """Delete the oldest requests of each problem beyond the maximum."""
    table = schema.quarantine
    newest_first = (table.c.at.desc(), table.c.id.desc())
    rank = sa.func.row_number().over(partition_by=table.c.problem, order_by=newest_first)
    ranked = sa.select(table.c.id, rank.label("rank")).subquery()
    excess = sa.select(ranked.c.id).where(ranked.c.rank > MAX_REQUESTS_PER_PROBLEM)
    connection.execute(sa.delete(table).where(table.c.id.in_(excess)))


def _printable(text: str) -> str:
    """Return `text` with escapes for characters that a database may not be able to hold."""
    return text if text.isprintable() else repr(text)[1:-1]


def _truncated(text: str) -> str:
    return text if len(text) <= MAX_BODY_CHARS else to_json(text[:MAX_BODY_CHARS])
