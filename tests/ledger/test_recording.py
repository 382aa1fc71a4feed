"""Definitions, episodes, ticks, versions and controls are recorded in order."""

import secrets

import numpy as np
import pytest

from belated.episode import Policy
from belated.ledger import Ledger
from belated.ledger.events import AlreadyRecorded, Conflict, Invalid, NotFound
from belated.ledger.kinds import Opened
from ledger_samples import (
    ACTIONS,
    STATES,
    H,
    at,
    defined,
    kinds,
    one,
    policy,
    record,
    seq,
    spec,
)


@pytest.fixture
def ledger(any_ledger: Ledger) -> Ledger:
    """An empty ledger in a file, in memory or on PostgreSQL."""
    return any_ledger


def test_a_problem_is_defined_once(ledger: Ledger) -> None:
    """A problem is defined once; the same again is a repeat, and another is a conflict."""
    first = seq(ledger.define(spec("one")))
    second = seq(ledger.define(spec("two", late="rewards")))
    outcome = ledger.define(spec("one"))
    assert outcome == AlreadyRecorded(first)
    assert type(ledger.define(spec("one", late="rewards"))) is Conflict
    known = {name: ledger.problem(name) for name in ("one", "two", "three")}
    assert known["three"] is None
    assert all(
        found is not None and (found.id, found.spec) == (id, made)
        for found, id, made in (
            (known["one"], first, spec("one")),
            (known["two"], second, spec("two", late="rewards")),
        )
    )
    assert [problem.id for problem in ledger.problems()] == [first, second]
    event = at(ledger, first)
    assert (event.problem, event.body) == (first, spec("one").body)


def test_episodes_are_numbered_within_their_problem(ledger: Ledger) -> None:
    """Episodes are numbered 1, 2, ... within their problem, and told apart by opaque ids."""
    one_, two = defined(ledger, "one"), defined(ledger, "two")
    records = []
    for problem, count in ((one_, 2), (two, 1), (one_, 3)):
        outcomes = ledger.open_episodes(problem, count, version=1, subject="Ann")
        records += [record(outcome) for outcome in outcomes]
    got = [(episode.problem == one_, episode.number) for episode in records]
    assert got == [(True, 1), (True, 2), (False, 1), (True, 3), (True, 4), (True, 5)]
    ids = {episode.id for episode in records}
    assert len(ids) == 6
    assert min(map(len, ids)) >= 22
    for episode in records:
        event, found = at(ledger, episode.seq), ledger.episode(episode.id)
        assert event.body == {"number": episode.number, "version": 1}
        assert event.episode == episode.id
        assert found == episode
    assert ledger.episode("nobody") is None
    known = ledger.episodes([*ids, "nobody"])
    assert known == {episode.id: episode for episode in records}
    assert type(one(ledger, Opened(one_, 2))) is Invalid
    assert type(one(ledger, Opened(99, 1))) is NotFound


def test_an_episode_that_is_opened_again_keeps_its_version(ledger: Ledger) -> None:
    """Opening an episode again with the same id returns the first opening."""
    problem = defined(ledger)
    id = secrets.token_urlsafe(16)
    first = one(ledger, Opened(problem, 1, "Ann", id))
    seq(ledger.publish(problem, policy(5), version=2))
    again = one(ledger, Opened(problem, 2, "Ann", id))
    assert again == AlreadyRecorded(seq(first), record(first))
    assert type(one(ledger, Opened(problem, 2, "Bob", id))) is Conflict
    assert kinds(ledger).count("opened") == 1


def test_ticks_end_batches_in_order(ledger: Ledger) -> None:
    """Batches end one after the other, and at events that are there."""
    problem, other = defined(ledger, "one"), defined(ledger, "two")
    first = ledger.tick(problem)
    body = at(ledger, seq(first)).body
    assert body == {"upto": seq(first) - 1}
    again = ledger.tick(problem, seq(first) - 1)
    assert again == AlreadyRecorded(seq(first))
    assert type(ledger.tick(problem, seq(first) - 2)) is Invalid
    assert type(ledger.tick(problem, ledger.last + 1)) is Invalid
    assert type(ledger.tick(99)) is NotFound
    seq(ledger.tick(other, 1))
    seq(ledger.tick(problem, seq(first)))


def test_versions_are_published_in_order_and_read_back_exactly(ledger: Ledger) -> None:
    """Versions are published one after the other, and come back bit for bit."""
    problem = seq(ledger.define(spec()))
    marks = np.zeros((H, len(STATES), len(ACTIONS)), np.bool_)
    marks[1, 2, 0] = True
    published = [
        policy(3),
        Policy(policy(5).actions, marks, 0.25),
        Policy(policy(5).actions, np.zeros_like(marks), 0.1),
    ]
    assert type(ledger.publish(problem, policy(), version=2)) is Invalid
    ticks: list[int] = []
    for version, made in enumerate(published, 1):
        tick = ticks[-1] if ticks else None
        first = seq(ledger.publish(problem, made, version=version, tick=tick))
        again = ledger.publish(problem, made, version=version, tick=tick)
        assert again == AlreadyRecorded(first)
        found = ledger.policies.newest(problem)
        assert found is not None
        assert at(ledger, first).body == {"version": version, "sha": found.sha, "tick": tick}
        assert (found.version, found.seq, found.tick) == (version, first, tick)
        ticks.append(seq(ledger.tick(problem)))
    for version, made in enumerate(published, 1):
        assert ledger.policies.get(problem, version) == made
    assert [found.version for found in ledger.policies.versions(problem)] == [1, 2, 3]
    assert ledger.policies.get(problem, 4) is None
    assert ledger.policies.newest(99) is None
    assert type(ledger.publish(problem, policy(9), version=2)) is Conflict
    assert type(ledger.publish(problem, policy(), version=4, tick=1)) is Invalid
    late = ledger.publish(problem, policy(), version=4, tick=ticks[-2])
    assert type(late) is Invalid
    short = Policy(np.zeros((H - 1, len(STATES)), np.int32))
    assert type(ledger.publish(problem, short, version=4)) is Invalid
    assert type(ledger.publish(99, policy(), version=1)) is NotFound


def test_controls_are_recorded_with_their_author(ledger: Ledger) -> None:
    """Decisions are recorded with their actor; only a published version can be restored."""
    problem = defined(ledger)
    for action, version in (("freeze", None), ("roll_back", 1), ("unfreeze", None)):
        told = seq(ledger.control(problem, action, version=version, by="Eve"))  # type: ignore[arg-type]
        body = at(ledger, told).body
        assert body == {"action": action, "version": version, "by": "Eve"}
    assert type(ledger.control(problem, "roll_back", version=2)) is Invalid
    assert type(ledger.control(99, "freeze")) is NotFound
