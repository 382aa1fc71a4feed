"""A fold: what the events come to, from nothing or from a snapshot, whatever was undone."""

from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.ledger import Corrected, Event, Feedback, Ledger, ProblemSpec, Recorded
from belated.online.fold import FORMAT, Fold
from belated.online.learner_cache import Follower
from belated.online.learner_factory import build_learner
from belated.online.snapshot_codec import decode_state, digest_state, encode_state
from belated.survival.duration_counts import MAX_GROUP
from combinations import chosen
from histories import KINDS, A, History, S, anything, make_spec, step_of
from snapshots import same

every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())


def begin(ledger: Ledger, luck: int = 0, **options: Any) -> History:
    history = History(ledger, make_spec(**options), luck)
    history.publish_first()
    return history


def folded(fold: Fold, events: list[Event]) -> Fold:
    for event in events:
        fold.apply(event)
    return fold


def observed(learner: bl.Learner) -> dict[str, Any]:
    """Return the state of a learner without its observed delays."""
    state = learner.snapshot()
    return {key: state[key] for key in ("instances", "seen")}


@every_kind
def test_a_fold_from_any_snapshot_is_the_fold_from_nothing(
    memory: Ledger, options: dict[str, Any]
) -> None:
    history = begin(memory, luck=1, **options)
    history.go_on(35)
    events = history.events
    exclusions = history.exclusions
    end = history.fold().snapshot()
    before = Fold(history.spec, exclusions)
    for place, event in enumerate(events, start=1):
        before.apply(event)
        if not chosen(place, one_in=3):
            continue
        state = decode_state(encode_state(before.snapshot()))
        after = folded(Fold.restore(history.spec, state, exclusions), events[place:])
        assert same(after.snapshot(), end)


