"""`belated ledger`, as it is typed."""

import json
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from belated.cli.ledger import ledger as app
from belated.ledger import Corrected, Feedback, Ledger, schema
from belated.ledger.audit import TABLES
from belated.ledger.clients import StoredResponse
from belated.online.host import Host
from databases import postgres, postgres_url
from histories import History, make_spec

__all__ = ["postgres", "postgres_url"]


def call(*words: object) -> Any:
    return CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)


def address(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of two problems, with something in every table and something withdrawn."""
    file = tmp_path_factory.mktemp("played") / "ledger.db"
    with Ledger.open(address(file)) as ledger:
        clinic, shop = History(ledger, make_spec()), History(ledger, make_spec("shop"))
        host = Host(ledger, snapshot_every=10)
        host.step()
        clinic.answer(*clinic.open(2))
        ledger.append([Corrected(clinic.episodes[1], clinic.whole())])
        for _ in range(5):
            clinic.answer(*clinic.open(5, subject="Ann"))
            shop.answer(*shop.open(2))
            host.step()
        ledger.withdraw(episode=clinic.episodes[-1])
        ledger.append([Feedback("nobody", {"rewards": 0.125})])
        host.step()
        host.stop()
        ledger.tokens.add("one", b"\0hash", scopes=["admin"])
        ledger.append([StoredResponse("key", "sha", 201, body=b"\0body")])
    return file


@pytest.fixture
def file(played: Path, tmp_path: Path) -> Path:
    """The same ledger, to be changed."""
    return Path(shutil.copy(played, tmp_path / "ledger.db"))


def contents(url: str) -> dict[str, list[tuple[Any, ...]]]:
    with Ledger.open(url) as ledger, ledger.store.reading() as connection:
        return {
            table.name: [
                tuple(row)
                for row in connection.execute(sa.select(table).order_by(*table.primary_key))
            ]
            for table in TABLES
        }


def tamper(file: Path, statement: sa.Executable) -> None:
    """Change what the database would not let be changed."""
    with Ledger.open(address(file)) as ledger, ledger.store.writing() as connection:
        for name in ("events_keep", "events_stay"):
            connection.exec_driver_sql(f"DROP TRIGGER {name}")
        connection.execute(statement)


def first(file: Path, kind: Any) -> int:
    with Ledger.open(address(file)) as ledger:
        return next(ledger.events(kinds=[kind])).seq


def test_a_sound_ledger_leaves_with_0_and_its_digest(played: Path) -> None:
    done = call("verify", "--store", address(played))
    assert (done.exit_code, done.stderr) == (0, "")
    with Ledger.open(address(played)) as ledger:
        clinic, shop = (sum(1 for _ in ledger.events(one.id)) for one in ledger.problems())
        assert done.stdout.splitlines() == [
            f"clinic: {clinic} events, sound.",
            f"shop: {shop} events, sound.",
            f"Digest of all events: {ledger.digest()}.",
        ]


def test_one_problem_can_be_verified_alone(file: Path) -> None:
    of = schema.policies
    clinic = first(file, "defined")
    tamper(file, sa.update(of).where(of.c.problem == clinic, of.c.version == 2).values(sha="0"))
    assert call("verify", "--store", address(file), "--problem", "shop").exit_code == 0
    done = call("verify", "--store", address(file), "--problem", "clinic")
    assert done.exit_code == 1
    assert "shop" not in done.output
    assert call("verify", "--store", address(file)).exit_code == 1


def test_a_body_that_was_changed_leaves_with_1_and_is_told_once(file: Path) -> None:
    of, seq = schema.events, first(file, "feedback")
    tamper(file, sa.update(of).where(of.c.seq == seq).values(body='{"states":[]}'))
    done = call("verify", "--store", address(file))
    assert done.exit_code == 1
    assert done.stderr.count(f"Event {seq} has been changed: digest mismatch.") == 1
    assert "clinic: The fold fails after " in done.stderr
    assert "shop: " not in done.stderr


# the host publishes the policy of the latest problem first
@pytest.mark.parametrize(("kind", "name"), [("defined", "clinic"), ("published", "shop")])
def test_a_problem_that_cannot_be_read_leaves_with_1_and_the_others_are_verified(
    kind: str, name: str, file: Path
) -> None:
    of, seq = schema.events, first(file, kind)
    tamper(file, sa.update(of).where(of.c.seq == seq).values(body="[]"))
    done = call("verify", "--store", address(file))
    assert done.exit_code == 1
    assert f"Event {seq} has been changed: digest mismatch.\n" in done.stderr
    assert f"{name}: Events cannot be read: " in done.stderr
    assert " events, sound.\n" in done.stdout


@pytest.mark.parametrize("place", [0, 4096, -4096])
def test_a_file_that_is_damaged_leaves_with_1_and_one_sentence(place: int, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("VACUUM")  # a page that holds nothing may be damaged unnoticed
    data = bytearray(file.read_bytes())
    data[place % len(data) :] = b"\xff" * (len(data) - place % len(data))
    file.write_bytes(bytes(data))
    done = call("verify", "--store", address(file))
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_backup_and_its_return_hold_the_same_rows(played: Path, tmp_path: Path) -> None:
    saved, back = tmp_path / "it's [a] backup?.db", tmp_path / "back.db"
    made = call("backup", "--store", address(played), saved)
    assert (made.exit_code, made.stderr) == (0, "")
    assert f"{saved} has the same rows: " in made.stdout
    assert " 2 problems" in made.stdout
    assert [one.name for one in tmp_path.iterdir()] == [saved.name]
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    done = call("restore", saved, "--store", address(back))
    assert (done.exit_code, done.stderr) == (0, "")
    rows = contents(address(played))
    assert all(rows.values())
    assert contents(address(back)) == rows
    with Ledger.open(address(played)) as ledger:
        for output in (made.stdout, done.stdout):
            assert f"Digest of all events: {ledger.digest()}, the same in both.\n" in output
    assert call("verify", "--store", address(back)).exit_code == 0


def test_a_backup_of_a_ledger_that_is_not_sound_is_made_and_leaves_with_1(
    file: Path, tmp_path: Path
) -> None:
    of, seq = schema.events, first(file, "feedback")
    tamper(file, sa.update(of).where(of.c.seq == seq).values(body="{}"))
    done = call("backup", "--store", address(file), tmp_path / "saved.db")
    assert done.exit_code == 1
    assert done.stderr == f"Event {seq} has been changed: digest mismatch.\n"
    assert contents(address(tmp_path / "saved.db")) == contents(address(file))


def test_a_copy_on_postgres_holds_the_same_rows_and_goes_back(
    played: Path, tmp_path: Path, postgres_url: str
) -> None:
    done = call("copy", "--from", address(played), "--to", postgres_url)
    assert (done.exit_code, done.stderr) == (0, "")
    assert contents(postgres_url) == contents(address(played))
    assert call("verify", "--store", postgres_url).stdout == (
        call("verify", "--store", address(played)).stdout
    )
    again = call("copy", "--from", address(played), "--to", postgres_url)
    assert again.exit_code == 2
    assert "'--to': target must be an empty ledger" in again.stderr
    assert call("backup", "--store", postgres_url, tmp_path / "saved.db").exit_code == 0
    assert contents(address(tmp_path / "saved.db")) == contents(address(played))


def exported(file: Path, out: Path, *words: str) -> list[dict[str, Any]]:
    done = call("export", "--store", address(file), *words, out)
    assert (done.exit_code, done.stderr) == (0, "")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert done.stdout == f"Wrote {len(rows):,} events to {out}, as ndjson.\n"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    return rows


def test_an_export_holds_every_event_and_nothing_that_was_withdrawn(
    played: Path, tmp_path: Path
) -> None:
    rows = exported(played, tmp_path / "events.ndjson")
    with Ledger.open(address(played)) as ledger:
        names = {problem.id: problem.name for problem in ledger.problems()}
        assert rows == [
            {
                "problem": names[event.problem],
                "seq": event.seq,
                "episode": event.episode,
                "kind": event.kind,
                "at": event.at,
                "event_time": event.event_time,
                "body": event.body,
                "sha": event.sha,
                "redacted": event.redacted,
            }
            for event in ledger.events()
        ]
    [redacted] = [row for row in rows if row["redacted"]]
    assert (redacted["kind"], redacted["body"]) == ("feedback", None)
    assert "Ann" not in (tmp_path / "events.ndjson").read_text()


def test_an_export_can_be_of_one_problem(played: Path, tmp_path: Path) -> None:
    rows = exported(played, tmp_path / "shop.ndjson", "--problem", "shop")
    every = exported(played, tmp_path / "events.ndjson")
    assert rows == [row for row in every if row["problem"] == "shop"]
    assert rows


def test_an_export_as_parquet_holds_the_same(played: Path, tmp_path: Path) -> None:
    folder = tmp_path / "it's [a] folder*?"
    folder.mkdir()
    out = folder / "events.parquet"
    done = call("export", "--store", address(played), "--format", "parquet", out)
    assert (done.exit_code, done.stderr) == (0, "")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert [one.name for one in folder.iterdir()] == [out.name]
    plain = shutil.copy(out, tmp_path / "plain.parquet")
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT * FROM '{plain}'")
        titles = [column[0] for column in found.description or []]
        rows = [dict(zip(titles, row, strict=True)) for row in found.fetchall()]
    for row in rows:
        row["body"] = None if row["body"] is None else json.loads(row["body"])
    assert rows == exported(played, tmp_path / "events.ndjson")


def test_nothing_is_overwritten(played: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("mine")
    for words in (
        ("backup", "--store", address(played), there),
        ("export", "--store", address(played), there),
        ("restore", played, "--store", address(there)),
        ("copy", "--from", address(played), "--to", address(there)),
    ):
        done = call(*words)
        assert done.exit_code == 2
        assert f"{there} already exists; choose a new file." in done.stderr
    assert there.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [there]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["verify", "--store", "sqlite:///{tmp}/none.db"], "'--store': There is no file {tmp}/no"),
        (["verify", "--store", "mysql://x/y"], "'--store': store must be of the kind sqlite or "),
        (["verify", "--store", "sqlite://"], "'--store': sqlite:// is an empty database"),
        (["verify", "--store", "sqlite:///{tmp}/empty"], "'--store': sqlite:///{tmp}/empty has no"),
        (["verify", "--store", "{store}", "--problem", "x"], "'--problem': There is no "),
        (["export", "--store", "{store}", "--format", "csv", "{tmp}/x"], "'--format'"),
        (
            ["export", "--store", "{store}", "{tmp}/x.csv"],
            "must end in .ndjson or .parquet, got .csv",
        ),
        (["backup", "--store", "{store}", "{tmp}/no/x"], "'FILE': {tmp}/no/x cannot be created"),
        (["restore", "{tmp}/none", "--store", "sqlite:///{tmp}/x"], "'FILE': There is no file "),
        (["copy", "--from", "{store}", "--to", "sqlite://"], "'--to': sqlite:// must be the"),
    ],
)
def test_wrong_usage_leaves_with_2_and_a_sentence(
    words: list[str], sentence: str, played: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()
    before = sorted(one.name for one in tmp_path.iterdir())
    known = {"tmp": tmp_path, "store": address(played)}
    done = call(*(word.format(**known) for word in words))
    assert done.exit_code == 2
    assert done.stdout == ""
    assert sentence.format(**known) in done.stderr
    left = {one.name for one in tmp_path.iterdir()} - {"empty-shm", "empty-wal"}
    assert sorted(left) == before


def test_a_problem_is_archived_and_unarchived(file: Path) -> None:
    done = call("archive", "clinic", "--store", address(file))
    assert (done.exit_code, done.stdout) == (0, "Problem clinic is archived.\n")
    with Ledger.open(address(file)) as ledger:
        assert ledger.archived() == {first(file, "defined")}
    done = call("unarchive", "clinic", "--store", address(file))
    assert (done.exit_code, done.stdout) == (0, "Problem clinic is unarchived.\n")
    with Ledger.open(address(file)) as ledger:
        assert ledger.archived() == set()
    assert call("verify", "--store", address(file)).exit_code == 0
    unknown = call("archive", "nothing", "--store", address(file))
    assert unknown.exit_code == 2
    assert "There is no problem 'nothing'" in unknown.stderr
