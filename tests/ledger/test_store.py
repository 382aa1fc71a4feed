"""Addresses of databases, good and bad."""

import os
import re
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

import ledger_samples as samples
from belated.ledger import Ledger


@pytest.mark.parametrize(
    ("url", "error", "sentence"),
    [
        ("belated.db", ValueError, "store must be an address such as sqlite:///belated.db or"),
        (
            "mysql://host/x",
            ValueError,
            "store must be of the kind sqlite or postgresql, got 'mysql'.",
        ),
        ("sqlite:////no/such/folder/x.db", OSError, "store is in /no/such/folder, and there is no"),
        ("sqlite:////etc", OSError, "store /etc cannot be opened: Is a directory."),
        (
            "postgresql://someone:secret@localhost:1/x?connect_timeout=2",
            ConnectionError,
            "store postgresql+psycopg://someone:***@localhost:1/x",
        ),
    ],
)
def test_an_address_that_leads_nowhere_gets_a_sentence(
    url: str, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(sentence)}") as raised:
        Ledger.open(url)
    assert str(raised.value).endswith(".")
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_file_that_is_no_database_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "letter.db").write_text("Dear all, " * 100)
    with pytest.raises(ConnectionError, match=r"cannot be opened: file is not a database\.$"):
        Ledger.open(f"sqlite:///{tmp_path / 'letter.db'}")


def test_a_new_file_that_another_holds_is_waited_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor() as threads:
            opened = threads.submit(Ledger.open, url)
            with pytest.raises(TimeoutError):
                opened.result(timeout=0.2)
            other.execute("COMMIT")
            with opened.result() as ledger:
                samples.defined(ledger)


def test_a_new_file_that_another_does_not_let_go_gets_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("belated.ledger.store.LOCK_TIMEOUT_MS", 1)
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ConnectionError, match=r"cannot be opened: database is locked\.$"):
            Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")


@pytest.mark.parametrize("query", ["", "?timeout=5", "?uri=false"])
def test_a_file_is_made_for_its_owner_alone(tmp_path: Path, query: str) -> None:
    before = os.umask(0o022)
    try:
        with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}{query}") as ledger:
            samples.defined(ledger)
            modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {0o600}


def test_a_uri_is_left_to_sqlite(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///file:{file}?mode=rwc&uri=true") as ledger:
        assert ledger.last == 0
    assert file.exists()


def test_a_closed_ledger_says_so(sqlite_url: str) -> None:
    ledger = Ledger.open(sqlite_url)
    events = ledger.events()
    ledger.close()
    for use in (lambda: ledger.last, lambda: list(events), lambda: ledger.define(samples.spec())):
        with pytest.raises(ValueError, match=r"^The ledger is closed\.$"):
            use()


def test_two_ledgers_in_memory_are_two() -> None:
    with Ledger.open("sqlite://") as one, Ledger.open("sqlite://") as other:
        samples.defined(one)
        assert (one.last, other.last) == (2, 0)


def test_an_address_of_postgres_needs_no_driver(postgres_url: str) -> None:
    plain = postgres_url.replace("postgresql+psycopg", "postgresql")
    with Ledger.open(plain) as ledger:
        samples.defined(ledger)
    with Ledger.open(plain.replace("postgresql", "postgres", 1)) as ledger:
        assert ledger.last == 2


def run(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_postgres_without_its_driver_is_named() -> None:
    done = run(
        "import sys; sys.modules['psycopg'] = None; from belated.ledger import Ledger;"
        "Ledger.open('postgresql://host/x')"
    )
    assert done.stderr.splitlines()[-1] == (
        "ImportError: A store on PostgreSQL needs psycopg: pip install 'belated[postgres]'."
    )
