"""A transaction looks episodes up by index, and inserts rows in bulk without changing them."""

import json

import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import Feedback, Ledger, transaction
from belated.ledger.events import EPISODE_QUERIES
from belated.ledger.kinds import Tick
from belated.ledger.schema import policies, problems
from belated.ledger.transaction import ProblemCache, Transaction, insert_rows


def test_a_few_episodes_are_looked_up_without_reading_whole_tables(ledger: Ledger) -> None:
    """Also while the database has not counted its rows yet, which takes it a minute or more."""
    ids = samples.opened(ledger, samples.defined(ledger), 3000)
    ledger.append([Feedback(id, samples.whole(number)) for number, id in enumerate(ids)])
    with ledger.store.reading() as connection:
        explain = "EXPLAIN" if ledger.store.on_postgres else "EXPLAIN QUERY PLAN"
        query = f"{explain} {EPISODE_QUERIES[connection.dialect.name]}"
        rows = connection.exec_driver_sql(query, (json.dumps(ids[1000:1032]),)).all()
    plan = "\n".join(str(row) for row in rows)
    assert "claims" in plan
    for table in ("episodes", "claims", "subjects"):
        assert f"Seq Scan on {table}" not in plan
        assert f"SCAN {table}" not in plan


@pytest.mark.parametrize("count", [0, 1, 2, 499, 1001])
def test_every_row_arrives_as_it_was_given(
    ledger: Ledger, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "MAX_PARAMETERS_PER_INSERT", 1000)
    monkeypatch.setattr(transaction, "MAX_ROWS_PER_INSERT", 400)
    given = [
        {"id": i, "name": f"problem '{i}' % ? \\ é", "archived": i if i % 2 else None}
        for i in range(1, count + 1)
    ]
    with ledger.store.writing() as connection:
        insert_rows(connection, problems, given)
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
        insert_rows(connection, problems, [{"id": 1, "name": "p", "archived": None}])
        insert_rows(connection, policies, [row])
    with ledger.store.reading() as connection:
        assert dict(connection.execute(sa.select(policies)).one()._mapping) == row


def test_a_commit_that_fails_records_nothing_and_the_next_one_succeeds(ledger: Ledger) -> None:
    known = ledger.problem(samples.defined(ledger))
    assert known is not None
    before = ledger.last

    def record_again() -> None:
        with ledger.store.writing() as connection:
            failing = Transaction(connection, ProblemCache(), last=before, at=0)
            failing.add_event(Tick(known.id), {"upto": 1}, problem=known.id)
            failing.add_row(problems, id=known.id, name=known.name, archived=None)  # exists
            failing.commit()

    with pytest.raises(sa.exc.IntegrityError):
        record_again()
    assert ledger.last == before
    samples.opened(ledger, known.id, 1)
    assert ledger.last > before
