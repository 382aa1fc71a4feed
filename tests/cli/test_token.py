"""`belated token` and `belated serve` on a database that fails."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from belated.cli.serve import serve
from belated.cli.token import token
from belated.ledger import Ledger

app = typer.Typer()
app.command()(serve)
app.add_typer(token)

COMMANDS = {
    "list": ["token", "list"],
    "create": ["token", "create", "--scope", "read"],
    "revoke": ["token", "revoke", "one"],
    "serve": ["serve", "--port", "0"],
}


def call(*words: str) -> Any:
    return CliRunner().invoke(app, [*words], catch_exceptions=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_database_of_another_program_gets_a_sentence_and_is_left_alone(
    tmp_path: Path, command: str
) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("CREATE TABLE events (what)")
    done = call(*COMMANDS[command], "--store", f"sqlite:///{file}")
    if command in ("create", "serve"):
        assert done.exit_code == 1
        assert done.output == "Database error: table events already exists.\n"
    else:
        assert done.exit_code == 2
        shown = " ".join(done.output.replace("│", " ").split())  # the box breaks lines
        assert "has no ledger; check the address." in shown
    with closing(sqlite3.connect(file)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("events",)]


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a ledger that somebody else writes to, and does not finish."""
    monkeypatch.setattr("belated.ledger.store.LOCK_TIMEOUT_MS", 1)
    file = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{file}"):
        pass
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        yield f"sqlite:///{file}"


@pytest.mark.parametrize("command", ["create", "revoke"])
def test_a_database_that_is_being_written_to_gets_a_sentence(busy: str, command: str) -> None:
    done = call(*COMMANDS[command], "--store", busy)
    assert done.exit_code == 1
    assert done.output == "Database error: database is locked.\n"


def test_a_database_that_cannot_be_opened_gets_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "letter.db"
    file.write_text("Dear all, " * 100)
    done = call("token", "list", "--store", f"sqlite:///{file}")
    assert done.exit_code == 1
    assert done.output == f"store sqlite:///{file} cannot be opened: file is not a database.\n"
