"""Kinds of events: what they refuse, each with a sentence."""

import pytest

import ledger_samples as samples
from belated.ledger import (
    Control,
    Corrected,
    Defined,
    Feedback,
    Ledger,
    Opened,
    Published,
    Tick,
    Withdrawn,
)

ID = "x" * 22


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Defined("clinic"), "spec must be a ProblemSpec, got 'clinic'."),
        (lambda: Opened("clinic", 1), "problem must be an integer, got 'clinic'."),
        (lambda: Opened(0, 1), "problem must be at least 1, got 0."),
        (lambda: Opened(1, True), "version must be an integer, got True."),
        (lambda: Opened(1, 1, subject=""), "subject must have 1 .. 200 characters, got 0."),
        (
            lambda: Opened(1, 1, subject="a\0"),
            "subject must consist of printable characters, got 'a\\x00'.",
        ),
        (
            lambda: Opened(1, 1, subject="\ud800"),
            "subject must consist of printable characters, got '\\ud800'.",
        ),
        (lambda: Opened(1, 1, id="mine"), "id must be 22 to 64 characters of A-Z, a-z, 0-9"),
        (lambda: Feedback(7, {}), "episode must be a text, got 7."),
        (lambda: Feedback(ID, {}, 1.5), "event_time must be an integer, got 1.5."),
        (lambda: Corrected(ID, {}, 2**63), f"event_time must be below 2**63, got {2**63}."),
        (lambda: Withdrawn(), "Withdrawn takes either an episode, or a problem and a subject; "),
        (lambda: Withdrawn(ID, 1, "Ann"), "Withdrawn takes either an episode, or a problem and a"),
        (lambda: Withdrawn(subject="Ann"), "Withdrawn takes either an episode, or a problem and a"),
        (lambda: Withdrawn(problem=1, subject="\n"), "subject must consist of printable"),
        (lambda: Tick(1, 0), "upto must be at least 1, got 0."),
        (lambda: Published(1, 1, None), "policy must be a Policy, got None."),
        (lambda: Published(1, 0, samples.policy()), "version must be at least 1, got 0."),
        (lambda: Control(1, "stop"), "action must be one of freeze, unfreeze, roll_back,"),
        (lambda: Control(1, "freeze", 3), "version must be given for roll_back and for no other"),
        (lambda: Control(1, "roll_back"), "version must be given for roll_back and for no other"),
    ],
)
def test_nonsense_gets_a_sentence(make, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        make()
    assert str(raised.value).startswith(sentence)
    assert str(raised.value).endswith(".")


def test_what_is_no_event_is_refused_before_anything_is_recorded(memory: Ledger) -> None:
    [episode] = samples.opened(memory, samples.defined(memory))
    before = memory.last
    with pytest.raises(TypeError, match=r"^An event must be one of belated.ledger's kinds, got"):
        memory.append([Feedback(episode, samples.whole()), {"kind": "tick"}])
    assert memory.last == before


def test_the_time_is_that_of_the_clock_and_of_the_caller() -> None:
    times = iter(range(100, 200))
    with Ledger.open("sqlite://", clock=lambda: next(times)) as ledger:
        [episode] = samples.opened(ledger, samples.defined(ledger))
        samples.one(ledger, Feedback(episode, samples.whole(), event_time=-5))
        found = [(event.at, event.event_time) for event in ledger.events()]
    assert found == [(100, None), (101, None), (102, None), (103, -5)]


def test_a_subject_is_not_shown_by_accident(memory: Ledger) -> None:
    [outcome] = memory.open_episodes(samples.defined(memory), version=1, subject="Ann Other")
    assert outcome.episode.subject == "Ann Other"
    assert "Ann" not in repr(outcome)
