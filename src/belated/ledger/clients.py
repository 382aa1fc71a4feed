"""Tables about clients: their tokens, stored responses to their requests, and rejected requests.

Tokens authenticate clients; only a hash of the secret of a token is stored.

A client may choose a random idempotency key for a request. The response is stored under that key
with a digest of the request, and sent again when the request is repeated. Neither the key nor the
request is stored, only their digests. Since the digest of the request includes the key, the request
cannot be guessed from it.

Rejected requests are kept in the quarantine, each with the reason for the rejection.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, NamedTuple

import sqlalchemy as sa

from belated.check import check_name, check_seq, is_id, is_name
from belated.ledger import schema
from belated.ledger.events import (
    AlreadyRecorded,
    Conflict,
    DataWithdrawn,
    Invalid,
    NewEvent,
    NotFound,
    Outcome,
    Recorded,
    chunk_ids,
)
from belated.ledger.schema import canonical, digest, to_json
from belated.ledger.store import Store, read_pages
from belated.ledger.transaction import Transaction


@dataclass(frozen=True)
class Token:
    """Token as stored in the ledger, without its secret."""

    id: str
    """Unique name of the token."""
    hash: bytes = field(repr=False)
    """Hash of the secret."""
    scopes: tuple[str, ...]
    """Permissions of the token, sorted by name."""
    problem: int | None
    """Id of the only problem that the token gives access to; None for all problems."""
    created: int
    """Time of creation, in microseconds since 1970 (UTC)."""
    revoked: int | None = None
    """Time of revocation, in microseconds since 1970 (UTC); None if the token is not revoked."""
    expires: int | None = None
    """Time from which the token is invalid, in microseconds since 1970 (UTC); None for never."""
    used: int | None = None
    """Approximate time of the last use, in microseconds since 1970 (UTC); it may be about a minute
    too early. None if the token has not been used."""

    def is_valid(self, now: int) -> bool:
        """Return whether the token is neither revoked nor expired at the time `now`.

        `now` is in microseconds since 1970 (UTC).
        """
        return self.revoked is None and (self.expires is None or now < self.expires)


class Tokens:
    """Access to the tokens of the ledger whose database is `store`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self,
        id: str,
        hash: bytes,
        *,
        scopes: Iterable[str],
        problem: int | None = None,
        lifetime_s: int | None = None,
    ) -> Token:
        """Store a new token.

        Parameters
        ----------
        id : str
            Unique name of the token.
        hash : bytes
            Hash of the secret.
        scopes : iterable of str
            Names of permissions, at least one.
        problem : int, optional
            Id of the only problem that the token gives access to; None for all problems.
        lifetime_s : int, optional
            Seconds until the token expires; None for never.

        Returns
        -------
        Token
            The stored token.

        Raises
        ------
        ValueError
            If the id is taken or malformed, the problem does not exist, or there are no scopes.
        """
        if not isinstance(hash, bytes) or not hash:
            raise TypeError("hash must be bytes.")
        names = tuple(sorted({check_name("scope", scope) for scope in scopes}))
        if not names:
            raise ValueError("scopes is empty; a token needs at least one scope.")
        now = self._store.now()
        expires = None if lifetime_s is None else now + lifetime_s * 1_000_000
        token = Token(check_name("id", id), hash, names, problem, now, expires=expires)
        row = {**vars(token), "scopes": ",".join(names)}
        try:
            with self._store.writing() as connection:
                connection.execute(sa.insert(schema.tokens).values(**row))
        except sa.exc.IntegrityError:
            raise ValueError(
                f"Token {id!r} cannot be stored: its id is taken, or there is no problem {problem}."
            ) from None
        return token

    def get(self, id: str) -> Token | None:
        """Return the token `id`, even if revoked or expired; None if there is no such token."""
        found = self._read(schema.tokens.c.id == id) if is_name(id) else []
        return found[0] if found else None

    def all(self) -> list[Token]:
        """Return all tokens, including revoked and expired ones, oldest first."""
        return self._read(sa.true())

    def revoke(self, id: str) -> bool:
        """Revoke the token `id`.

        Returns False if there is no such token or it was revoked before, else True.
        """
        valid = schema.tokens.c.revoked.is_(None)
        return is_name(id) and self._update(id, valid, revoked=self._store.now())

    def expire(self, id: str, *, after_s: int) -> Token | None:
        """Make the valid token `id` expire in `after_s` seconds, unless it expires earlier.

        Returns the token with its time of expiry; None if there is no valid token `id`.
        """
        now = self._store.now()
        token = self.get(id)
        if token is None or not token.is_valid(now):
            return None
        expires = now + after_s * 1_000_000
        if token.expires is None or expires < token.expires:
            token = replace(token, expires=expires)
            self._update(id, sa.true(), expires=expires)
        return token

    def touch(self, id: str, used: int) -> None:
        """Store that the token `id` was used at the time `used`, unless a later use is stored.

        `used` is in microseconds since 1970 (UTC).
        """
        tokens = schema.tokens.c
        self._update(id, sa.or_(tokens.used.is_(None), tokens.used < used), used=used)

    def _update(self, id: str, condition: sa.ColumnElement[bool], **values: int) -> bool:
        """Change the token `id` if the condition holds, and return whether it was changed."""
        tokens = schema.tokens
        change = sa.update(tokens).where(tokens.c.id == id, condition).values(**values)
        with self._store.writing() as connection:
            return connection.execute(change).rowcount == 1

    def _read(self, condition: sa.ColumnElement[bool]) -> list[Token]:
        tokens = schema.tokens
        query = sa.select(tokens).where(condition).order_by(tokens.c.created, tokens.c.id)
        return [
            Token(**{**row._mapping, "scopes": tuple(row.scopes.split(","))})
            for row in self._store.read(query)
        ]


