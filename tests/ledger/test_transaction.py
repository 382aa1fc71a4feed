"""A transaction looks episodes up by index, and inserts rows in bulk without changing them."""

import json
from typing import Any

import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import Conflict, Feedback, Ledger, Recorded
from belated.ledger.problems import ProblemCache
from belated.ledger.recording import insertion, transaction
from belated.ledger.recording.transaction import EPISODE_QUERIES
from belated.ledger.schema import policies, problems
from databases import count_statements


def test_a_few_episodes_are_looked_up_without_reading_all_claims(ledger: Ledger) -> None:
    """Also while the database has not counted its rows yet, which takes it a minute or more."""
    ids = samples.opened(ledger, samples.defined(ledger), 3000)
    ledger.append([Feedback(id, samples.whole(number)) for number, id in enumerate(ids)])
    with ledger.store.reading() as connection:
        sent: list[tuple[str, Any]] = []
        sa.event.listen(
            connection, "before_cursor_execute", lambda *given: sent.append((given[2], given[3]))
        )
        query = EPISODE_QUERIES[connection.dialect.name]
        wanted = ids[1000:1032]
        given = json.dumps(wanted) if ledger.store.on_postgres else wanted
        assert connection.execute(query, {"ids": given}).all()
        [(text, parameters)] = sent
        explain = "EXPLAIN" if ledger.store.on_postgres else "EXPLAIN QUERY PLAN"
        rows = connection.exec_driver_sql(f"{explain} {text}", parameters).all()
    plan = "\n".join(str(row) for row in rows)
    assert "claims" in plan
    for table in ("episodes", "claims", "subjects"):
        assert f"Seq Scan on {table}" not in plan
        assert f"SCAN {table}" not in plan


def test_the_steps_before_and_after_those_of_a_batch_are_read_in_one_query(
    ledger: Ledger,
) -> None:
    ids = samples.opened(ledger, samples.defined(ledger), 40)
    outer = [
        Feedback(id, {"steps": [samples.step(h, n)]}) for n, id in enumerate(ids) for h in (0, 2)
    ]
    assert all(isinstance(outcome, Recorded) for outcome in ledger.append(outer))
    inner = [Feedback(id, {"steps": [samples.step(1, n)]}) for n, id in enumerate(ids)]
    wrong = {**samples.step(1), "state": 2}
    [outcome] = ledger.append([Feedback(ids[0], {"steps": [wrong]})])
    assert isinstance(outcome, Conflict)
    with count_statements(ledger) as statements:
        outcomes = ledger.append(inner)
    assert all(isinstance(outcome, Recorded) for outcome in outcomes)
    reads = [text for text in statements if text.startswith("SELECT") and "body" in text]
    assert len(reads) == 1


def test_statements_under_the_lock_are_few_and_the_same_for_batches_of_any_size(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other writers wait for each of them; a text that is always the same is prepared once."""
    monkeypatch.setattr("belated.ledger.ledger.record_optimistically", lambda *given: None)
    with Ledger.open(postgres_url) as ledger:
        ids = samples.opened(ledger, samples.defined(ledger), 30)
        batches = []
        for size in (1, 8, 21):
            events = [Feedback(ids.pop(), samples.whole(i)) for i in range(size)]
            with count_statements(ledger) as statements:
                outcomes = ledger.append(events)
            assert all(isinstance(outcome, Recorded) for outcome in outcomes)
            batches.append(list(statements))
    assert batches[0] == batches[1] == batches[2]
    [lock, lookup, *inserts] = batches[0]
    assert "advisory" in lock
    assert "max(seq)" in lock
    assert "episodes" in lookup
    assert len(inserts) == 2


@pytest.mark.parametrize("count", [0, 1, 2, 499, 1001])
def test_every_row_arrives_as_it_was_given(
    ledger: Ledger, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(insertion, "MAX_PARAMETERS_PER_INSERT", 1000)
    monkeypatch.setattr(insertion, "MAX_ROWS_PER_INSERT", 400)
    given = [
        {"id": i, "name": f"problem '{i}' % ? \\ é", "archived": i if i % 2 else None}
        for i in range(1, count + 1)
    ]
    with ledger.store.writing() as connection:
        insertion.insert_rows(connection, problems, given)
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
        insertion.insert_rows(connection, problems, [{"id": 1, "name": "p", "archived": None}])
        insertion.insert_rows(connection, policies, [row])
    with ledger.store.reading() as connection:
        assert dict(connection.execute(sa.select(policies)).one()._mapping) == row


def test_a_commit_that_fails_records_nothing_and_the_next_one_succeeds(ledger: Ledger) -> None:
    known = ledger.problem(samples.defined(ledger))
    assert known is not None
    before = ledger.last

    def record_again() -> None:
        with ledger.store.appending() as (connection, last):
            failing = transaction.Transaction(connection, ProblemCache(), last=last, at=0)
            failing.add_event("tick", "{}", problem=known.id)
            failing.add_problem(known)  # a second row with the same id
            failing.commit()

    with pytest.raises(sa.exc.IntegrityError):
        record_again()
    assert ledger.last == before
    samples.opened(ledger, known.id, 1)
    assert ledger.last > before
