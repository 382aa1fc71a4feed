"""Processes stopped by SIGSTOP: a writer that holds the lock, and the PostgreSQL server."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from belated.ledger import Ledger
from belated.ledger.store import WRITER_LOCK_ID
from databases import postgres, postgres_server, postgres_url
from processes import Program
from service.site import PLAYED, Site, wait_until

__all__ = ["postgres", "postgres_url"]

WRITER = """
import sys
import psycopg
from belated.ledger import store
store.IDLE_IN_TRANSACTION_TIMEOUT_S = 3
from belated.ledger import Ledger
from belated.ledger.store import LOCK_STATEMENT
with Ledger.open(sys.argv[1]) as ledger:
    sys.stdin.readline()
    if sys.argv[2] == "between statements":
        with ledger.store.writing():
            print("sent", flush=True)
            sys.stdin.read()
    else:
        address = sys.argv[1].replace("+psycopg", "")
        with psycopg.connect(address, autocommit=True) as driver, driver.pipeline():
            driver.execute(LOCK_STATEMENT)
            print("sent", flush=True)
            sys.stdin.read()
"""
"""Program that begins a write transaction when it reads a line, and does not end it."""


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """Stop processes by SIGSTOP until the end of the block."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):  # a worker process may end at any time
                os.kill(pid, signal.SIGCONT)


def holds_lock(url: str) -> bool:
    """Return whether a session at `url` holds the lock of the writers."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        held = connection.exec_driver_sql(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted "
            f"AND (classid::bigint << 32) + objid::bigint = {WRITER_LOCK_ID}"
        ).scalar()
    engine.dispose()
    return held == 1


@pytest.mark.parametrize("when", ["between statements", "in a pipeline"])
def test_others_write_again_when_a_stopped_writer_holds_the_lock(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    monkeypatch.setattr("belated.ledger.store.LOCK_TIMEOUT_S", 1)
    monkeypatch.setattr("belated.ledger.store.STALLED_AFTER_S", 3)
    with (
        Ledger.open(postgres_url) as ledger,
        Site(ledger, write_probe_ttl_s=0.0, write_probe_timeout_s=0.5) as site,
    ):
        writer = Program(WRITER, postgres_url, when, stderr=Path(os.devnull))
        site.define()
        site.host.step()
        path = f"/v1/episodes/{site.open()}/feedback"
        assert site.get("/readyz").json()["reasons"] == []
        writer.stdin.write("begin\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "sent\n"
        with stopped([writer.pid]):
            # the server may receive a statement of a pipeline later than the next request
            wait_until(lambda: holds_lock(postgres_url))
            waits = site.start(site.asking("GET", "/readyz"))
            refused = site.post(path, PLAYED)
            assert refused.status_code == 503, refused.text
            assert refused.headers["retry-after"] == "1"
            assert refused.json()["message"] == (
                "The store is unavailable: lock timeout (55P03). Try again."
            )
            assert waits().status_code == 503
            assert waits().json()["reasons"] == ["The store cannot be written to: no response."]
            wait_until(lambda: site.post(path, PLAYED).status_code == 201)
            wait_until(lambda: site.get("/readyz").status_code == 200)
        writer.kill()


def server_pids(url: str) -> list[int]:
    """Return the ids of all processes of the server at `url`."""
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg"))
    with engine.connect() as connection:
        folder = connection.exec_driver_sql("SHOW data_directory").scalar()
    engine.dispose()
    first = int(Path(str(folder), "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, children)]


def test_a_stopped_server_leaves_no_request_without_response() -> None:
    with (
        postgres_server() as url,
        Ledger.open(url) as ledger,
        Site(ledger, store_timeout_s=0.5, slow_timeout_s=1.0, write_probe_timeout_s=0.5) as site,
    ):
        with Site(ledger) as patient:  # a busy machine may take longer than half a second
            patient.define()
            patient.host.step()
            paths = [f"/v1/episodes/{patient.open()}/feedback" for _ in range(20)]
        site.host.step()
        with stopped(server_pids(url)):
            requests = [site.asking("POST", path, json=PLAYED) for path in paths]
            requests += [
                site.asking("GET", path)
                for path in ("/v1/problems", "/v1/problems/clinic/status", "/metrics", "/readyz")
            ]
            answers = site.ask_together(requests)
            assert {answer.status_code for answer in answers} == {503}
            assert {answer.headers.get("retry-after") for answer in answers[:-1]} == {"1"}
            assert "The store cannot be written to: no response." in answers[-1].json()["reasons"]
        for path in paths:
            wait_until(lambda path=path: site.post(path, PLAYED).status_code in (200, 201))  # type: ignore[misc]
        wait_until(lambda: site.get("/readyz").status_code == 200)


@pytest.mark.parametrize(("path", "method"), [("/metrics", "events"), ("/v1/problems", "problems")])
def test_metrics_and_lists_wait_for_the_store_as_long_as_other_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, method: str
) -> None:
    with (
        Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger,
        Site(ledger, token_ttl_s=600.0, store_timeout_s=0.5, slow_timeout_s=600.0) as site,
    ):
        site.define()
        site.host.step()
        assert site.get(path).status_code == 200
        go_on, read = threading.Event(), getattr(Ledger, method)

        def wait(self: Ledger, *given: Any, **options: Any) -> Any:
            assert go_on.wait(60)
            return read(self, *given, **options)

        monkeypatch.setattr(Ledger, method, wait)
        answer = site.start(site.asking("GET", path))
        try:
            assert answer().status_code == 503
        finally:
            go_on.set()
