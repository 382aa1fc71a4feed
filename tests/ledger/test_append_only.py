"""The database itself refuses to change what happened."""

import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import Ledger, schema

REDACTED = "body = NULL, salt = NULL, event_time = NULL, redacted = TRUE"


@pytest.fixture
def told(ledger: Ledger) -> int:
    """The seq of some feedback."""
    [episode] = samples.opened(ledger, samples.defined(ledger))
    return samples.seq(samples.tell(ledger, episode, samples.whole(5)))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = '{}' WHERE seq = {told}",
        "UPDATE events SET at = at + 1",
        "UPDATE events SET seq = 99 WHERE seq = {told}",
        "UPDATE events SET episode = NULL, " + REDACTED + " WHERE seq = {told}",
        "UPDATE events SET sha = 'x', " + REDACTED + " WHERE seq = {told}",
        "UPDATE events SET redacted = TRUE WHERE seq = {told}",
        "UPDATE events SET " + REDACTED + " WHERE seq = 1",
        "DELETE FROM events",
        "DELETE FROM events WHERE seq = {told}",
    ],
)
def test_an_event_cannot_be_changed_or_deleted(ledger: Ledger, told: int, statement: str) -> None:
    before = list(ledger.events())
    with (
        pytest.raises(sa.exc.DBAPIError, match="events are append-only"),
        ledger.store.writing() as connection,
    ):
        connection.exec_driver_sql(statement.replace("{told}", str(told)))
    assert list(ledger.events()) == before


def test_only_the_redaction_of_feedback_is_let_through(ledger: Ledger, told: int) -> None:
    with ledger.store.writing() as connection:
        connection.exec_driver_sql(f"UPDATE events SET {REDACTED} WHERE seq = {told}")
    assert [event.seq for event in ledger.events() if event.redacted] == [told]
    with pytest.raises(sa.exc.DBAPIError), ledger.store.writing() as connection:
        connection.exec_driver_sql(f"UPDATE events SET redacted = FALSE WHERE seq = {told}")


@pytest.mark.parametrize("step", [-1, 0, 2])
def test_an_event_cannot_be_put_in_out_of_turn(ledger: Ledger, told: int, step: int) -> None:
    row = {**next(iter(ledger.events()))._asdict(), "seq": told + step}
    row["body"] = row.pop("text")
    with (
        pytest.raises(sa.exc.DBAPIError, match="numbered without gaps"),
        ledger.store.writing() as connection,
    ):
        connection.execute(sa.insert(schema.events).values(**row))


def test_no_event_can_be_replaced_on_sqlite(sqlite_url: str) -> None:
    with Ledger.open(sqlite_url) as ledger:
        samples.defined(ledger)
        with pytest.raises(sa.exc.DBAPIError), ledger.store.writing() as connection:
            connection.exec_driver_sql(
                "INSERT OR REPLACE INTO events SELECT seq, problem, episode, kind, at, event_time,"
                " '{}', salt, sha, redacted FROM events WHERE seq = 1"
            )
        assert ledger.faults() == []


def test_events_cannot_be_truncated_on_postgres(postgres_url: str) -> None:
    with Ledger.open(postgres_url) as ledger:
        samples.defined(ledger)
        with (
            pytest.raises(sa.exc.DBAPIError, match="events are append-only"),
            ledger.store.writing() as connection,
        ):
            connection.exec_driver_sql("TRUNCATE events")


def test_what_was_changed_with_the_guards_off_is_found(ledger: Ledger, told: int) -> None:
    drop = "DROP TRIGGER {}" + (" ON events" if ledger.store.on_postgres else "")
    with ledger.store.writing() as connection:
        for trigger in ("events_keep", "events_stay"):
            connection.exec_driver_sql(drop.format(trigger))
        connection.exec_driver_sql(f"UPDATE events SET body = '[]' WHERE seq = {told}")
        connection.exec_driver_sql("UPDATE events SET redacted = TRUE WHERE seq = 1")
        connection.exec_driver_sql("DELETE FROM events WHERE seq = 2")
    assert ledger.faults()[:3] == [
        "Event 1 is redacted, but not all of its content is deleted.",
        "Event 2 is missing.",
        f"Event {told} has been changed: digest mismatch.",
    ]
