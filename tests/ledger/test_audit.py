"""The derived tables are rebuilt from the events, and the first row that differs is named."""

import json
import tracemalloc
from typing import Any

import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import Corrected, Feedback, Ledger, Lost, audit, schema
from belated.ledger.audit import DERIVED, check_tables
from histories import KINDS, History, make_spec


@pytest.fixture
def played(memory: Ledger) -> History:
    """A problem beside another, with something corrected, lost, withdrawn, and much pending."""
    other = History(memory, make_spec("shop"))
    history = History(memory, make_spec())
    for one in (other, history):
        one.publish_first()
        one.answer(*one.open(6, subject="Ann"))
        one.open(2)
    memory.append([Corrected(history.episodes[1], history.whole())])
    memory.append([Lost(history.episodes[6], "moved"), Lost(history.episodes[7], "moved")])
    memory.withdraw(episode=history.episodes[2])
    step = {"step": 1, "state": 0, "action": 1, "next_state": 2, "reward": 0.5}
    memory.append([Feedback(history.episodes[7], {"steps": [step]})])
    memory.control(other.problem, "archive")
    assert memory.faults() == []
    return history


def tamper(history: History, *statements: sa.Executable) -> None:
    """Change what the database would not let be changed."""
    driver: Any = history.ledger.store.engine.raw_connection().dbapi_connection
    driver.execute("PRAGMA foreign_keys = OFF")
    with history.ledger.store.writing() as connection:
        for name in ("events_keep", "events_stay"):
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
        for statement in statements:
            connection.execute(statement)
    driver.execute("PRAGMA foreign_keys = ON")


def seq_of(history: History, episode: str, kind: str) -> int:
    [event] = (e for e in history.ledger.events() if (e.episode, e.kind) == (episode, kind))
    return event.seq


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_the_tables_of_any_history_follow_from_its_events(
    memory: Ledger, options: dict[str, Any]
) -> None:
    history = History(memory, make_spec(**options), 5)
    history.publish_first()
    history.go_on(150)
    assert memory.faults() == check_tables(memory.store, history.problem) == []


def test_the_tables_are_compared_on_any_database(ledger: Ledger) -> None:
    history = History(ledger, make_spec(late="rewards"), 5)
    history.publish_first()
    history.go_on(100)
    assert ledger.faults() == []
    with ledger.store.writing() as connection:
        row: Any = connection.execute(sa.select(schema.claims).limit(1)).one()
        connection.execute(sa.delete(schema.claims).where(schema.claims.c.episode == row.episode))
    [fault] = ledger.faults()
    assert fault.startswith("The table claims differs from the events: the first row that differs")


@pytest.mark.parametrize("table", DERIVED, ids=[table.name for table in DERIVED])
def test_a_change_of_any_derived_column_is_found(played: History, table: sa.Table) -> None:
    columns = DERIVED[table]
    key = next(iter(table.primary_key))
    with played.ledger.store.reading() as connection:
        last = connection.scalar(sa.select(sa.func.max(key)))
    for name in columns:
        if name in ("id", "problem"):  # foreign keys
            continue
        column = table.c[name]
        before = sa.select(column).where(key == last).order_by(column).limit(1)
        with played.ledger.store.reading() as connection:
            old = connection.scalar(before)
        new = "7" if isinstance(column.type, sa.Text | sa.String) else 10**9
        change = sa.update(table).where(key == last)
        if old is not None:
            change = change.where(column == old)
        tamper(played, change.values({name: new}))
        assert check_tables(played.ledger.store), name
        tamper(played, sa.update(table).where(column == new).values({name: old}))
        assert check_tables(played.ledger.store) == []


