"""The suite for a ledger: ours passes, and each check fails on one made for it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from belated.checks.ledger import CHECKS, check_ledger, ledger_checks
from belated.checks.ledger.samples import Open
from belated.online import (
    AlreadyRecorded,
    Conflict,
    Event,
    Feedback,
    Gone,
    Ledger,
    Opened,
    Published,
    Recorded,
    Refused,
    Unknown,
)
from belated.online.quarantine import Quarantine
from belated.online.snapshots import Snapshot, Snapshots

BESIDE = ["kept", "race", "tail"]
"""What a ledger in memory does not claim."""


def in_memory(kind: type[Ledger]) -> Open:
    return lambda name: kind.open("sqlite://")


def test_a_ledger_in_memory_passes_but_for_what_it_does_not_claim() -> None:
    check_ledger(in_memory(Ledger), without=BESIDE)


class Answers(Ledger):
    """One that mixes up its answers."""

    instead: ClassVar[dict[type, Callable[[Any], Any]]] = {}

    def append(self, events: Any) -> Any:
        found = super().append(events)
        return [self.instead.get(type(outcome), lambda same: same)(outcome) for outcome in found]


def answering(instead: dict[type, Callable[[Any], Any]]) -> type[Ledger]:
    return type("Answering", (Answers,), {"instead": instead})


class Unsorted(Ledger):
    def append(self, events: Any) -> Any:
        return super().append(reversed(list(events)))[::-1]


class Endless(Ledger):
    """Reads on beyond what was asked for."""

    def events(self, problem=None, *, after=0, upto=None, limit=None, kinds=None):
        return super().events(problem, after=after, limit=limit, kinds=kinds)


class Hasty(Ledger):
    """Shows the eighth event before the seventh, which one that reads on then never sees."""

    def events(self, problem=None, *, after=0, **asked) -> Iterator[Event]:
        found = super().events(problem, after=after, **asked)
        return (event for event in found if event.seq != 7)


class Proud(Ledger):
    def faults(self) -> list[str]:
        return ["I am too good for this."]


class Lumping(Ledger):
    """Records steps that have come before along with new ones."""

    def events(self, *given, **asked) -> Iterator[Event]:
        for event in super().events(*given, **asked):
            more = event.text and event.text.replace('{"steps":[', '{"steps":[null,')
            yield event._replace(text=more)


class Nameless(Ledger):
    def problem(self, which):
        return None


class Guessable(Ledger):
    """Takes the episode's number for its id."""

    def append(self, events: Any) -> Any:
        found = super().append(events)
        return [
            replace(one, episode=replace(one.episode, id=str(one.episode.number)))
            if isinstance(one, Recorded) and one.episode
            else one
            for one in found
        ]


class Newest(Ledger):
    """Gives who asks again the newest version, and not the one it was given."""

    def append(self, events: Any) -> Any:
        events = list(events)
        found = super().append(events)
        return [
            replace(one, episode=replace(one.episode, version=event.version))
            if isinstance(event, Opened) and one.episode
            else one
            for event, one in zip(events, found, strict=True)
        ]


class Restless(Ledger):
    """Ticks at the event before the one that was meant."""

    def tick(self, problem, upto=None):
        return super().tick(problem, upto or self.last - 1)


class Blunt(Ledger):
    """Publishes policies without what they explore."""

    def append(self, events: Any) -> Any:
        from belated.episode import Policy

        return super().append(
            replace(event, policy=Policy(event.policy.actions))
            if isinstance(event, Published)
            else event
            for event in events
        )


class Anonymous(Ledger):
    def control(self, problem, action, *, version=None, by=None):
        return super().control(problem, action, version=version)


class Remembering(Ledger):
    """Keeps what was withdrawn."""

    def events(self, *given, **asked) -> Iterator[Event]:
        kept = self.__dict__.setdefault("kept", {})
        for event in super().events(*given, **asked):
            yield kept.setdefault(event.seq, event)


class Clinging(Ledger):
    """Keeps the subject of what was withdrawn."""

    def withdraw(self, *, episode=None, subject=None):
        if subject is not None:
            return super().withdraw(subject=subject) or [Recorded(self.last)]
        return super().withdraw(episode=episode)


class Hoard(Snapshots):
    """Keeps snapshots of what has changed."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.made: list[Snapshot] = []

    def save(self, problem, seq, data):
        self.made.append(Snapshot(problem, seq, data))
        return True

    def newest(self, problem, *, upto=None):
        found = [one for one in self.made if upto is None or one.seq <= upto]
        return max(found, key=lambda one: one.seq, default=None)


class Hoarding(Ledger):
    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.snapshots = Hoard(store)


class Forgotten(Quarantine):
    """Keeps no refusals."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Tidy(Ledger):
    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.quarantine = Forgotten(store)