def test_the_first_episode_beyond_the_problems_number_is_logged_once(
    memory: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    history = begin(memory, episodes=3)
    history.open(3)
    history.fold()
    assert caplog.messages == []
    history.open(2)
    history.fold()
    assert caplog.messages == [
        f"Problem {history.spec.name}: episode 4 was opened, but its bonuses are computed for "
        "episodes=3."
    ]


@every_kind
def test_following_a_ledger_is_folding_it_from_nothing(
    memory: Ledger, options: dict[str, Any]
) -> None:
    history = begin(memory, luck=2, **options)
    follower = Follower(memory, history.known)
    for round in range(15):
        history.go_on(5)
        if round == 8:
            history.answer(*history.open(2))
            history.tick()
            follower.catch_up()
            memory.append([Corrected(history.episodes[-1], history.whole())])
            assert isinstance(memory.withdraw(episode=history.episodes[-2])[0], Recorded)
        fold = follower.catch_up()
        follower.save(every=10)
        if chosen(round, -2, one_in=3):
            assert digest_state(fold.snapshot()) == digest_state(history.fold().snapshot())


def test_a_fold_is_a_learner_that_is_told_the_same(memory: Ledger) -> None:
    history = begin(memory)
    learner = build_learner(history.spec)
    rng = np.random.default_rng(5)
    for batch in range(4):
        ids = history.open(3)
        came = [anything(rng) for _ in ids]
        numbers = range(3 * batch + 1, 3 * batch + 4)
        memory.append([Feedback(id, facts) for id, facts in zip(ids, came, strict=True)])
        history.tick()
        for number in numbers:
            learner.start(number)
        learner.observe([bl.Episode(n, **facts) for n, facts in zip(numbers, came, strict=True)])
    assert same(history.fold().learner.snapshot(), learner.snapshot())


def test_steps_are_taken_as_they_come(memory: Ledger) -> None:
    history = begin(memory)
    (id,) = history.open()
    facts = anything(history.rng)
    learner = build_learner(history.spec)
    learner.start(1)
    for h in (2, 0, 1):
        step = step_of(facts, h)
        memory.append([Feedback(id, {"steps": [step]})])
        history.tick()
        step["successor"] = step.pop("next_state")
        learner.observe_steps([bl.Step(1, **step)])
        fold = history.fold()
        assert same(fold.learner.snapshot(), learner.snapshot())
    assert (learner.observed, fold.in_flight) == (1, {})


@pytest.mark.parametrize("apart", [True, False], ids=["in two ticks", "in one tick"])
@pytest.mark.parametrize("first", ["path", "rewards"])
def test_rewards_wait_for_the_path(memory: Ledger, first: str, apart: bool) -> None:
    history = begin(memory, late="rewards")
    (id,) = history.open()
    facts = anything(history.rng)
    rewards = facts.pop("rewards")
    pieces = [{"path": facts}, {"rewards": {0: rewards[0], 2: rewards[2]}}]
    for piece in pieces if first == "path" else reversed(pieces):
        memory.append([Feedback(id, piece)])
        if apart:
            history.tick()
    if not apart:
        history.tick()
    learner = build_learner(history.spec)
    learner.observe_path([bl.Episode(1, **facts)])
    learner.observe_rewards({1: [rewards[0], np.nan, rewards[2]]})
    fold = history.fold()
    assert same(observed(fold.learner)["seen"], observed(learner)["seen"])
    sums = [one.snapshot()["instances"][0]["reward_sums"] for one in (fold.learner, learner)]
    assert same(*sums)
    assert sums[0]["n"].sum() == 2
    assert fold.learner.missing == 1
    memory.append([Feedback(id, {"rewards": {1: rewards[1]}})])
    history.tick()
    fold = history.fold()
    assert (fold.learner.observed, fold.in_flight) == (1, {})


def test_a_tick_takes_what_came_up_to_it_and_no_more(memory: Ledger) -> None:
    history = begin(memory)
    ids = history.open(3)
    history.answer(ids[0])
    upto = memory.last
    history.answer(*ids[1:])
    history.tick(upto)
    fold = history.fold()
    assert (fold.learner.observed, len(fold.waiting), fold.due) == (1, 2, True)
    history.tick()
    fold = history.fold()
    assert (fold.learner.observed, len(fold.waiting), fold.due) == (3, 0, False)


def test_batches_are_the_ticks(memory: Ledger) -> None:
    options = make_spec(updater=KINDS["lazy"]["updater"]).body
    plans = []
    for name, batched in (("one", False), ("all", True)):
        history = History(memory, ProblemSpec.of({**options, "name": name}), 3)
        history.publish_first()
        for id in history.open(8):
            history.answer(id)
            if not batched:
                history.tick()
        history.tick()
        plans.append(history.fold().learner.epochs)
    assert plans[1] == 2
    assert plans[0] > 2


def test_a_correction_counts_and_what_it_corrects_does_not(memory: Ledger) -> None:
    history = begin(memory, luck=4)
    first, second = history.open(2)
    wrong, right, other = (anything(history.rng) for _ in range(3))
    memory.append([Feedback(first, wrong)])
    history.tick()
    memory.append([Feedback(second, other), Corrected(first, right)])
    history.tick()
    learner = build_learner(history.spec)
    learner.observe([bl.Episode(2, **other), bl.Episode(1, **right)])
    assert same(observed(history.fold().learner), observed(learner))


def test_a_withdrawn_episode_is_as_if_it_had_never_been_opened(memory: Ledger) -> None:
    kept = begin(memory, luck=6)
    facts = anything(kept.rng)
    for name in ("withdrawn", "never"):
        history = History(memory, make_spec(name), 6)
        history.publish_first()
        (id,) = history.open()
        memory.append([Feedback(id, facts)])
        history.tick()
        if name == "withdrawn":
            answered, open_still = history.open(2, subject="someone")
            history.answer(answered)
            history.tick()
            memory.withdraw(subject="someone")
            assert open_still in history.episodes
        history.tick()
        if name == "withdrawn":
            told = history.fold().learner.snapshot()
    assert same(told, history.fold().learner.snapshot())


def test_a_fold_begins_with_the_newest_snapshot(
    memory: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = begin(memory)
    history.go_on(30, undo=False)
    history.tick()
    follower = Follower(memory, history.known)
    follower.catch_up()
    assert not follower.save(every=10_000)
    assert follower.save(every=1)
    history.answer(*history.open(2))
    end = history.fold()
    applied: list[int] = []
    plain = Fold.apply

    def apply(fold: Fold, event: Event) -> None:
        applied.append(event.seq)
        plain(fold, event)

    monkeypatch.setattr(Fold, "apply", apply)
    fold = Follower(memory, history.known).catch_up()
    assert applied == [memory.last - 3, memory.last - 2, memory.last - 1, memory.last]
    assert same(fold.snapshot(), end.snapshot())


def test_a_snapshot_with_a_flight_that_was_withdrawn_since_is_not_used(memory: Ledger) -> None:
    history = begin(memory)
    history.answer(*history.open(2))
    history.tick()
    follower = Follower(memory, history.known)
    follower.catch_up()
    follower.save(every=1)
    history.open(2, subject="someone")
    follower.catch_up()
    follower.save(every=1)
    memory.withdraw(subject="someone")
    for fold in (Follower(memory, history.known).catch_up(), follower.catch_up()):
        assert fold.learner.status.begun == 2
        assert same(fold.snapshot(), history.fold().snapshot())


@pytest.mark.parametrize(
    "state", [{"format": 0}, {"format": FORMAT, "spec": "another"}, {"format": FORMAT}, 5]
)
def test_a_snapshot_that_cannot_be_read_is_passed_over(memory: Ledger, state: Any) -> None:
    history = begin(memory)
    history.answer(*history.open(2))
    memory.snapshots.save(history.problem, memory.last, encode_state(state))
    history.tick()
    fold = Follower(memory, history.known).catch_up()
    assert same(fold.snapshot(), history.fold().snapshot())


def test_a_snapshot_does_not_grow_with_the_episodes_that_are_back(memory: Ledger) -> None:
    history = begin(memory, rewards=np.zeros((S, A)))
    follower = Follower(memory, history.known)
    sizes = []
    for _ in range(3):
        for _ in range(4):
            history.answer(*history.open(100))
            history.tick()
        state = follower.catch_up().snapshot()
        assert (state["in_flight"], state["waiting"]) == ([], [])
        for delays in (state["learner"]["delays"], state["history"]["delays"]):
            assert delays["groups"].size <= MAX_GROUP  # however many episodes are back
        del state["learner"]["delays"], state["history"]
        sizes.append(len(encode_state(state)))
    assert max(sizes) < 1.1 * min(sizes)


def test_events_must_come_in_order(memory: Ledger) -> None:
    history = begin(memory)
    fold = history.fold()
    with pytest.raises(
        ValueError, match=r"^Events must be applied in increasing order of seq, got 1 after 2\.$"
    ):
        fold.apply(history.events[0])
