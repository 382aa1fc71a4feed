"""Withdrawal: the data goes, and what was recorded otherwise stays."""

from belated.checks.ledger.samples import (
    Open,
    answers,
    at,
    defined,
    one,
    opened,
    seq,
    step,
    tell,
    whole,
)
from belated.checks.suite import require as hold
from belated.online.events import Corrected, Feedback, Opened, Withdrawn
from belated.online.outcomes import AlreadyRecorded, Gone, Unknown


def redacts_what_is_withdrawn(open: Open) -> None:
    """What came back of withdrawn episodes is gone, but for its seq and its digest."""
    with open("withdrawal") as ledger:
        problem = defined(ledger)
        [bob] = opened(ledger, problem, subject="Bob")
        a, b, c = opened(ledger, problem, 3, subject="Ann")
        told = [
            seq(one(ledger, Feedback(a, whole(1), event_time=5))),
            seq(tell(ledger, b, {"steps": [step(0)]})),
            seq(one(ledger, Corrected(b, whole(2)))),
        ]
        kept = seq(tell(ledger, bob, whole(3)))
        tell(ledger, a, whole(4))
        before, digest = list(ledger.events()), ledger.digest()
        [outcome] = ledger.withdraw(subject="Ann")
        gone = seq(outcome)
        hold(
            at(ledger, gone).body == {"episodes": [a, b, c]}
            and at(ledger, gone).problem == problem,
            f"A withdrawal is recorded as {at(ledger, gone)}.",
        )
        for event in before:
            now = at(ledger, event.seq)
            left = event._replace(text=None, salt=None, event_time=None, redacted=True)
            hold(
                now == (left if event.seq in told else event),
                f"After a withdrawal, event {event} is {now}.",
            )
        hold(
            ledger.digest(upto=before[-1].seq) == digest and ledger.faults() == [],
            f"A withdrawal changes the digest, or leaves faults: {ledger.faults()}.",
        )
        for id in (a, b, c):
            record = ledger.episode(id)
            hold(
                record is not None and (record.subject, record.withdrawn) == (None, gone),
                f"A withdrawn episode is known as {record}.",
            )
            for late in (Feedback(id, whole(1)), Corrected(id, whole(1))):
                answers(one(ledger, late), Gone, "feedback of a withdrawn episode")
            answers(one(ledger, Opened(problem, 1, "Ann", id)), Gone, "opening it again")
        aside = list(ledger.quarantine)
        hold(
            all(refusal.text is None for refusal in aside) and len(aside) > 0,
            f"Of withdrawn episodes, {aside} are kept aside; none may tell what was refused.",
        )
        hold(at(ledger, kept).body == whole(3), "A withdrawal takes another subject's data along.")


def withdraws_once(open: Open) -> None:
    """One episode can be withdrawn, once; a subject that is gone is unknown."""
    with open("once") as ledger:
        one_, two = defined(ledger, "one"), defined(ledger, "two")
        a, b = opened(ledger, one_, 2, subject="Ann")
        [c] = opened(ledger, two, subject="Ann")
        [outcome] = ledger.withdraw(episode=a)
        again = ledger.withdraw(episode=a)
        hold(again == [AlreadyRecorded(seq(outcome))], f"The same withdrawal again is {again}.")
        both = [at(ledger, seq(outcome)).body for outcome in ledger.withdraw(subject="Ann")]
        hold(
            both == [{"episodes": [b]}, {"episodes": [c]}],
            f"A subject's episodes of two problems are withdrawn as {both}.",
        )
        hold(ledger.withdraw(subject="Ann") == [], "A subject is still known by its name.")
        answers(one(ledger, Withdrawn(problem=one_, subject="Ann")), Unknown, "a subject long gone")
        answers(one(ledger, Withdrawn("nobody")), Unknown, "a withdrawal of no episode")


def drops_snapshots_of_what_changed(open: Open) -> None:
    """A snapshot is read as it was saved, unless what it was made of has changed since."""
    with open("snapshots") as ledger:
        problem = defined(ledger)
        before = ledger.last
        a, b = opened(ledger, problem, 2)
        seqs = [before, seq(tell(ledger, a, whole(1))), seq(tell(ledger, b, whole(2)))]
        for place in seqs:
            hold(
                ledger.snapshots.save(problem, place, bytes([place])),
                f"A snapshot at {place} is not kept.",
            )

        def newest(upto: int | None = None) -> int | None:
            found = ledger.snapshots.newest(problem, upto=upto)
            hold(
                found is None or found.data == bytes([found.seq]),
                f"A snapshot comes back as {found}.",
            )
            return None if found is None else found.seq

        found = [newest(), newest(seqs[2] - 1), newest(seqs[0] - 1)]
        hold(
            found == [seqs[2], seqs[1], None],
            f"Of snapshots at {seqs}, those at {found} are found.",
        )
        late = ledger.last
        seq(one(ledger, Corrected(b, whole(3))))
        hold(
            newest() == seqs[1],
            f"After a correction of event {seqs[2]}, the snapshot at {newest()} is found.",
        )
        hold(
            not ledger.snapshots.save(problem, late, b"late"),
            "A snapshot is kept though a correction came after what it was made of.",
        )
        ledger.withdraw(episode=a)
        hold(
            newest() == seqs[0],
            f"After a withdrawal of event {seqs[1]}, the snapshot at {newest()} is found.",
        )
        hold(ledger.snapshots.newest(99) is None, "A problem that never was has a snapshot.")
