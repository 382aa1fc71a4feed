"""A transaction looks episodes up by index, and inserts rows in bulk without changing them."""

import json

import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import Feedback, Ledger
from belated.ledger.events import EPISODE_QUERIES
from belated.ledger.kinds import Tick
from belated.ledger.schema import problems
from belated.ledger.transaction import ProblemCache, Transaction


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
