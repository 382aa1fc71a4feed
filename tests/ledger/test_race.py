"""Several processes on one ledger."""

import json
from collections import Counter
from typing import Any

import ledger_samples as samples
from belated.ledger import Ledger
from processes import Program

PROCESSES = 2
EPISODES = 120

SENDER = """
import json, random, sys
from belated.ledger import Feedback, Ledger, ProblemSpec

url, me = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
ids = json.loads(sys.stdin.readline())
if isinstance(ids, dict):
    with Ledger.open(url) as ledger:  # the first to come makes the tables
        ledger.define(ProblemSpec.of(ids))
    sys.exit()

def content(number):
    return {"states": [0] * 4, "actions": [0] * 3, "rewards": [0, 0, number / 1e4]}

order = list(enumerate(ids))
random.Random(me).shuffle(order)
outcomes = {}
with Ledger.open(url) as ledger:
    for first in range(0, len(order), 7):
        some = order[first : first + 7]
        # every third episode is told otherwise by each process
        batch = [Feedback(id, content(me if i % 3 == 0 else i)) for i, id in some]
        for (i, _), outcome in zip(some, ledger.append(batch)):
            outcomes[i] = type(outcome).__name__
print(json.dumps([outcomes[i] for i in range(len(ids))]), flush=True)
"""


def at_once(url: str, given: Any) -> list[str]:
    """Return the output of processes that run the same script at the same time."""
    made = [Program(SENDER, url, str(me)) for me in range(PROCESSES)]
    for process in made:
        assert process.stdout.readline() == "ready\n"
    for process in made:
        process.stdin.write(json.dumps(given) + "\n")
        process.stdin.flush()
    ended = [process.end() for process in made]
    assert [code for code, _ in ended] == [0] * PROCESSES
    return [printed for _, printed in ended]


def test_processes_that_send_the_same_record_it_once(url: str) -> None:
    with Ledger.open(url) as ledger:
        ids = samples.opened(ledger, samples.defined(ledger), EPISODES)
        answers = [json.loads(said) for said in at_once(url, ids)]
        for i, got in enumerate(zip(*answers, strict=True)):
            other = "Conflict" if i % 3 == 0 else "AlreadyRecorded"
            assert Counter(got) == {"Recorded": 1, other: PROCESSES - 1}
        told = [event.episode for event in ledger.events(kinds=["feedback"])]
        assert sorted(told) == sorted(ids)
        assert ledger.faults() == []


def test_processes_that_open_an_empty_database_make_it_once(url: str) -> None:
    assert at_once(url, samples.spec().body) == [""] * PROCESSES
    with Ledger.open(url) as ledger:
        assert samples.kinds(ledger) == ["defined"]
