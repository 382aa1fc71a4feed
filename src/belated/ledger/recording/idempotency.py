"""Storing of responses to requests with an idempotency key, and deletion of old ones."""

from collections.abc import Iterable

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.clients.idempotency import MAX_KEYS, StoredResponse, oldest_time
from belated.ledger.episodes import chunk_ids
from belated.ledger.events import NewEvent
from belated.ledger.outcomes import AlreadyRecorded, Conflict, KeyStored, NotFound, Outcome
from belated.ledger.recording.transaction import Transaction


def load_keys(transaction: Transaction, events: Iterable[NewEvent]) -> None:
    """Delete old responses, and load the digests that are stored under the keys in `events`.

    Nothing is done if `events` contains no response.
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
    """Store `response` in `transaction`, and return the outcome.

    If the key is in use, nothing is stored: the outcome is AlreadyRecorded if the request is the
    same, else Conflict. Nor is a response stored for an episode that was not opened (NotFound). The
    keys must have been loaded by `load_keys`.
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
