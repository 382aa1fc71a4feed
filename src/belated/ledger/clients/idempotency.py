"""Idempotency keys: stored responses to requests that a client may send again.

A client chooses a random key for a request. The response is stored under that key with a digest of
the request, and sent again when the request is repeated. Neither the key nor the request is stored,
only their digests. Since the digest of the request includes the key, the request cannot be guessed
from it.
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
    """Return the time `KEY_LIFETIME_S` seconds before the time `now`.

    A response that was stored at this time or earlier has expired. Both times are in microseconds
    since 1970 (UTC).
    """
    return now - KEY_LIFETIME_S * 1_000_000
