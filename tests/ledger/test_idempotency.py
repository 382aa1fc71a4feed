"""Responses are stored under idempotency keys, for a bounded time and up to a bounded number."""

import pytest
import sqlalchemy as sa

from belated.ledger import AlreadyRecorded, Conflict, Ledger, NotFound, schema
from belated.ledger.clients import KEY_LIFETIME_S, KeyStored, StoredResponse
from belated.ledger.store import now


def test_a_response_is_stored_once(ledger: Ledger, url: str) -> None:
    response = StoredResponse("key", "sha", 201, "application/json", b"{}")
    other = StoredResponse("key", "other", 200)
    [stored, same, conflict] = ledger.append([response, response, other])
    assert (type(stored), type(same), type(conflict)) == (KeyStored, AlreadyRecorded, Conflict)
    assert (type(ledger.append([response])[0]), ledger.last) == (AlreadyRecorded, 0)
    with Ledger.open(url) as again:
        assert again.idempotency_keys.get("key") == response
        assert again.idempotency_keys.get("another") is None


def test_a_response_for_an_episode_that_was_not_opened_is_not_stored(ledger: Ledger) -> None:
    [outcome] = ledger.append([StoredResponse("key", "sha", 201, episode="a" * 22)])
    assert type(outcome) is NotFound
    assert ledger.idempotency_keys.get("key") is None


def test_old_responses_are_deleted(url: str) -> None:
    time = now()
    with Ledger.open(url, clock=lambda: time) as ledger:
        ledger.append([StoredResponse("old", "sha", 201)])
        time += KEY_LIFETIME_S * 1_000_000
        assert ledger.idempotency_keys.get("old") is None
        [outcome] = ledger.append([StoredResponse("old", "another", 201)])
        assert type(outcome) is KeyStored
        with ledger.store.reading() as connection:
            rows = connection.execute(sa.select(schema.idempotency_keys.c.sha)).all()
        assert [row.sha for row in rows] == ["another"]


def test_the_number_of_responses_is_bounded(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("belated.ledger.clients.MAX_KEYS", 3)
    for i in range(10):
        ledger.append([StoredResponse(f"key-{i}", "sha", 201)])
    kept = [i for i in range(10) if ledger.idempotency_keys.get(f"key-{i}")]
    assert kept == [6, 7, 8, 9]
