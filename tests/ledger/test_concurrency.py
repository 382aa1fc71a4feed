"""Several processes write to one ledger on PostgreSQL, and some of them fail."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import (
    AlreadyRecorded,
    Ledger,
    Recorded,
)
from belated.ledger.store import OUTAGES
from processes import Program


@pytest.fixture
def ledger(postgres_url: str) -> Iterator[Ledger]:
    with Ledger.open(postgres_url) as opened:
        yield opened


@pytest.fixture
def other(postgres_url: str, ledger: Ledger) -> Iterator[Ledger]:
    """The same ledger, as another process has it."""
    with Ledger.open(postgres_url) as opened:
        yield opened


def check_sound(ledger: Ledger) -> None:
    """Check that events are numbered without gaps, and that nothing is recorded twice."""
    events = list(ledger.events())
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert ledger.faults() == []


@pytest.mark.parametrize("isolation", ["read committed", "serializable"])
def test_a_writer_that_waits_sees_what_was_committed_meanwhile(
    postgres_url: str, isolation: str
) -> None:
    url = sa.make_url(postgres_url)
    options = f"{url.query['options']} -cdefault_transaction_isolation={isolation.split()[0]}"
    if isolation == "serializable":
        url = url.update_query_dict({"options": options})
    with Ledger.open(url.render_as_string(hide_password=False)) as ledger:
        problem = samples.defined(ledger)
        ids = samples.opened(ledger, problem, 3)
        samples.tell(ledger, ids[0], samples.whole())
        with ThreadPoolExecutor(1) as pool, Ledger.open(postgres_url) as other:
            last = other.last
            with other.store.writing() as connection:
                sent = pool.submit(samples.tell, ledger, ids[1], samples.whole(1))
                wait_for_writer(postgres_url)
                values = {"seq": last + 1, "problem": problem}
                connection.execute(
                    sa.text(
                        "INSERT INTO events (seq, problem, kind, at, body, sha, redacted) "
                        "VALUES (:seq, :problem, 'tick', 0, '{}', '', false)"
                    ),
                    values,
                )
            assert sent.result(30) == Recorded(last + 2)


def wait_for_writer(url: str) -> int:
    """Wait until a writer waits for the lock, and return the id of its server process."""
    query = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    address = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as connection:
        while True:
            found = connection.execute(query).fetchone()
            if found is not None:
                return int(found[0])


def test_a_connection_that_breaks_while_it_waits_records_nothing(
    ledger: Ledger, other: Ledger, postgres_url: str
) -> None:
    [id, known] = samples.opened(ledger, samples.defined(ledger), 2)
    samples.tell(ledger, known, samples.whole())
    before = ledger.last
    with ThreadPoolExecutor(1) as pool, other.store.writing() as connection:
        sent = pool.submit(samples.tell, ledger, id, samples.whole(1))
        pid = wait_for_writer(postgres_url)
        connection.exec_driver_sql("SELECT pg_terminate_backend(%s)", (pid,))
        with pytest.raises(OUTAGES):
            sent.result(30)
    assert ledger.last == before
    assert isinstance(samples.tell(ledger, id, samples.whole(1)), Recorded)
    check_sound(ledger)


def test_after_a_restart_of_the_server_no_call_fails(ledger: Ledger, other: Ledger) -> None:
    [id, known] = samples.opened(ledger, samples.defined(ledger), 2)
    samples.tell(ledger, known, samples.whole())
    connections = [ledger.store.writer.connect() for _ in range(3)]
    pids = [each.exec_driver_sql("SELECT pg_backend_pid()").scalar() for each in connections]
    for each in connections:
        each.close()
    with other.store.reading() as connection:
        connection.exec_driver_sql("SELECT pg_terminate_backend(pid) FROM unnest(%s) pid", (pids,))
    assert isinstance(samples.tell(ledger, id, samples.whole(1)), Recorded)


def test_an_insertion_that_fails_leaves_nothing_and_releases_the_lock(
    ledger: Ledger, other: Ledger
) -> None:
    ids = samples.opened(ledger, samples.defined(ledger), 2)
    samples.tell(ledger, ids[0], samples.whole())
    before = list(ledger.events())
    constraint = "ALTER TABLE claims ADD CONSTRAINT full_disk CHECK (episode < 0) NOT VALID"
    with other.store.writing() as connection:
        connection.exec_driver_sql(constraint)
    with pytest.raises(sa.exc.IntegrityError):
        samples.tell(ledger, ids[1], samples.whole(1))
    assert list(ledger.events()) == before
    with other.store.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE claims DROP CONSTRAINT full_disk")
    assert isinstance(samples.tell(ledger, ids[1], samples.whole(1)), Recorded)
    check_sound(ledger)


SENDER = """
import sys
import ledger_samples as samples
from belated.ledger import Ledger
with Ledger.open(sys.argv[1]) as ledger:
    samples.tell(ledger, sys.argv[2], samples.whole())
    print("ready", flush=True)
    sys.stdin.readline()
    samples.tell(ledger, sys.argv[3], samples.whole(1))
"""


def test_a_process_that_is_killed_while_it_waits_records_its_feedback_at_most_once(
    ledger: Ledger, other: Ledger, postgres_url: str
) -> None:
    known, id = samples.opened(ledger, samples.defined(ledger), 2)
    sender = Program(SENDER, postgres_url, known, id)
    assert sender.stdout.readline() == "ready\n"
    with other.store.writing():
        sender.stdin.write("go\n")
        sender.stdin.flush()
        wait_for_writer(postgres_url)
        sender.kill()
    with other.store.writing():  # the lock is free again
        pass
    outcome = samples.tell(ledger, id, samples.whole(1))
    assert isinstance(outcome, Recorded | AlreadyRecorded)
    events = list(ledger.events(kinds=["feedback"]))
    assert [event.episode for event in events] == [known, id]
    check_sound(ledger)
