"""Order: nothing is lost, counted twice or seen out of turn, whoever writes."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from belated.checks.ledger.samples import Open, at, defined, kinds, opened, seq, tell, whole
from belated.checks.suite import require as hold
from belated.online.events import Event, Feedback
from belated.online.outcomes import AlreadyRecorded, Conflict, Recorded

WRITERS = 3
EACH = 40


def numbers_without_gaps(open: Open) -> None:
    """Events are numbered 1, 2, ... in the order in which they were handed over."""
    with open("numbers") as ledger:
        hold(ledger.last == 0, f"An empty ledger ends at {ledger.last}; it must end at 0.")
        problem = defined(ledger)
        ids = opened(ledger, problem, 2)
        outcomes = ledger.append(
            [Feedback(ids[1], whole(1)), Feedback("nobody", whole()), Feedback(ids[0], whole(2))]
        )
        got = [outcome.seq for outcome in outcomes if isinstance(outcome, Recorded)]
        found = [(event.seq, event.kind, event.episode) for event in ledger.events()]
        hold(
            [number for number, _, _ in found] == list(range(1, 7)) and got == [5, 6],
            f"Six events are recorded at {[number for number, _, _ in found]}, and the last two "
            f"were answered {got}; they must stand at 1 .. 6, refusals taking no number.",
        )
        hold(
            [(kind, episode) for _, kind, episode in found[2:]]
            == [("opened", ids[0]), ("opened", ids[1]), ("feedback", ids[1]), ("feedback", ids[0])],
            f"Events come back as {found}; they must come back in the order they were appended.",
        )
        hold(ledger.last == 6, f"A ledger of 6 events ends at {ledger.last}.")


def reads_any_stretch(open: Open) -> None:
    """`events` gives those of a problem, after and up to a seq, of some kinds, and no more."""
    with open("reading") as ledger:
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
            hold(
                found == expected,
                f"events({asked}) gives {[e.seq for e in found]}; "
                f"it must give {[e.seq for e in expected]}.",
            )


def keeps_what_it_recorded(open: Open) -> None:
    """What was recorded is there when the ledger is opened again, and counts on from there."""
    with open("kept") as ledger:
        problem = defined(ledger)
        [episode] = opened(ledger, problem, subject="Ann")
        seq(tell(ledger, episode, whole(5)))
        before, digest = list(ledger.events()), ledger.digest()
        known = ledger.episode(episode)
    with open("kept") as ledger:
        hold(
            list(ledger.events()) == before and ledger.digest() == digest,
            "The ledger holds other events when it is opened again.",
        )
        hold(ledger.episode(episode) == known, "The ledger forgets its episodes when it is closed.")
        again = tell(ledger, episode, whole(5))
        hold(
            again == AlreadyRecorded(before[-1].seq),
            f"The ledger answers {again!r} to a repeat after it was opened again.",
        )
        hold(seq(ledger.tick(problem)) == len(before) + 1, "The ledger begins to count anew.")


def together(tasks: list[Callable[[], None]]) -> None:
    """Do these at the same time, each in a thread."""
    start = threading.Barrier(len(tasks))

    def run(task: Callable[[], None]) -> None:
        start.wait()
        task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        for done in [pool.submit(run, task) for task in tasks]:
            done.result()


def counts_once_in_a_race(open: Open) -> None:
    """Of several that send the same at once, one records it, and the others are told so."""
    with open("race") as ledger:
        ids = opened(ledger, defined(ledger), EACH)
        outcomes: list[list[object]] = [[] for _ in range(WRITERS)]

        def send(writer: int) -> Callable[[], None]:
            def task() -> None:
                with open("race") as mine:
                    for i, episode in enumerate(ids):
                        # the last episodes come with other content from each writer
                        content = whole(i if i < EACH // 2 else writer)
                        outcomes[writer].append(tell(mine, episode, content))

            return task

        together([send(writer) for writer in range(WRITERS)])
        for i in range(EACH):
            got = [type(outcomes[writer][i]) for writer in range(WRITERS)]
            other = AlreadyRecorded if i < EACH // 2 else Conflict
            hold(
                got.count(Recorded) == 1 and got.count(other) == WRITERS - 1,
                f"{WRITERS} that send {'the same' if i < EACH // 2 else 'different'} feedback of "
                f"one episode at once are answered {[kind.__name__ for kind in got]}; "
                f"one must be recorded, and the others {other.__name__}.",
            )
        hold(
            kinds(ledger).count("feedback") == EACH,
            f"{EACH} episodes have {kinds(ledger).count('feedback')} events of feedback.",
        )


def can_be_followed(open: Open) -> None:
    """Who reads on from the last event it saw misses none, while others write."""
    with open("tail") as ledger:
        problem = defined(ledger)
        seen = [event.seq for event in ledger.events()]
        total = len(seen) + WRITERS * EACH
        finished: list[bool] = []

        def write() -> None:
            try:
                with open("tail") as mine:
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
        hold(
            seen == list(range(1, total + 1)),
            f"One that follows the ledger sees {seen[:20]}...; "
            f"it must see each of 1 .. {total} once, in order.",
        )


def can_be_checked(open: Open) -> None:
    """It finds no fault with itself, and its digest tells one ledger from another."""
    with open("digest") as ledger:
        problem = defined(ledger)
        empty = ledger.digest()
        [episode] = opened(ledger, problem)
        told = seq(tell(ledger, episode, whole(1)))
        hold(ledger.faults() == [], f"A sound ledger finds fault with itself: {ledger.faults()}.")
        hold(
            ledger.digest() != empty and ledger.digest(upto=2) == empty,
            "The digest does not follow what was recorded.",
        )
        event = at(ledger, told)
        hold(
            len(event.sha) == 64 and not event.redacted,
            f"Event {told} has the digest {event.sha!r}; it must be a SHA-256 in hexadecimal.",
        )
