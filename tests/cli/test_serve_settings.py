"""Options of `belated serve` and `belated token` come from the environment and from files too."""

from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from belated.cli import serve as module
from belated.cli.serve import serve
from belated.cli.token import token
from belated.ledger import Ledger

app = typer.Typer()
app.command()(serve)
app.add_typer(token)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Arguments with which servers are built; none of them runs."""
    found: list[dict[str, Any]] = []

    class Server:
        def run(self, sockets: Any) -> None:
            found[-1]["port"] = sockets[0].getsockname()[1]

    def build_server(ledger: Ledger, **given: Any) -> Server:
        found.append({"store": ledger.store.engine.url.database, **given})
        return Server()

    monkeypatch.setattr(module, "build_server", build_server)
    return found


def call(*words: str, **environment: str) -> Any:
    return CliRunner().invoke(app, [*words], env=environment, catch_exceptions=False)


def test_every_option_of_serve_has_an_environment_variable(
    tmp_path: Path, calls: list[dict[str, Any]]
) -> None:
    done = call(
        "serve",
        BELATED_STORE=f"sqlite:///{tmp_path / 'one.db'}",
        BELATED_HOST="127.0.0.2",
        BELATED_PORT="0",
        BELATED_INTERVAL="0.5",
        BELATED_RATE_LIMIT="7",
        BELATED_VERBOSE="1",
    )
    assert done.exit_code == 0, done.output
    [given] = calls
    assert given["store"] == str(tmp_path / "one.db")
    assert (given["interval"], given["max_requests_per_s"]) == (0.5, 7)
    assert "http://127.0.0.2:" in done.output
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    names = {param.name: param.envvar for param in command.params}
    assert all(names[name] == f"BELATED_{name.upper()}" for name in names if name != "help")


def test_a_settings_file_gives_defaults(tmp_path: Path, calls: list[dict[str, Any]]) -> None:
    file = tmp_path / "belated.toml"
    file.write_text(f"store = 'sqlite:///{tmp_path / 'two.db'}'\nport = 0\ninterval = 0.25\n")
    done = call("serve", "--settings", str(file))
    assert done.exit_code == 0, done.output
    assert (calls[0]["store"], calls[0]["interval"]) == (str(tmp_path / "two.db"), 0.25)
    call("serve", "--settings", str(file), BELATED_INTERVAL="0.5")
    assert calls[1]["interval"] == 0.5
    call("serve", "--settings", str(file), "--interval", "3", BELATED_INTERVAL="0.5")
    assert calls[2]["interval"] == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [("hosts = 'x'", "unknown key 'hosts'"), ("=", "cannot be read"), (None, "cannot be read")],
)
def test_a_wrong_settings_file_is_a_usage_error(
    tmp_path: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "belated.toml"
    if text is not None:
        file.write_text(text)
    done = call("serve", "--settings", str(file))
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_the_address_of_the_store_is_read_from_a_file(
    tmp_path: Path, calls: list[dict[str, Any]]
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"sqlite:///{tmp_path / 'three.db'}\n")
    other = f"sqlite:///{tmp_path / 'other.db'}"
    done = call("serve", "--port", "0", BELATED_STORE_FILE=str(secret))
    assert done.exit_code == 0, done.output
    call("serve", "--port", "0", "--store", other, BELATED_STORE_FILE=str(secret))
    call("serve", "--port", "0", BELATED_STORE=other, BELATED_STORE_FILE=str(secret))
    names = [Path(given["store"]).name for given in calls]
    assert names == ["three.db", "other.db", "other.db"]
    made = call("token", "create", "--scope", "read", BELATED_STORE_FILE=str(secret))
    assert made.exit_code == 0
    with Ledger.open(secret.read_text().strip()) as ledger:
        assert len(ledger.tokens.all()) == 1


@pytest.mark.parametrize("text", [None, " \n"])
def test_a_missing_or_empty_file_of_the_store_is_a_usage_error(
    tmp_path: Path, text: str | None
) -> None:
    secret = tmp_path / "secret"
    if text is not None:
        secret.write_text(text)
    done = call("serve", BELATED_STORE_FILE=str(secret))
    assert done.exit_code == 2
    assert "BELATED_STORE_FILE" in done.output


def test_tokens_expire_and_roll_over(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    made = call("token", "create", "--scope", "read", "--expires", "90d", BELATED_STORE=store)
    id = made.stdout.split("_")[1]
    rolled = call("token", "roll", id, "--expires", "12h", "--overlap", "1h", BELATED_STORE=store)
    assert rolled.exit_code == 0, rolled.output
    assert rolled.stdout.startswith("belated_")
    with Ledger.open(store) as ledger:
        old, new = ledger.tokens.all()
        ledger.tokens.touch(new.id, new.created)
    assert (old.id, old.scopes, old.problem) == (id, new.scopes, new.problem)
    assert old.expires is not None
    assert new.expires is not None
    assert new.expires - new.created == 12 * 3600 * 1_000_000
    assert 0 <= new.created + 3600 * 1_000_000 - old.expires < 600 * 1_000_000
    listed = call("token", "list", BELATED_STORE=store, COLUMNS="200").output
    assert "Last used" in listed
    assert "Expires" in listed
    gone = call("token", "roll", "nobody", BELATED_STORE=store)
    assert gone.exit_code == 2


@pytest.mark.parametrize("text", ["90", "d", "-1d", "0d", "1y", "999999w"])
def test_a_wrong_duration_is_a_usage_error(tmp_path: Path, text: str) -> None:
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    done = call("token", "create", "--scope", "read", f"--expires={text}", BELATED_STORE=store)
    assert done.exit_code == 2
    assert "such as 90d" in " ".join(done.output.split())