def test_the_first_row_that_differs_is_named(played: History) -> None:
    id, of = played.episodes[3], schema.episodes
    tamper(played, sa.update(of).where(of.c.id == id).values(version=7))
    seq = seq_of(played, id, "opened")
    row = {"problem": played.problem, "number": 4, "id": id, "version": 1, "seq": seq}
    row |= {"withdrawn": None, "lost": None}
    sentence = (
        "The table episodes differs from the events: the first row that differs must be "
        f"{json.dumps(row)}, got {json.dumps(row | {'version': 7})}."
    )
    assert played.ledger.faults() == [sentence]
    assert check_tables(played.ledger.store, played.problem) == [sentence]
    assert check_tables(played.ledger.store, 1) == []  # the other problem


def test_rows_that_are_missing_or_too_many_are_named(played: History) -> None:
    of = schema.claims
    seq, heard = (seq_of(played, played.episodes[0], kind) for kind in ("opened", "feedback"))
    tamper(played, sa.delete(of).where(of.c.episode == seq))
    [fault] = played.ledger.faults()
    assert json.dumps({"episode": seq, "seqs": str(heard), "replaced": ""}) in fault
    tamper(played, sa.insert(of).values(episode=seq, seqs=str(heard), replaced=""))
    assert played.ledger.faults() == []
    tamper(played, sa.insert(of).values(episode=10**6, seqs="5", replaced=""))
    [fault] = played.ledger.faults()
    assert fault.endswith('must be null, got {"episode": 1000000, "seqs": "5", "replaced": ""}.')


def test_what_was_not_redacted_or_need_not_have_been_is_told(played: History) -> None:
    of = schema.events
    gone, here = (seq_of(played, played.episodes[n], "feedback") for n in (2, 3))
    tamper(played, sa.update(of).where(of.c.seq == gone).values(redacted=False))
    sentence = f"Event {gone} belongs to a withdrawn episode, but is not redacted."
    assert check_tables(played.ledger.store) == [sentence]
    tamper(
        played,
        sa.update(of).where(of.c.seq == gone).values(redacted=True),
        sa.update(of).where(of.c.seq == here).values(redacted=True),
    )
    sentence = f"Event {here} is redacted, but its episode was not withdrawn."
    assert check_tables(played.ledger.store) == [sentence]


def test_a_subject_of_a_withdrawn_episode_is_told(played: History) -> None:
    of, seq = schema.subjects, seq_of(played, played.episodes[2], "opened")
    tamper(played, sa.update(of).where(of.c.episode == seq).values(subject="Ann"))
    assert check_tables(played.ledger.store) == [
        f"Event {seq} opens a withdrawn episode, but its subject is still stored."
    ]


def test_events_that_the_tables_cannot_follow_are_told(played: History) -> None:
    of, seq = schema.events, seq_of(played, played.episodes[7], "opened")
    tamper(played, sa.update(of).where(of.c.seq == seq).values(body="{}"))
    faults = check_tables(played.ledger.store)
    assert faults[0] == f"The tables cannot follow event {seq}. KeyError: 'number'"


def test_a_missing_end_of_the_ledger_is_told(ledger: Ledger) -> None:
    problem = samples.defined(ledger)
    samples.opened(ledger, problem)
    drop = "DROP TRIGGER events_stay" + (" ON events" if ledger.store.on_postgres else "")
    last = samples.at(ledger, ledger.last)
    with ledger.store.writing() as connection:
        connection.exec_driver_sql(drop)
        connection.exec_driver_sql(f"DELETE FROM events WHERE seq = {last.seq}")
    before = samples.at(ledger, last.seq - 1)
    assert ledger.faults()[0] == (
        f"The ledger must end with event {last.seq} and the digest {last.sha}, "
        f"got event {before.seq} with the digest {before.sha}."
    )


def test_memory_stays_flat_over_many_episodes(memory: Ledger) -> None:
    def peak(problem: int) -> int:
        tracemalloc.start()
        try:
            assert audit.check_tables(memory.store, problem) == []
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = samples.defined(memory, "few"), samples.defined(memory, "many")
    for problem, count in ((few, 1500), (many, 4500)):
        ids = samples.opened(memory, problem, count)
        memory.append([Feedback(id, samples.whole(1)) for id in ids])
    peak(few)  # whatever is made once
    assert peak(many) < 1.5 * peak(few)
