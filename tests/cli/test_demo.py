"""`belated demo`, as it is typed."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from belated.cli import demo as command
from belated.cli.main import app
from belated.client import Client
from belated.demo.simulation import FeedbackSchedule
from belated.ledger import Ledger, Part, ProblemSpec
from service.site import wait_until

BELATED = [sys.executable, "-W", "error", "-c", "from belated.cli.main import main; main()"]


@contextmanager
def demo(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A demo in a process of its own, whose temporary folder is made in `folder`."""
    with subprocess.Popen(
        [*BELATED, "demo", "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(folder), "PYTHONUTF8": "1"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def typed(*words: str) -> Any:
    return CliRunner().invoke(app, ["demo", *words], catch_exceptions=False)


def counts(summary: str) -> dict[str, int]:
    """The numbers before some words of a summary."""
    words = ("patients", "sent,", "never", "pending", "were sent twice", "times")
    found = {word: re.search(rf"([\d,]+) {word}", summary) for word in words}
    return {word: int(one[1].replace(",", "")) for word, one in found.items() if one}


def test_it_ends_by_itself_and_what_it_says_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(command, "SETTLE_TIMEOUT_S", 600.0)
    words = ["--episodes", "100", "--rate", "400", "--mean-delay", "10", "--never", "0.1"]
    done = typed("--port", "0", *words)
    assert (done.exit_code, done.stderr) == (0, "")
    drawn = [
        FeedbackSchedule(mean_delay=10, never=0.1, seed=7).deliveries(k) for k in range(1, 101)
    ]
    never = sum(not deliveries for deliveries in drawn)
    twice = sum(one.repeated for deliveries in drawn for one in deliveries)
    *_, first, second = done.stdout.splitlines()
    assert counts(first) == {
        "patients": 100,
        "sent,": 100 - never,
        "never": never,
        "pending": never,
        "were sent twice": twice,
        "times": twice,
    }
    assert never > 0
    assert re.fullmatch(
        r"Mean return: \d\.\d\d for the first 10 patients, \d\.\d\d for the last 10; "
        r"optimal: 4\.71\.",
        second,
    )
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_it_in_order_and_a_store_is_kept(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'kept.db'}"
    with demo(tmp_path, "--rate", "50", "--store", store) as process:
        assert process.stdout is not None
        result = next(line for line in process.stdout if "Dashboard: " in line)
        address = result.split("Dashboard: ")[1].split("/#clinic ;")[0]
        client = Client(address)
        wait_until(lambda: client.status("clinic")["begun"] > 5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    *_, first, _, kept = out.splitlines()
    assert kept == f"Everything is stored in {store}."
    with Ledger.open(store) as ledger:
        clinic = ledger.problem("clinic")
        assert clinic is not None
        opened = list(ledger.events(clinic.id, kinds=["opened"]))
    shown = counts(first)
    assert shown["patients"] == len(opened)
    assert shown["pending"] == shown["patients"] - shown["sent,"]

    again = typed("--port", "0", "--store", store, "--episodes", "3", "--mean-delay", "0")
    assert again.exit_code == 0, again.output
    assert "3 patients. " in again.output
    with Ledger.open(store) as ledger:
        assert len(list(ledger.events(clinic.id, kinds=["opened"]))) == len(opened) + 3


def test_another_port_is_taken_where_none_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(command, "DEFAULT_PORT", port)
        with command.open_demo_listener(None) as free:
            other = free.getsockname()[1]
        assert other != port
        assert capsys.readouterr().out == f"Port {port} is in use; using {other} instead.\n"
        with pytest.raises(typer.BadParameter, match="cannot listen on"):
            command.open_demo_listener(port)


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ledger.db'}"


def test_a_store_with_tokens_is_refused(store: str) -> None:
    with Ledger.open(store) as ledger:
        ledger.tokens.add("id", b"hash", scopes=["admin"], problem=None)
    result = typed("--store", store, "--port", "0")
    assert result.exit_code == 2
    assert "has tokens" in result.output


def test_a_store_with_another_clinic_is_refused(store: str) -> None:
    other = ProblemSpec(
        name="clinic",
        states=["ill"],
        actions=["wait"],
        horizon=1,
        rewards=None,
        base=Part("ucrl2"),
        updater=Part("active"),
        episodes=10,
    )
    with Ledger.open(store) as ledger:
        ledger.define(other)
    result = typed("--store", store, "--port", "0")
    assert result.exit_code == 1
    assert "The demo cannot continue: " in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rate", "0"], "'--rate'"),
        (["--seed", str(2**64)], "seed must lie in"),
        (["--store", "mysql://x"], "store must be of the kind sqlite"),
    ],
)
def test_wrong_usage_leaves_with_2_and_a_sentence(words: list[str], message: str) -> None:
    result = typed("--port", "0", *words)
    assert result.exit_code == 2
    assert message in result.output
