"""The commands `belated serve` and `belated token`."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from typer.testing import CliRunner

from belated.cli.serve import serve
from belated.cli.token import token
from belated.ledger import Ledger
from belated.service.tokens import find_token
from histories import make_spec
from processes import Program
from service.site import CLINIC, wait_until

app = typer.Typer()
app.command()(serve)
app.add_typer(token)


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


def belated(*words: str) -> Any:
    return CliRunner().invoke(app, [*words], catch_exceptions=False)


def created(store: str, *words: str) -> str:
    made = belated("token", "create", "--store", store, *words)
    assert made.exit_code == 0, made.output
    return str(made.stdout.strip())


def test_a_token_is_shown_once_and_only_its_hash_is_kept(store: str, tmp_path: Path) -> None:
    text = created(store, "--scope", "decide, feedback")
    with Ledger.open(store) as ledger:
        [kept] = ledger.tokens.all()
        assert find_token({kept.id: kept}, text) == kept
    assert kept.scopes == ("decide", "feedback")
    secret = text.split("_", 2)[2]
    listed = belated("token", "list", "--store", store).stdout
    assert kept.id in listed
    assert secret not in listed
    assert not any(secret.encode() in file.read_bytes() for file in tmp_path.iterdir())


def test_a_token_can_be_restricted_to_a_problem_and_revoked(store: str) -> None:
    with Ledger.open(store) as ledger:
        ledger.define(make_spec("clinic"))
    id = created(store, "--scope", "read", "--problem", "clinic").split("_")[1]
    assert "clinic" in belated("token", "list", "--store", store).stdout
    assert belated("token", "revoke", id, "--store", store).exit_code == 0
    again = belated("token", "revoke", id, "--store", store)
    assert again.exit_code == 2
    assert "no token" in again.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scope", "reed"], "scope must be one of"),
        (["--scope", ","], "scope must be one of"),
        (["--scope", "read", "--problem", "nowhere"], "There is no problem"),
    ],
)
def test_invalid_options_of_a_token_are_reported(
    store: str, words: list[str], message: str
) -> None:
    said = belated("token", "create", "--store", store, *words)
    assert said.exit_code == 2
    assert message in said.output


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_a_public_address_requires_a_token(store: str, host: str) -> None:
    said = belated("serve", "--store", store, "--host", host)
    assert said.exit_code == 2
    assert "belated token create" in " ".join(said.output.split())


def test_a_revoked_token_does_not_allow_a_public_address(store: str) -> None:
    id = created(store, "--scope", "admin").split("_")[1]
    belated("token", "revoke", id, "--store", store)
    assert belated("serve", "--store", store, "--host", "0.0.0.0").exit_code == 2


def test_an_unusable_store_or_port_is_reported(store: str) -> None:
    assert "store must be of the kind sqlite" in belated("serve", "--store", "mysql://x").output
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = belated("serve", "--store", store, "--port", port)
    assert said.exit_code == 2
    assert "cannot listen on" in said.output


@pytest.fixture
def served(store: str, tmp_path: Path) -> Iterator[tuple[list[str], Program]]:
    """Run a server in a process of its own."""
    code = "import typer; from belated.cli.serve import serve; typer.run(serve)"
    process = Program(code, "--store", store, "--port", "0", stderr=tmp_path / "stderr.txt")
    yield [process.stdout.readline() for _ in range(4)], process
    process.kill()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_stopped_and_loses_nothing(
    served: tuple[list[str], Program], store: str, end: signal.Signals, tmp_path: Path
) -> None:
    said, process = served
    address = said[0].split(" at ")[1].split(";")[0]
    assert said[2].startswith("WARNING: there are no tokens")
    assert f"belated token create --scope admin --store {store}" in said[3]
    with httpx.Client(base_url=address, timeout=30) as client:
        wait_until(lambda: client.get("/readyz").status_code == 200)
        assert client.post("/v1/problems", json=CLINIC).status_code == 201
        opened = [client.post("/v1/problems/clinic/episodes").json() for _ in range(5)]
        created(store, "--scope", "admin")
        wait_until(lambda: client.get("/v1/problems").status_code == 401)
    os.kill(process.pid, end)
    code, out = process.end()
    assert (code, (tmp_path / "stderr.txt").read_text()) == (0, "")
    assert out == f"Stopped; everything is stored in {store}.\n"
    # no withdrawn data can remain there
    assert [file.name for file in tmp_path.iterdir() if "wal" in file.name] == []
    with Ledger.open(store) as ledger:
        assert all(ledger.episode(one["episode"]) for one in opened)
