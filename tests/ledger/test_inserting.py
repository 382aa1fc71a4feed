"""Rows that are inserted many at a time are the rows that were given."""

import pytest
import sqlalchemy as sa

from belated.ledger.ledger import Ledger
from belated.ledger.recording import transaction
from belated.ledger.schema import policies, problems


@pytest.mark.parametrize("count", [0, 1, 2, 499, 1001])
def test_every_row_arrives_as_it_was_given(
    ledger: Ledger, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "MAX_PARAMETERS_PER_INSERT", 1000)
    given = [{"id": i, "name": f"problem '{i}' % ? \\ é"} for i in range(1, count + 1)]
    with ledger.store.writing() as connection:
        transaction.insert_rows(connection, problems, given)
    with ledger.store.reading() as connection:
        rows = connection.execute(sa.select(problems).order_by(problems.c.id))
        assert [dict(row._mapping) for row in rows] == given


def test_bytes_numbers_and_nothing_arrive_as_they_are(ledger: Ledger) -> None:
    row = {
        "problem": 1,
        "version": 2**62,
        "seq": 3,
        "tick": None,
        "actions": bytes(range(256)),
        "explore": None,
        "epsilon": 0.1 + 0.2,
        "sha": "0" * 64,
    }
    with ledger.store.writing() as connection:
        transaction.insert_rows(connection, problems, [{"id": 1, "name": "p"}])
        transaction.insert_rows(connection, policies, [row])
    with ledger.store.reading() as connection:
        assert dict(connection.execute(sa.select(policies)).one()._mapping) == row
