"""Idempotency keys: stored responses to requests that a client may send again.

A client chooses a random key for a request. The response is stored under that key with a digest of
the request, and sent again when the request is repeated. Neither the key nor the request is stored,
only their digests; since the digest of the request includes the key, the request cannot be guessed.
"""

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.store import Store

KEY_LIFETIME_S: Final = 86_400
"""Time in seconds for which a response is stored."""

MAX_KEYS: Final = 1_000_000
"""Maximum number of stored responses; the oldest ones are deleted first."""

MAX_STORED_BYTES: Final = 16_384
"""Maximum size in bytes of a response body that is stored."""


@dataclass(frozen=True)
class StoredResponse:
    """Response to a request with an idempotency key."""

    key: str
    """SHA-256 of the key and of the caller who sent it."""
    sha: str
    """SHA-256 of the key and of the request."""
    status: int
    """HTTP status of the response."""
    media_type: str | None = None
    body: bytes | None = None
    """Body of the response; None if it is not stored, because handling the request again has no
    effect and gives the same body."""
    episode: str | None = None
    """Id of the episode that the request opens, in the same transaction. The response is stored
    only if the episode exists. None if the request opens no episode."""


class IdempotencyKeys:
    """Stored responses of the ledger whose database is `store`. They are written by `append`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, key: str) -> StoredResponse | None:
        """Return the response stored under the digest `key`; None if there is none, or it is old.

        A response is old after `KEY_LIFETIME_S` seconds.
        """
        table = schema.idempotency_keys.c
        query = sa.select(table.key, table.sha, table.status, table.media_type, table.body).where(
            table.key == key, table.at > oldest_time(self._store.now())
        )
        with self._store.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        body = None if row.body is None else bytes(row.body)
        return StoredResponse(row.key, row.sha, row.status, row.media_type, body)


def oldest_time(now: int) -> int:
    """Return the time up to which responses are old at the time `now`, both in microseconds."""
    return now - KEY_LIFETIME_S * 1_000_000
