"""Episodes can be declared lost, and problems archived; both are events."""

import pytest

import ledger_samples as samples
from belated.ledger import (
    AlreadyRecorded,
    Conflict,
    Corrected,
    DataWithdrawn,
    Ledger,
    Lost,
    NotFound,
    Opened,
    ProblemSpec,
    Recorded,
)
from belated.ledger.problems import Late
from belated.online.verify import verify


def sound(ledger: Ledger) -> bool:
    return not ledger.faults() and all(verify(ledger, one).sound for one in ledger.problems())


def test_an_episode_is_lost_until_feedback_arrives(ledger: Ledger) -> None:
    problem = samples.defined(ledger)
    [id] = samples.opened(ledger, problem)
    seq = samples.seq(samples.one(ledger, Lost(id, "no answer")))
    event = samples.at(ledger, seq)
    assert (event.kind, event.episode, event.body) == ("lost", id, {"reason": "no answer"})
    assert ledger.episodes([id])[id].lost == seq
    assert samples.one(ledger, Lost(id, "no answer")) == AlreadyRecorded(seq)
    assert type(samples.one(ledger, Lost(id, "another reason"))) is Conflict
    assert sound(ledger)
    assert type(samples.tell(ledger, id, {"steps": [samples.step(0, 5)]})) is Recorded
    assert ledger.episodes([id])[id].lost is None
    assert type(samples.one(ledger, Lost(id, "no answer"))) is Recorded  # the rest of it
    assert type(samples.tell(ledger, id, samples.whole(5))) is Recorded
    assert type(samples.one(ledger, Lost(id, "no answer"))) is Conflict  # it is complete
    assert sound(ledger)


def test_unknown_and_withdrawn_episodes_cannot_be_lost(ledger: Ledger) -> None:
    [id] = samples.opened(ledger, samples.defined(ledger))
    assert type(samples.one(ledger, Lost("a" * 22, "why"))) is NotFound
    ledger.withdraw(episode=id)
    assert type(samples.one(ledger, Lost(id, "why"))) is DataWithdrawn


def test_a_withdrawal_deletes_the_reason(ledger: Ledger) -> None:
    problem = samples.defined(ledger)
    ids = samples.opened(ledger, problem, 2, subject="Ann")
    seqs = [samples.seq(samples.one(ledger, Lost(id, "Ann moved away"))) for id in ids]
    ledger.withdraw(subject="Ann")
    for seq in seqs:
        event = samples.at(ledger, seq)
        assert (event.text, event.salt, event.redacted) == (None, None, True)
    assert sound(ledger)


def test_a_correction_revives_a_lost_episode(ledger: Ledger) -> None:
    [id] = samples.opened(ledger, samples.defined(ledger))
    ledger.append([Lost(id, "why"), Corrected(id, samples.whole(3))])
    assert ledger.episodes([id])[id].lost is None
    assert sound(ledger)


@pytest.mark.parametrize(
    ("late", "pieces"),
    [
        ("everything", [{"steps": [samples.step(h)]} for h in range(samples.H)]),
        ("rewards", [{"path": samples.path()}, {"rewards": {"0": 0, "1": 0, "2": 1}}]),
        ("rewards", [{"rewards": {"0": 0, "1": 0, "2": 1}}, {"path": samples.path()}]),
    ],
)
def test_feedback_is_complete_when_its_last_part_has_arrived(
    memory: Ledger, late: Late, pieces: list[dict]
) -> None:
    [id] = samples.opened(memory, samples.defined(memory, late=late))
    for piece in pieces:
        assert type(samples.one(memory, Lost(id, "why"))) is Recorded
        assert type(samples.tell(memory, id, piece)) is Recorded
    assert type(samples.one(memory, Lost(id, "why"))) is Conflict


def test_an_episode_that_ends_early_is_complete_with_its_last_step(memory: Ledger) -> None:
    spec = ProblemSpec.of({**samples.spec().body, "terminal": ["well"]})
    problem = samples.seq(memory.define(spec))
    samples.seq(memory.publish(problem, samples.policy(), version=1))
    [id] = samples.opened(memory, problem)
    step = {"action": 1, "reward": 0.5}
    for number, state, following, outcome in ((1, 1, 2, Recorded), (0, 0, 1, Conflict)):
        row = {**step, "step": number, "state": state, "next_state": following}
        assert type(samples.tell(memory, id, {"steps": [row]})) is Recorded
        assert type(samples.one(memory, Lost(id, "why"))) is outcome


def test_an_archived_problem_opens_no_episodes_but_takes_feedback(ledger: Ledger) -> None:
    problem = samples.defined(ledger)
    [id] = samples.opened(ledger, problem)
    seq = samples.seq(ledger.control(problem, "archive", by="Eve"))
    assert ledger.control(problem, "archive") == AlreadyRecorded(seq)
    assert ledger.archived() == {problem}
    [outcome] = ledger.open_episodes(problem, version=1)
    assert type(outcome) is Conflict
    assert "archived" in outcome.reason
    assert type(samples.tell(ledger, id, samples.whole(1))) is Recorded
    assert sound(ledger)
    samples.seq(ledger.control(problem, "unarchive"))
    assert (type(ledger.control(problem, "unarchive")), ledger.archived()) == (
        AlreadyRecorded,
        set(),
    )
    assert samples.opened(ledger, problem)
    assert sound(ledger)


def test_a_repeated_opening_of_an_archived_problem_finds_its_episode(ledger: Ledger) -> None:
    problem = samples.defined(ledger)
    [id] = samples.opened(ledger, problem)
    ledger.control(problem, "archive")
    [outcome] = ledger.append([Opened(problem, 1, None, id)])
    assert type(outcome) is AlreadyRecorded
