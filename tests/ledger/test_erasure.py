"""A byte search finds no withdrawn subject in the files of a SQLite ledger.

When SQLite moves an entry to another page, a copy of it can remain in unallocated space. This is
rare: on tables that allow it, the histories below leave one or two subjects.
"""

import json
import random
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import Ledger, schema
from belated.ledger.audit import copy
from belated.ledger.events import NewEvent, Recorded
from belated.ledger.kinds import Feedback, Lost, Opened, Withdrawn
from belated.ledger.store import Store
from combinations import FULL

SUBJECTS = 4000 if FULL else 2000
BATCH = 200
SEED = 2
MARKS = re.compile(rb"<<(\d{6})|(\d{6})>>")
"""Beginning and end of a subject, so that a fragment is found too."""

FIRST = Path(__file__).with_name("first_migration.sql")
"""A ledger as the first version wrote it."""


def subject(number: int, draws: random.Random) -> str:
    """A text of 16 to 200 characters that contains its number twice."""
    return f"<<{number:06d}{'.' * draws.randrange(185)}{number:06d}>>"


def numbers(subjects: Iterable[str]) -> set[int]:
    return {int(text[2:8]) for text in subjects}


def found(folder: Path) -> set[int]:
    """The numbers of the subjects that are in any file of `folder`."""
    data = b"".join(file.read_bytes() for file in folder.iterdir())
    return {int(first or last) for first, last in MARKS.findall(data)}


def history(seed: int) -> Iterator[tuple[list[str], list[str]]]:
    """Batches of new subjects, each with the subjects to be withdrawn after it, about half."""
    draws = random.Random(seed)
    kept: list[str] = []
    for first in range(0, SUBJECTS, BATCH):
        new = [subject(number, draws) for number in range(first, first + BATCH)]
        kept += new
        draws.shuffle(kept)
        count = draws.randrange(BATCH)
        yield new, kept[:count]
        del kept[:count]


def test_a_byte_search_finds_none_of_thousands_of_withdrawn_subjects(tmp_path: Path) -> None:
    draws = random.Random(SEED)
    files, backup = tmp_path / "files", tmp_path / "backup"
    files.mkdir()
    backup.mkdir()
    every: set[int] = set()
    gone: set[int] = set()
    with Ledger.open(f"sqlite:///{files / 'ledger.db'}") as ledger:
        problem = samples.defined(ledger)
        for new, leaving in history(SEED):
            opened = ledger.append([Opened(problem, 1, text) for text in new for _ in range(2)])
            later: list[NewEvent] = []
            for outcome in opened:
                assert isinstance(outcome, Recorded)
                assert outcome.episode is not None
                kind = draws.randrange(4)
                if kind == 0:
                    later.append(Lost(outcome.episode.id, "moved away"))
                elif kind == 1:
                    later.append(Feedback(outcome.episode.id, samples.whole(kind)))
            ledger.append(later)
            assert ledger.snapshots.save(problem, ledger.last, secrets.token_bytes(9000))
            outcomes = ledger.append([Withdrawn(problem=problem, subject=one) for one in leaving])
            assert all(isinstance(outcome, Recorded) for outcome in outcomes)
            every |= numbers(new)
            gone |= numbers(leaving)
        assert len(gone) > SUBJECTS / 3
        assert found(files) == every - gone
        with Ledger.open(f"sqlite:///{backup / 'copy.db'}") as target:
            copy(ledger, target)
            assert found(backup) == every - gone
    assert found(files) == found(backup) == every - gone


def test_a_byte_search_finds_no_rejected_request_of_withdrawn_episodes(tmp_path: Path) -> None:
    every: set[int] = set()
    gone: set[int] = set()
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        problem = samples.defined(ledger)
        ids: dict[str, str] = {}
        for new, leaving in history(SEED + 1):  # with deletions only, two remain
            opened = samples.opened(ledger, problem, len(new))
            ids |= dict(zip(new, opened, strict=True))
            bad: list[NewEvent] = [Feedback(ids[text], {"note": text}) for text in new]
            ledger.append(bad + bad[::7])
            ledger.append([Withdrawn(episode=ids[text]) for text in leaving])
            every |= numbers(new)
            gone |= numbers(leaving)
        assert len(gone) > SUBJECTS / 4
        assert found(tmp_path) == every - gone
        kept = list(ledger.quarantine)
        assert numbers(json.loads(str(each.text))["note"] for each in kept) == every - gone
        assert {each.times for each in kept} == {1, 2}
        ledger.quarantine.forget(before=ledger.store.now())
        assert found(tmp_path) == set()


def test_an_upgrade_erases_what_earlier_withdrawals_left(tmp_path: Path) -> None:
    left = 0
    for seed in range(2, 7):
        folder = tmp_path / str(seed)
        folder.mkdir()
        url = f"sqlite:///{folder / 'ledger.db'}"
        gone = write_episodes_of_version_1(url, seed)
        before = found(folder)
        left += len(gone & before)
        with Ledger.open(url) as ledger:
            assert found(folder) == before - gone
            with ledger.store.reading() as connection:
                texts = connection.scalars(sa.select(schema.subjects.c.subject)).all()
        assert (len(texts), numbers(texts)) == (len(before - gone), before - gone)
        assert found(folder) == before - gone
    assert left > 0


def write_episodes_of_version_1(url: str, seed: int) -> set[int]:
    """Open and withdraw episodes as version 1 did; return the numbers of the withdrawn subjects."""
    gone: set[int] = set()
    seq = 0
    store = Store.open(url)
    with store.writing() as connection:
        for statement in re.split(r"\n(?=CREATE |INSERT )", FIRST.read_text()):
            if statement.startswith("CREATE"):
                connection.exec_driver_sql(statement.removesuffix("COMMIT;\n"))
        connection.exec_driver_sql("INSERT INTO belated_version VALUES ('0001')")
        connection.exec_driver_sql("INSERT INTO problems (id, name) VALUES (1, 'clinic')")
    for new, leaving in history(seed):
        with store.writing() as connection:
            for text in new:
                seq += 1
                connection.exec_driver_sql(
                    "INSERT INTO episodes (id, problem, number, version, seq, subject) "
                    "VALUES (?, 1, ?, 1, ?, ?)",
                    (secrets.token_urlsafe(16), seq, seq, text),
                )
            for text in leaving:
                connection.exec_driver_sql(
                    "UPDATE episodes SET subject = NULL, withdrawn = ? WHERE subject = ?",
                    (seq, text),
                )
        gone |= numbers(leaving)
    assert store.scrub(wait=True)
    store.close()
    return gone
