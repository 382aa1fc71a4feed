"""Acknowledged events survive a crash, and events that were not acknowledged are absent."""

import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import AlreadyRecorded, Ledger
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