class Lenient(Ledger):
    """Revokes nothing."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.tokens.revoke = lambda id: id == "one"  # type: ignore[method-assign]


def twice(same: Any) -> Any:
    return Recorded(same.seq, same.episode)


def accepting(conflict: Any) -> Any:
    return AlreadyRecorded(conflict.seq)


BROKEN: list[tuple[str, type[Ledger], str]] = [
    ("numbers", Unsorted, "they must stand at 1 .. 6, refusals taking no number"),
    ("reading", Endless, r"events\({'upto': 7}\) gives"),
    ("kept", Ledger, "The ledger holds other events when it is opened again"),
    ("race", answering({AlreadyRecorded: twice}), "3 that send the same feedback of"),
    ("tail", Hasty, "it must see each of 1 .. 122 once, in order"),
    ("digest", Proud, "A sound ledger finds fault with itself"),
    ("repeats", answering({AlreadyRecorded: twice}), "to a repeat of event 4"),
    ("batch", Unsorted, "A batch is answered"),
    ("conflicts", answering({Conflict: accepting}), "it must answer Conflict"),
    ("unknown", answering({Unknown: lambda one: Refused(one.reason)}), "it must answer Unknown"),
    ("pieces", Lumping, "Event 7 says {'steps': \\[None, .*; it must say"),
    ("rewards", answering({Conflict: accepting}), "to another reward; it must answer Conflict"),
    ("malformed", answering({Refused: lambda one: replace(one, field=None)}), "must be one sent"),
    ("corrections", answering({Conflict: accepting}), "to feedback against a correction"),
    ("definitions", Nameless, "Two problems that were defined are known as"),
    ("episodes", Guessable, "each needs one of its own that nobody can guess"),
    ("again", Newest, "the second time"),
    ("ticks", Restless, "A tick at 5 that covers all before it says {'upto': 3}"),
    ("versions", Blunt, "Version 2 is another policy when it is read|The same version again is"),
    ("control", Anonymous, "freeze is recorded as"),
    ("withdrawal", Remembering, "After a withdrawal, event"),
    ("withdrawal", answering({Gone: lambda one: Unknown(one.reason)}), "it must answer Gone"),
    ("once", Clinging, "A subject is still known by its name"),
    ("snapshots", Hoarding, "After a correction of event 6, the snapshot at 6 is found"),
    ("quarantine", Tidy, "Three refusals, the first of them three times, are kept as"),
    ("tokens", Lenient, "A token is revoked twice"),
]


def test_every_check_has_a_ledger_that_it_fails_on() -> None:
    assert {name for name, _, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize(
    ("name", "kind", "sentence"),
    BROKEN,
    ids=[f"{name}-{kind.__name__}" for name, kind, _ in BROKEN],
)
def test_a_ledger_that_breaks_a_promise_is_told_which(
    name: str, kind: type[Ledger], sentence: str, tmp_path: Path
) -> None:
    def in_files(name: str) -> Ledger:
        return kind.open(f"sqlite:///{tmp_path / name}.db")

    open = in_memory(kind) if name not in ("race", "tail") else in_files
    [check] = [check for check in ledger_checks(open) if check.name == name]
    with pytest.raises(AssertionError, match=sentence) as raised:
        check()
    [line] = str(raised.value).splitlines()
    assert line.endswith(f" To skip this check, pass without=['{name}'].")


def test_every_check_says_what_it_holds() -> None:
    for check in ledger_checks(in_memory(Ledger)):
        assert check.about.endswith(".")


def test_a_check_is_left_out_by_its_name() -> None:
    assert len(ledger_checks(in_memory(Ledger), without=BESIDE)) == len(CHECKS) - len(BESIDE)
    with pytest.raises(ValueError, match=r"^without must contain only .*, got 'speed'"):
        check_ledger(in_memory(Ledger), without=["speed"])


def test_what_opens_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^open is 'sqlite://'; it must be a function"):
        check_ledger("sqlite://")  # type: ignore[arg-type]


def test_an_answer_that_is_missing_is_told() -> None:
    class Silent(Ledger):
        def append(self, events: Any) -> Any:
            found = super().append(events)
            return [] if isinstance(next(iter(events)), Feedback) else found

    with pytest.raises(AssertionError, match="answers 0 times to one event; it must answer once"):
        CHECKS["repeats"](in_memory(Silent))
