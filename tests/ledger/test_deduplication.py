"""Each part of an episode is recorded once, in whatever pieces it arrives."""

from typing import Any

import pytest

from belated.ledger import (
    AlreadyRecorded,
    Conflict,
    Corrected,
    Feedback,
    Invalid,
    Ledger,
    NotFound,
    Recorded,
)
from ledger_samples import at, defined, kinds, one, opened, path, seq, step, tell, whole


def holds(ledger: Ledger, seq: int, content: Any) -> None:
    """Hold that this is what an event says."""
    body = at(ledger, seq).body
    assert body == content


@pytest.fixture
def ledger(any_ledger: Ledger) -> Ledger:
    """An empty ledger in a file, in memory or on PostgreSQL."""
    return any_ledger


def test_repeated_feedback_is_recorded_once(ledger: Ledger) -> None:
    """The same feedback again is answered with the seq of the first, and adds nothing."""
    [episode] = opened(ledger, defined(ledger))
    first = seq(tell(ledger, episode, whole(7)))
    holds(ledger, first, whole(7))
    same = {name: tuple(values) for name, values in reversed(whole(7).items())}
    for again in (whole(7), same):
        outcome = tell(ledger, episode, again)
        assert outcome == AlreadyRecorded(first)
    batch = ledger.append([Feedback(episode, whole(7))] * 2)
    assert batch == [AlreadyRecorded(first)] * 2
    assert ledger.last == first
    assert list(ledger.quarantine) == []


def test_events_of_one_call_are_compared_with_each_other(ledger: Ledger) -> None:
    """Events of one call are held against each other, in their order."""
    a, b = opened(ledger, defined(ledger), 2)
    before = ledger.last
    outcomes = ledger.append(
        [
            Feedback(a, whole(1)),
            Feedback(a, whole(1)),
            Feedback(a, whole(2)),
            Feedback(b, {"steps": [step(0, 3)]}),
            Feedback(b, {"steps": [step(0, 3), step(2, 3)]}),
            Corrected(b, whole(4)),
            Feedback(b, whole(4)),
        ]
    )
    got = [type(outcome) for outcome in outcomes]
    expected = [
        Recorded,
        AlreadyRecorded,
        Conflict,
        Recorded,
        Recorded,
        Recorded,
        AlreadyRecorded,
    ]
    assert got == expected
    assert ledger.last == before + 4
    holds(ledger, before + 3, {"steps": [step(2, 3)]})


def test_feedback_of_an_episode_that_was_not_opened_is_not_found(ledger: Ledger) -> None:
    """Feedback of an episode that was never opened is unknown."""
    [episode] = opened(ledger, defined(ledger))
    before = ledger.last
    for id in (episode[::-1], episode.swapcase(), "", "nobody", "x" * 500, "\0", "\ud800"):
        assert type(tell(ledger, id, whole())) is NotFound
        assert type(one(ledger, Corrected(id, whole()))) is NotFound
    assert ledger.last == before
    assert {refusal.outcome for refusal in ledger.quarantine} == {"unknown"}


def test_steps_arrive_in_any_order_and_only_new_ones_are_recorded(ledger: Ledger) -> None:
    """Steps come in any order and in any company; what has come before is left out."""
    episode, other, third = opened(ledger, defined(ledger), 3)
    first = seq(tell(ledger, episode, {"steps": [step(2, 5)]}))
    second = seq(tell(ledger, episode, {"steps": [step(2, 5), step(0, 5)]}))
    holds(ledger, second, {"steps": [step(0, 5)]})
    outcome = tell(ledger, episode, {"steps": [step(2, 5), step(1, 6)], "more": 1})
    assert type(outcome) is Invalid
    assert type(tell(ledger, episode, {"steps": [step(1, 80), step(2, 80)]})) is Conflict
    rest = seq(tell(ledger, episode, whole(5)))
    holds(ledger, rest, {"steps": [step(1, 5)]})
    for content in (whole(5), {"steps": [step(1, 5)]}, {"steps": [step(0, 5), step(2, 5)]}):
        assert type(tell(ledger, episode, content)) is AlreadyRecorded
    for steps, by in (([2], first), ([0, 2], second), ([2, 1, 0], rest)):
        outcome = tell(ledger, episode, {"steps": [step(h, 5) for h in steps]})
        assert outcome == AlreadyRecorded(by)
    assert type(tell(ledger, other, whole(9))) is Recorded
    assert type(tell(ledger, other, {"steps": [step(1, 9)]})) is AlreadyRecorded
    assert type(tell(ledger, third, {"path": path()})) is Invalid


def test_a_path_and_its_rewards_arrive_in_any_order(ledger: Ledger) -> None:
    """If rewards are late, a path and its rewards may arrive separately, in any order."""
    a, b, c = opened(ledger, defined(ledger, late="rewards"), 3)
    rewards = {str(h): r for h, r in enumerate(whole(5)["rewards"])}
    seq(tell(ledger, a, {"rewards": {"1": rewards["1"]}}))
    told = seq(tell(ledger, a, {"path": path(5), "rewards": {0: rewards["0"]}}))
    holds(ledger, told, {"path": path(5), "rewards": {"0": rewards["0"]}})
    assert type(tell(ledger, a, {"rewards": {"0": 0.125}})) is Conflict
    assert type(tell(ledger, a, {"path": path(50)})) is Conflict
    assert type(tell(ledger, a, {"steps": [step(0, 5)]})) is Conflict
    rest = seq(tell(ledger, a, whole(5)))
    holds(ledger, rest, {"rewards": {"2": rewards["2"]}})
    assert type(tell(ledger, a, {"rewards": rewards})) is AlreadyRecorded
    seq(tell(ledger, b, whole(6)))
    assert type(tell(ledger, b, {"path": path(6)})) is AlreadyRecorded
    seq(tell(ledger, c, {"steps": [step(0, 7)]}))
    assert type(tell(ledger, c, {"path": path(7)})) is Conflict


def test_a_correction_replaces_all_earlier_feedback(ledger: Ledger) -> None:
    """A correction replaces what came before; a repeat of that, come late, changes nothing."""
    episode, silent = opened(ledger, defined(ledger), 2)
    first = seq(tell(ledger, episode, {"steps": [step(0, 1), step(1, 1)]}))
    assert type(one(ledger, Corrected(episode, {"steps": [step(0, 2)]}))) is Invalid
    fixed = seq(one(ledger, Corrected(episode, whole(2))))
    holds(ledger, fixed, whole(2))
    for event in (Corrected(episode, whole(2)), Feedback(episode, whole(2))):
        outcome = one(ledger, event)
        assert outcome == AlreadyRecorded(fixed)
    outcome = tell(ledger, episode, {"steps": [step(0, 1)]})
    assert outcome == AlreadyRecorded(first)
    assert type(tell(ledger, episode, whole(3))) is Conflict
    seq(one(ledger, Corrected(episode, whole(4))))
    assert type(one(ledger, Corrected(episode, whole(2)))) is Conflict
    seq(one(ledger, Corrected(episode, whole(2), event_time=7)))
    seq(one(ledger, Corrected(silent, whole(9))))
    assert type(tell(ledger, silent, whole(8))) is Conflict
    assert kinds(ledger).count("corrected") == 4
