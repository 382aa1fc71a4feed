"""A copy holds all that the ledger held."""

from pathlib import Path

import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import Corrected, Feedback, Ledger, Recorded, schema
from belated.ledger.audit import TABLES, copy
from belated.ledger.clients import StoredResponse


def fill(ledger: Ledger) -> None:
    """Something in every table."""
    problem = samples.defined(ledger)
    ids = samples.opened(ledger, problem, 600, subject="Ann")
    ledger.append([Feedback(id, samples.whole(i)) for i, id in enumerate(ids)])
    ledger.append([Corrected(ids[0], samples.whole(7)), Feedback("nobody", {})])
    ledger.withdraw(episode=ids[1])
    assert ledger.snapshots.save(problem, ledger.last, b"\0data")
    ledger.append([StoredResponse("key", "sha", 201, body=b"\0body")])
    ledger.tokens.add("one", b"\0hash", scopes=["admin"], problem=problem)


def contents(ledger: Ledger) -> dict[str, list[tuple]]:
    with ledger.store.reading() as connection:
        return {
            table.name: [
                tuple(row)
                for row in connection.execute(sa.select(table).order_by(*table.primary_key))
            ]
            for table in TABLES
        }


@pytest.mark.parametrize("way", ["out", "back"])
def test_a_copy_holds_the_same_rows_on_another_database(
    way: str, sqlite_url: str, postgres_url: str
) -> None:
    first, second = (sqlite_url, postgres_url) if way == "out" else (postgres_url, sqlite_url)
    with Ledger.open(first) as source, Ledger.open(second) as target:
        fill(source)
        rows = copy(source, target)
        assert all(rows.values())
        assert contents(target) == contents(source)
        assert target.faults() == []
        assert target.digest() == source.digest()
        # and goes on from there
        samples.seq(target.define(samples.spec("another")))
        assert target.last == source.last + 1


def test_a_ledger_that_is_not_empty_takes_no_copy(memory: Ledger, sqlite_url: str) -> None:
    with Ledger.open(sqlite_url) as target:
        fill(memory)
        samples.defined(target)
        before = contents(target)
        with pytest.raises(ValueError, match=r"^target must be an empty ledger, but its table "):
            copy(memory, target)
        assert contents(target) == before


def test_a_copy_that_goes_wrong_leaves_nothing(
    memory: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory)
    with Ledger.open(f"sqlite:///{tmp_path / 'copy.db'}") as target:
        calls = iter(["one", "another"])
        monkeypatch.setattr("belated.ledger.audit.digest_events", lambda events: next(calls))
        with pytest.raises(RuntimeError, match=r"^Digest mismatch"):
            copy(memory, target)
        monkeypatch.undo()
        assert target.last == 0
        assert not any(contents(target).values())


def test_a_copy_is_of_one_moment(url: str, sqlite_url: str) -> None:
    with Ledger.open(url) as source, source.store.consistent_reading() as connection:
        before = connection.scalar(sa.select(sa.func.count()).select_from(schema.events))
        with Ledger.open(url) as writer:
            assert isinstance(writer.define(samples.spec()), Recorded)
        after = connection.scalar(sa.select(sa.func.count()).select_from(schema.events))
        assert before == after == 0
