"""Events are recorded once, in order, whichever process writes them."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from belated.ledger import Ledger
from belated.ledger.events import AlreadyRecorded, Event, Recorded
from belated.ledger.kinds import Feedback
from ledger_samples import (
    defined,
    opened,
    seq,
    tell,
    whole,
)

WRITERS = 3

EACH = 40


def together(tasks: list[Callable[[], None]]) -> None:
    """Do these at the same time, each in a thread."""
    start = threading.Barrier(len(tasks))

    def run(task: Callable[[], None]) -> None:
        start.wait()
        task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        for done in [pool.submit(run, task) for task in tasks]:
            done.result()


@pytest.fixture
def ledger(any_ledger: Ledger) -> Ledger:
    """An empty ledger in a file, in memory or on PostgreSQL."""
    return any_ledger


def test_events_are_numbered_without_gaps_in_order_of_recording(ledger: Ledger) -> None:
    """Events are numbered 1, 2, ... in the order in which they were handed over."""
    assert ledger.last == 0
    problem = defined(ledger)
    ids = opened(ledger, problem, 2)
    outcomes = ledger.append(
        [Feedback(ids[1], whole(1)), Feedback("nobody", whole()), Feedback(ids[0], whole(2))]
    )
    got = [outcome.seq for outcome in outcomes if isinstance(outcome, Recorded)]
    found = [(event.seq, event.kind, event.episode) for event in ledger.events()]
    assert [number for number, _, _ in found] == list(range(1, 7))
    assert got == [5, 6]
    assert [(kind, episode) for _, kind, episode in found[2:]] == [
        ("opened", ids[0]),
        ("opened", ids[1]),
        ("feedback", ids[1]),
        ("feedback", ids[0]),
    ]
    assert ledger.last == 6


def test_events_are_read_by_range_problem_and_kind(ledger: Ledger) -> None:
    """`events` gives those of a problem, after and up to a seq, of some kinds, and no more."""
    first, second = defined(ledger, "first"), defined(ledger, "second")
    for _ in range(3):
        opened(ledger, first, 1)
        opened(ledger, second, 1)
    every = list(ledger.events())
    cases: tuple[tuple[dict[str, Any], list[Event]], ...] = (
        ({"after": 4}, [e for e in every if e.seq > 4]),
        ({"upto": 7}, [e for e in every if e.seq <= 7]),
        ({"after": 2, "upto": 7, "limit": 3}, every[2:5]),
        ({"limit": 0}, []),
        ({"problem": second}, [e for e in every if e.problem == second]),
        ({"problem": first, "kinds": ["opened"]}, [every[4], every[6], every[8]]),
        ({"kinds": ["defined", "published"]}, every[:4]),
        ({"after": len(every)}, []),
    )
    for asked, expected in cases:
        found = list(ledger.events(**asked))
        assert found == expected


def test_a_ledger_that_is_opened_again_holds_the_same_events(url: str) -> None:
    """A reopened ledger has all events and continues their numbering."""
    with Ledger.open(url) as ledger:
        problem = defined(ledger)
        [episode] = opened(ledger, problem, subject="Ann")
        seq(tell(ledger, episode, whole(5)))
        before, digest = list(ledger.events()), ledger.digest()
        known = ledger.episode(episode)
    with Ledger.open(url) as ledger:
        assert list(ledger.events()) == before
        assert ledger.digest() == digest
        assert ledger.episode(episode) == known
        again = tell(ledger, episode, whole(5))
        assert again == AlreadyRecorded(before[-1].seq)
        assert seq(ledger.tick(problem)) == len(before) + 1


def test_a_reader_sees_every_event_while_others_write(url: str) -> None:
    """A reader that continues after its last event misses none while others write."""
    with Ledger.open(url) as ledger:
        problem = defined(ledger)
        seen = [event.seq for event in ledger.events()]
        total = len(seen) + WRITERS * EACH
        finished: list[bool] = []

        def write() -> None:
            try:
                with Ledger.open(url) as mine:
                    for _ in range(EACH // 2):
                        opened(mine, problem, 2)
            finally:
                finished.append(True)

        def follow() -> None:
            while True:
                # whoever had finished before this reading has nothing to add after it
                last = len(finished) == WRITERS
                seen.extend(event.seq for event in ledger.events(after=seen[-1]))
                if last:
                    return

        together([follow] + [write] * WRITERS)
        assert seen == list(range(1, total + 1))
