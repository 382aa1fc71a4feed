"""Limits on the time for which a connection to PostgreSQL waits."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import Ledger, store
from belated.ledger.audit import copy
from belated.ledger.store import LOCK_STATEMENT, OUTAGES, WRITER_LOCK_ID, Store, end_stalled_writer

SETTINGS = ["lock_timeout", "idle_in_transaction_session_timeout", "statement_timeout"]


def read_settings(connection: sa.Connection) -> list[str]:
    return [str(connection.exec_driver_sql(f"SHOW {name}").scalar()) for name in SETTINGS]


def read_parameters(connection: sa.Connection) -> dict[str, str]:
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, psycopg.Connection)
    return driver.info.get_parameters()


def test_every_connection_has_limits(postgres_url: str) -> None:
    with Ledger.open(postgres_url) as ledger:
        connections = [ledger.store.engine.connect() for _ in range(3)]
        for connection in connections:
            assert read_settings(connection) == ["5s", "10s", "30s"]
            found = read_parameters(connection)
            expected = {"connect_timeout": 5, **store.KEEPALIVE}
            assert {name: found[name] for name in expected} == {
                name: str(value) for name, value in expected.items() if name in found
            }
            connection.close()


def test_limits_in_the_url_are_kept(postgres_url: str) -> None:
    url = sa.make_url(postgres_url).update_query_dict({"connect_timeout": "7"})
    options = f"{url.query['options']} -cstatement_timeout=2min"
    with (
        Ledger.open(
            url.update_query_dict({"options": options}).render_as_string(hide_password=False)
        ) as ledger,
        ledger.store.reading() as connection,
    ):
        assert read_settings(connection) == ["5s", "10s", "2min"]
        assert read_parameters(connection)["connect_timeout"] == "7"


def test_long_transactions_have_no_limits(postgres_url: str, sqlite_url: str) -> None:
    with Ledger.open(postgres_url) as ledger:
        for transaction in (
            ledger.store.consistent_reading(),
            ledger.store.writing(limited=False),
        ):
            with transaction as connection:
                assert read_settings(connection) == ["0", "0", "0"]
        with ledger.store.writing() as connection:
            assert read_settings(connection) == ["5s", "10s", "30s"]
        with Ledger.open(sqlite_url) as source:
            samples.defined(source)
            assert copy(source, ledger)["problems"] == 1


def test_a_writer_does_not_wait_for_the_lock_for_ever(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 1)
    with Ledger.open(postgres_url) as ledger, Ledger.open(postgres_url) as other:
        samples.defined(ledger)
        with other.store.writing():
            with pytest.raises(OUTAGES) as raised:
                samples.defined(ledger, "second")
            assert "LockNotAvailable" in str(raised.value)
        samples.defined(ledger, "second")


@contextmanager
def locked(ledger: Ledger, other: Ledger, then: str | None = None) -> Iterator[None]:
    """Hold the lock of the writers, after some of the statements of a pipeline were sent."""
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
    url = ledger.store.engine.url.set(drivername="postgresql")
    address = url.render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as driver, driver.pipeline():
        driver.execute(LOCK_STATEMENT)
        if then is not None:
            driver.execute(then)
        for _ in range(600):
            with other.store.reading() as connection:
                if connection.exec_driver_sql(held).scalar():
                    break
            time.sleep(0.05)
        else:
            raise AssertionError("The lock was not acquired.")
        yield


def test_a_session_that_holds_the_lock_and_sends_nothing_is_ended(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "STALLED_AFTER_S", 0)
    ended = False
    with Ledger.open(postgres_url) as ledger, Ledger.open(postgres_url) as other:
        with suppress(psycopg.OperationalError), locked(ledger, other):
            ended = end_stalled_writer(other.store.engine, WRITER_LOCK_ID)
        assert ended
        samples.defined(ledger)


def test_no_other_session_is_ended(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(postgres_url) as ledger, Ledger.open(postgres_url) as other:
        engine = other.store.engine
        with locked(ledger, other):  # not for long enough
            assert not end_stalled_writer(engine, WRITER_LOCK_ID)
        monkeypatch.setattr(store, "STALLED_AFTER_S", 0)
        with locked(ledger, other):  # another lock
            for id in (WRITER_LOCK_ID + 1, WRITER_LOCK_ID + 2**32):
                assert not end_stalled_writer(engine, id)
        with locked(ledger, other, then="SELECT pg_sleep(0.5)"):  # busy
            assert not end_stalled_writer(engine, WRITER_LOCK_ID)
        with ledger.store.writing():  # idle, which the server detects itself
            assert not end_stalled_writer(engine, WRITER_LOCK_ID)


def end_session(ledger: Ledger, other: Ledger) -> None:
    """Make the server end the connection of `ledger` while it is not used."""
    with ledger.store.reading() as connection:
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    with other.store.reading() as connection:
        query = sa.text("SELECT pg_terminate_backend(:pid, 10000)")
        assert connection.execute(query, {"pid": pid}).scalar_one()


def test_a_connection_that_broke_while_idle_is_replaced(postgres_url: str) -> None:
    with Ledger.open(postgres_url) as ledger, Ledger.open(postgres_url) as other:
        end_session(ledger, other)
        samples.defined(ledger)


def test_a_probe_writes_and_changes_nothing(url: str) -> None:
    with Ledger.open(url) as ledger:
        before = ledger.digest()
        ledger.store.probe()
        assert ledger.digest() == before
        assert ledger.faults() == []
    Ledger.open(url).close()


def test_a_probe_fails_if_the_database_is_read_only(url: str) -> None:
    Ledger.open(url).close()
    opened = Store.open(url)
    try:

        @sa.event.listens_for(opened.writer, "begin")
        def read_only(connection: sa.Connection) -> None:
            if opened.on_postgres:
                connection.exec_driver_sql("SET TRANSACTION READ ONLY")
            else:
                connection.exec_driver_sql("PRAGMA query_only = ON")

        with pytest.raises(OUTAGES):
            opened.probe()
    finally:
        opened.close()