KEY_LIFETIME_S: Final = 86_400
"""Time in seconds for which a response is stored."""

MAX_KEYS: Final = 1_000_000
"""Maximum number of stored responses; the oldest ones are deleted first."""

MAX_STORED_BYTES: Final = 16_384
"""Maximum size in bytes of a response body that is stored."""


@dataclass(frozen=True)
class KeyStored(Recorded):
    """Outcome: a response was stored under an idempotency key; no event was recorded."""

    name: ClassVar[str] = "keystored"


@dataclass(frozen=True)
class StoredResponse(NewEvent):
    """Response to a request with an idempotency key; `Ledger.append` stores it."""

    key: str
    """SHA-256 of the idempotency key together with the caller who sent it."""
    sha: str
    """SHA-256 of the idempotency key together with the request."""
    status: int
    """HTTP status of the response."""
    media_type: str | None = None
    body: bytes | None = None
    """Body of the response; None if it is not stored, for example because it is too large. A
    repeated request is then handled again, which has no further effect and gives the same body."""
    episode: str | None = None
    """Id of the episode that the request opens; None if it opens no episode. The response is stored
    in the same transaction as the opening, and only if the episode exists."""

    def record(self, transaction: Transaction) -> Outcome:
        """Store the response with its idempotency key, and return the outcome.

        The outcome is KeyStored if the response was stored. If a response is already stored under
        the key, the outcome is AlreadyRecorded for the same request, and Conflict for a different
        one. It is NotFound if the request was to open an episode, but the ledger does not contain
        this episode.
        """
        if self.episode is not None and transaction.episode(self.episode) is None:
            return NotFound(f"There is no episode {self.episode!r}.")
        keys = _load_keys(transaction) if transaction.keys is None else transaction.keys
        if self.key in keys:
            if keys[self.key] == self.sha:
                return AlreadyRecorded(transaction.seq)
            return Conflict(
                "The idempotency key was used for a different request.", transaction.seq
            )
        keys[self.key] = self.sha
        transaction.last_key_id += 1
        row = {**vars(self), "id": transaction.last_key_id, "at": transaction.at}
        transaction.add_row(schema.idempotency_keys, **row)
        return KeyStored(transaction.seq)


