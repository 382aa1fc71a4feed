"""The quarantine: bounded, read in order, and free of what was withdrawn."""

import itertools
from collections.abc import Callable

import pytest

import ledger_samples as samples
from belated.ledger import Ledger, clients
from belated.ledger.clients import MAX_BODY_CHARS, RejectedRequest
from ledger_samples import (
    defined,
    opened,
    tell,
    whole,
)


def numbered(count: int, *, first: int = 0, problem: int | None = None) -> list[RejectedRequest]:
    return [RejectedRequest(f"Refused {n}.", n, problem) for n in range(first, first + count)]


def texts(ledger: Ledger, problem: int | None = None) -> list[str | None]:
    return [kept.text for kept in ledger.quarantine.read(problem)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for 20 of each problem, made with every fifth."""
    monkeypatch.setattr(clients, "MAX_REQUESTS_PER_PROBLEM", 20)
    monkeypatch.setattr(clients, "PRUNE_EVERY_REQUESTS", 5)


def test_the_oldest_make_room_for_the_newest(small: None, ledger: Ledger) -> None:
    ledger.quarantine.add_all(numbered(500))
    kept = texts(ledger)
    assert 20 <= len(kept) < 25
    assert kept == [str(n) for n in range(500 - len(kept), 500)]


def test_each_problem_has_room_of_its_own(small: None, ledger: Ledger) -> None:
    ledger.quarantine.add_all([RejectedRequest("Of none.", "mine"), *numbered(10, problem=7)])
    ledger.quarantine.add_all(numbered(500, problem=8))
    assert len(texts(ledger, 7)) == 10
    assert 20 <= len(texts(ledger, 8)) < 25
    assert '"mine"' in texts(ledger)


@pytest.mark.parametrize("clock", [lambda: 5, itertools.count(10**15, 1000).__next__])
def test_who_reads_on_misses_nothing_when_the_last_was_dropped(
    url: str, clock: Callable[[], int]
) -> None:
    with Ledger.open(url, clock=clock) as ledger:
        ledger.quarantine.add_all(numbered(3))
        ids = [kept.id for kept in ledger.quarantine]
        assert ids == sorted(set(ids))
        ledger.quarantine.add_all([RejectedRequest("Refused.", "later")])
        assert [kept.text for kept in ledger.quarantine.read(after=ids[-1])] == ['"later"']
        if clock() > 5:
            last = max(kept.id for kept in ledger.quarantine)
            ledger.quarantine.forget(before=2**60)
            ledger.quarantine.add_all([RejectedRequest("Refused.", "anew")])
            assert [kept.text for kept in ledger.quarantine.read(after=last)] == ['"anew"']


def test_what_is_long_or_odd_is_kept_as_far_as_it_can_be(ledger: Ledger) -> None:
    ledger.quarantine.add_all([RejectedRequest("odd: \0\ud800" + "x" * 5000, {"key": "y" * 10**6})])
    [kept] = ledger.quarantine
    assert kept.reason.startswith(r"odd: \x00\ud800xxx")
    assert len(kept.reason) == 1000
    assert str(kept.text).startswith(r'"{\"key\": \"yyy')
    assert MAX_BODY_CHARS <= len(str(kept.text)) < MAX_BODY_CHARS + 10


def test_of_a_withdrawn_episode_it_is_kept_only_that_something_came(ledger: Ledger) -> None:
    problem = samples.defined(ledger)
    one, two = samples.opened(ledger, problem, 2)
    ledger.quarantine.add_all([RejectedRequest("Refused.", "secret", episode=one)])
    ledger.quarantine.add_all([RejectedRequest("Refused.", "public", episode=two)])
    assert [kept.problem for kept in ledger.quarantine] == [problem, problem]
    ledger.withdraw(episode=one)
    ledger.quarantine.add_all([RejectedRequest("The secret is refused.", "secret", episode=one)])
    assert [(kept.outcome, kept.reason, kept.text) for kept in ledger.quarantine] == [
        ("refused", "Refused.", '"public"'),
        ("gone", f"Episode {one} has been withdrawn.", None),
    ]


def test_one_that_names_another_problem_stays_there(ledger: Ledger) -> None:
    clinic, shop = samples.defined(ledger, "clinic"), samples.defined(ledger, "shop")
    [episode] = samples.opened(ledger, clinic)
    ledger.quarantine.add_all([RejectedRequest("Refused.", 1, problem=shop, episode=episode)])
    assert texts(ledger, clinic) == []
    assert texts(ledger, shop) == ["1"]


def test_a_rejected_request_is_kept_once_with_its_reason(any_ledger: Ledger) -> None:
    """A rejected request is kept once with its reason, however often it is repeated."""
    ledger = any_ledger
    problem = defined(ledger)
    [episode] = opened(ledger, problem)
    odd = {"states": "é\0\ud800", "rewards": float("inf")}
    for _ in range(3):
        tell(ledger, episode, odd)
    tell(ledger, "nobody", whole(1))
    ledger.quarantine.add_all([RejectedRequest("The body is no JSON.", "{", problem=problem)])
    found = list(ledger.quarantine)
    assert [(r.problem, r.episode, r.outcome, r.times) for r in found] == [
        (problem, episode, "refused", 3),
        (None, None, "unknown", 1),
        (problem, None, "refused", 1),
    ]
    first, second, third = found
    assert "states" in first.reason
    assert "nobody" in second.reason
    assert third.text == '"{"'
    read = ledger.quarantine.read
    assert [*read(limit=1), *read(after=first.id)] == found
    assert list(read(problem)) == [
        first,
        third,
    ]
    assert ledger.quarantine.forget(before=first.at) == 0
    assert ledger.quarantine.forget(before=third.at + 1) == 3
    assert list(ledger.quarantine) == []
    ledger.quarantine.add_all(RejectedRequest(why, odd, episode=episode) for why in ("a", "b"))
    assert [(r.problem, r.reason) for r in read()] == [(problem, "a"), (problem, "b")]
    ledger.withdraw(episode=episode)
    ledger.quarantine.add_all([RejectedRequest("c", odd, episode=episode)])
    assert [(r.outcome, r.text) for r in read()] == [("gone", None)]
