"""Storing of responses to requests with an idempotency key, and deletion of expired responses."""

from collections.abc import Iterable

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.clients.idempotency import MAX_KEYS, StoredResponse, oldest_time
from belated.ledger.episodes import chunk_ids
from belated.ledger.events import NewEvent
from belated.ledger.outcomes import AlreadyRecorded, Conflict, KeyStored, NotFound, Outcome
from belated.ledger.recording.transaction import Transaction


def load_keys(transaction: Transaction, events: Iterable[NewEvent]) -> None:
    """Delete expired responses, and load the stored digests for the idempotency keys in `events`.

    A digest identifies the request that was sent with the key. The digests are added to
    `transaction.keys`. If `events` contains no StoredResponse, the function does nothing.
    """
    keys = sorted({event.key for event in events if type(event) is StoredResponse})
    if not keys:
        return
    table = schema.idempotency_keys
    newest = transaction.execute(sa.select(sa.func.max(table.c.id))).scalar() or 0
    old = sa.or_(table.c.at <= oldest_time(transaction.at), table.c.id <= newest - MAX_KEYS)
    transaction.execute(sa.delete(table).where(old))
    transaction.last_key_id = newest
    for chunk in chunk_ids(keys):
        query = sa.select(table.c.key, table.c.sha).where(table.c.key.in_(chunk))
        transaction.keys |= {row.key: row.sha for row in transaction.execute(query)}


def record_response(transaction: Transaction, response: StoredResponse) -> Outcome:
    """Store `response`, with its idempotency key, in `transaction`, and return the outcome.

    The outcome is KeyStored if the response was stored. If a response is already stored under the
    key, the outcome is AlreadyRecorded for the same request, and Conflict for a different one. It
    is NotFound if the request was to open an episode, but the ledger does not contain this episode.
    The keys must have been loaded with `load_keys`.
    """
    if response.episode is not None and transaction.episode(response.episode) is None:
        return NotFound(f"There is no episode {response.episode!r}.")
    known = transaction.keys.get(response.key)
    if known is None:
        transaction.add_response(response)
        return KeyStored(transaction.seq)
    if known == response.sha:
        return AlreadyRecorded(transaction.seq)
    return Conflict("The idempotency key was used for a different request.", transaction.seq)
