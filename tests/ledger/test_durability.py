"""Acknowledged events survive a crash, and events that were not acknowledged are absent."""

from pathlib import Path

import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import AlreadyRecorded, Feedback, Ledger, Recorded
from processes import Program

WRITER = """
import sys
from belated.ledger import Feedback, Ledger

ledger = Ledger.open(sys.argv[1])
problem = ledger.problem("clinic").id
number = int(sys.argv[2])
while True:
    [opened] = ledger.open_episodes(problem, version=1)
    episode = opened.episode.id
    content = {"states": [0] * 4, "actions": [0] * 3, "rewards": [0, 0, number / 1e4]}
    [outcome] = ledger.append([Feedback(episode, content)])
    print(outcome.seq, episode, number, flush=True)
    number += 1
"""


def test_what_was_acknowledged_is_there_after_a_kill(url: str) -> None:
    with Ledger.open(url) as ledger:
        samples.defined(ledger)
    acknowledged: list[list[str]] = []
    for round in range(4):
        first = str(1000 * round)
        writer = Program(WRITER, url, first)
        for _ in range(1 + 3 * round):
            acknowledged.append(writer.stdout.readline().split())
        writer.kill()
        # what it managed to say before it died counts as well
        rest = writer.stdout.read().split("\n")[:-1]
        acknowledged += [line.split() for line in rest]
    with Ledger.open(url) as ledger:
        assert ledger.faults() == []
        for seq, episode, number in acknowledged:
            event = samples.at(ledger, int(seq))
            assert (event.episode, event.body["rewards"][2]) == (episode, int(number) / 1e4)
            assert samples.tell(ledger, episode, event.body) == AlreadyRecorded(int(seq))


def test_sqlite_syncs_every_commit_to_disk(sqlite_url: str) -> None:
    with Ledger.open(sqlite_url) as ledger, ledger.store.writing() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        }
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,  # FULL
        "foreign_keys": 1,
        "secure_delete": 1,
    }


def test_postgres_syncs_every_commit_even_where_it_would_not(postgres_url: str) -> None:
    url = sa.make_url(postgres_url)
    lax = "-csynchronous_commit=off -cdefault_transaction_isolation=serializable"
    url = url.update_query_dict({"options": f"{url.query['options']} {lax}"})
    address = url.render_as_string(hide_password=False)
    with Ledger.open(address) as ledger, ledger.store.writing() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        # a writer that waited must see what was committed meanwhile
        isolation = connection.exec_driver_sql("SHOW transaction_isolation").scalar()
        assert isolation == "read committed"


def test_a_batch_is_one_commit(ledger: Ledger) -> None:
    ids = samples.opened(ledger, samples.defined(ledger), 20)
    commits = []
    sa.event.listen(ledger.store.writer, "commit", lambda connection: commits.append(1))
    outcomes = ledger.append(
        [Feedback(id, samples.whole(i)) for i, id in enumerate(ids)]
        + [Feedback("nobody", samples.whole()), Feedback(ids[0], samples.whole(1))]
    )
    assert len(commits) == 1
    assert [type(outcome) for outcome in outcomes[:20]] == [Recorded] * 20


def test_a_batch_that_fails_leaves_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = samples.opened(ledger, samples.defined(ledger), 2)
    before = list(ledger.events())
    record = Feedback.record

    def failing(given, batch):
        batch.flush()
        if given.episode == ids[1]:
            raise MemoryError("no more")
        return record(given, batch)

    monkeypatch.setattr(Feedback, "record", failing)
    events = [Feedback("nobody", {}), *(Feedback(id, samples.whole()) for id in ids)]
    with pytest.raises(MemoryError):
        ledger.append(events)
    monkeypatch.undo()
    assert list(ledger.events()) == before
    assert list(ledger.quarantine) == []
    assert [type(outcome) for outcome in ledger.append(events[1:])] == [Recorded] * 2


def test_an_empty_batch_takes_no_transaction(sqlite_url: str) -> None:
    with Ledger.open(sqlite_url) as ledger:
        begun = []
        sa.event.listen(ledger.store.engine, "begin", lambda connection: begun.append(1))
        assert ledger.append([]) == []
        assert begun == []


def test_a_file_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        samples.defined(ledger)
        files = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert files == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}