class IdempotencyKeys:
    """Read access to the stored responses to requests with an idempotency key.

    `store` is the database of the ledger. Responses are stored with `Ledger.append`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, key: str) -> StoredResponse | None:
        """Return the response stored under `key`, the digest `StoredResponse.key`.

        Returns None if there is no response, or if it was stored more than `KEY_LIFETIME_S` seconds
        ago.
        """
        table = schema.idempotency_keys.c
        query = sa.select(table.key, table.sha, table.status, table.media_type, table.body)
        query = query.where(table.key == key, table.at > _oldest_time(self._store.now()))
        rows = self._store.read(query)
        return StoredResponse(*rows[0]) if rows else None


def _oldest_time(now: int) -> int:
    """Return the time up to which stored responses have expired at the time `now`."""
    return now - KEY_LIFETIME_S * 1_000_000


def _load_keys(transaction: Transaction) -> dict[str, str]:
    """Delete expired responses, and load the stored digests for the keys in `transaction`.

    A digest identifies the request that was sent with the key.
    """
    table = schema.idempotency_keys
    newest = transaction.execute(sa.select(sa.func.max(table.c.id))).scalar() or 0
    old = sa.or_(table.c.at <= _oldest_time(transaction.at), table.c.id <= newest - MAX_KEYS)
    transaction.execute(sa.delete(table).where(old))
    transaction.last_key_id, transaction.keys = newest, {}
    keys = {event.key for event in transaction.events if isinstance(event, StoredResponse)}
    for chunk in chunk_ids(sorted(keys)):
        query = sa.select(table.c.key, table.c.sha).where(table.c.key.in_(chunk))
        transaction.keys |= {row.key: row.sha for row in transaction.execute(query)}
    return transaction.keys


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
    request are updated instead. A request without a problem is assigned to the problem of its
    episode, if the episode exists. The body of a request for a withdrawn episode is not stored.

    Parameters
    ----------
    connection : sa.Connection
        Connection with an open write transaction.
    request : RejectedRequest
        The rejected request.
    at : int
        Time of the rejection, in microseconds since 1970 (UTC).
    """
    table = schema.quarantine
    request = _complete(connection, request)
    reason, body = request.reason, None if request.body is None else to_json(request.body)
    if not reason.isprintable():
        reason = repr(reason)[1:-1]
    if body is not None and len(body) > MAX_BODY_CHARS:
        body = to_json(body[:MAX_BODY_CHARS])
    row = {
        "problem": request.problem,
        "episode": request.episode,
        "outcome": request.outcome,
        "reason": reason[:MAX_REASON_CHARS],
        "body": body,
    }
    sha = digest(canonical(row))
    again = sa.update(table).where(table.c.sha == sha).values(times=table.c.times + 1, at=at)
    if connection.execute(again).rowcount:
        return
    # ids follow the clock, so that the id of a deleted row is never assigned again; a reader that
    # continues after that id would miss the new row
    id = max(at, 1 + (connection.scalar(sa.select(sa.func.max(table.c.id))) or 0))
    connection.execute(sa.insert(table).values(**row, sha=sha, id=id, at=at, times=1))
    if id % PRUNE_EVERY_REQUESTS == 0:
        _prune(connection)


def _complete(connection: sa.Connection, request: RejectedRequest) -> RejectedRequest:
    """Return `request` with the id of the problem of its episode, if the episode exists.

    If the episode is withdrawn, the body is removed, and the reason and the outcome state that the
    data was withdrawn.
    """
    if not is_id(request.episode):
        return request._replace(episode=None)
    columns = schema.episodes.c
    query = sa.select(columns.problem, columns.withdrawn).where(columns.id == request.episode)
    episode = connection.execute(query).first()
    if episode is None:
        return request
    if episode.withdrawn is not None:
        reason = f"Episode {request.episode} has been withdrawn."
        request = request._replace(reason=reason, body=None, outcome=DataWithdrawn.name)
    return request._replace(problem=request.problem or episode.problem)


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

    def add_all(self, requests: Iterable[RejectedRequest]) -> None:
        """Add `requests` that were rejected before they reached the ledger, in one transaction."""
        with self._store.writing() as connection:
            at = self._store.now()
            for request in requests:
                quarantine_request(connection, request, at=at)

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


def _prune(connection: sa.Connection) -> None:
    """Delete the oldest requests of problems with more than `MAX_REQUESTS_PER_PROBLEM`."""
    table = schema.quarantine
    newest_first = (table.c.at.desc(), table.c.id.desc())
    rank = sa.func.row_number().over(partition_by=table.c.problem, order_by=newest_first)
    ranked = sa.select(table.c.id, rank.label("rank")).subquery()
    excess = sa.select(ranked.c.id).where(ranked.c.rank > MAX_REQUESTS_PER_PROBLEM)
    connection.execute(sa.delete(table).where(table.c.id.in_(excess)))
