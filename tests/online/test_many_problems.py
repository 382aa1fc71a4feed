"""A host of many problems: work only for those with new events, and memory only for some."""

import math
from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from belated.ledger import Corrected, Feedback, Ledger, Lost
from belated.ledger.events import NewEvent
from belated.ledger.kinds import Tick
from belated.online.host import Host
from belated.online.learner_cache import Follower, Summary
from belated.online.status import ProblemStatus
from databases import count_statements
from histories import KINDS, History, make_spec


def define(ledger: Ledger, count: int) -> list[History]:
    histories = [History(ledger, make_spec(f"clinic-{i}"), i) for i in range(count)]
    for history in histories:
        history.publish_first()
        history.open(2)
    return histories


def settle(host: Host) -> None:
    """Poll until nothing is left to do."""
    while True:
        before = host._ledger.last
        host.step()
        if host.ready and host._ledger.last == before:
            return


def newest_shas(ledger: Ledger, problem: int) -> list[str]:
    return [version.sha for version in ledger.policies.versions(problem)]


def test_summaries_agree_with_the_status_and_use_neither_learners_nor_the_ledger(
    memory: Ledger,
) -> None:
    histories = define(memory, 3)
    memory.append([Lost(histories[0].episodes[0], "why")])
    host = Host(memory)
    host.step()
    with count_statements(memory) as statements:
        found = dict(host.summaries)
    assert statements == []
    for history in histories:
        summary, status = found[history.spec.name], host.status(history.known)
        assert isinstance(summary, Summary)
        assert isinstance(status, ProblemStatus)
        learner = status.learner
        assert (summary.psi, summary.mean_delay) == (learner.psi, learner.mean_delay)
        assert (summary.missing, summary.lost) == (learner.missing, status.lost)
    assert [found[history.spec.name].lost for history in histories] == [1, 0, 0]


def test_a_host_is_ready_when_every_problem_is_folded_and_new_events_come_first(
    memory: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("belated.online.host.BACKLOG_PROBLEMS_PER_POLL", 2)
    first, *others = define(memory, 6)
    host = Host(memory)
    host.step()
    assert not host.ready
    assert math.isnan(host.oldest_unfolded_age_s)
    assert {name for name, _ in host.summaries} == {"clinic-5", "clinic-4"}
    first.answer(*first.episodes)
    host.step()
    assert not host.ready
    assert len(newest_shas(memory, first.problem)) == 2
    host.step()
    assert host.ready
    assert host.oldest_unfolded_age_s < 3600
    assert len(host.summaries) == 1 + len(others)


def test_after_an_outage_a_poll_continues_with_the_problems_that_are_left(
    memory: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    histories = define(memory, 3)
    host = Host(memory)
    settle(host)
    for history in histories:
        history.answer(*history.episodes)
    append, calls = memory.append, 0

    def fail_second(events: Sequence[NewEvent]) -> object:
        nonlocal calls
        calls += Tick in map(type, events)
        if events and calls == 2:
            raise sa.exc.OperationalError("tick", {}, Exception("the disk is full"))
        return append(events)

    monkeypatch.setattr("belated.online.host.PROBLEMS_PER_TRANSACTION", 1)
    monkeypatch.setattr(memory, "append", fail_second)
    with pytest.raises(sa.exc.OperationalError):
        host.step()
    host.step()
    for history in histories:
        assert len(list(memory.events(history.problem, kinds=["tick"]))) == 1


def test_the_ticks_of_a_poll_are_recorded_in_one_transaction(ledger: Ledger) -> None:
    histories = define(ledger, 5)
    host = Host(ledger)
    settle(host)
    for history in histories:
        history.answer(*history.episodes)
    host.step()
    ticks = [tick for each in histories for tick in ledger.events(each.problem, kinds=["tick"])]
    assert len(ticks) == 5
    assert len({tick.at for tick in ticks}) == 1
    seqs = [tick.seq for tick in ticks]
    assert seqs == list(range(seqs[0], seqs[0] + 5))
    host.stop()


@pytest.mark.parametrize("kind", KINDS)
def test_released_learners_publish_the_same_policies(memory: Ledger, kind: str) -> None:
    """Two equal problems: one host releases its learners after each poll, the other never does."""
    with Ledger.open("sqlite://") as kept:
        ledgers = (memory, kept)
        hosts = (Host(memory, memory_limit_bytes=0), Host(kept))
        pairs = [
            [History(ledger, make_spec(f"clinic-{i}", **KINDS[kind]), i) for ledger in ledgers]
            for i in range(2)
        ]
        for host in hosts:
            host.step()
        for round in range(6):
            for pair in pairs:
                for history in pair:
                    history.open(2)
                    ids = history.episodes[-3:]
                    history.ledger.append([Feedback(id, history.piece(id)) for id in ids])
                    if round == 3:
                        history.ledger.append([Corrected(history.episodes[0], history.whole())])
            for host in hosts:
                host.step()
        for released, never in pairs:
            shas = newest_shas(memory, released.problem)
            assert shas == newest_shas(kept, never.problem)
            assert shas


def test_learners_beyond_the_limit_are_released_and_the_last_one_stays(memory: Ledger) -> None:
    histories = define(memory, 4)
    host = Host(memory, memory_limit_bytes=0)
    host.step()
    assert [is_released(host, history) for history in histories] == [False, True, True, True]
    status = host.status(histories[2].known)
    assert isinstance(status, ProblemStatus)
    host.step()
    assert [is_released(host, history) for history in histories] == [True, True, False, True]
    assert all(isinstance(summary, Summary) for _, summary in host.summaries)


def is_released(host: Host, history: History) -> bool:
    return host.learners.get(history.known).fold is None


def test_a_learner_in_use_is_not_released(memory: Ledger) -> None:
    histories = define(memory, 3)
    host = Host(memory, memory_limit_bytes=0)
    with host.learners.get(histories[1].known).lock:
        for history in histories[::2]:
            host.status(history.known)
    host.status(histories[1].known)
    host.status(histories[2].known)
    with host.learners.get(histories[1].known).lock:
        host.learners.release_unused(save=False)
    assert [is_released(host, history) for history in histories] == [True, False, False]
    host.learners.release_unused(save=False)
    assert [is_released(host, history) for history in histories] == [True, True, False]


def test_a_release_saves_a_snapshot_if_many_events_would_be_applied_again(
    memory: Ledger,
) -> None:
    history = define(memory, 1)[0]
    follower = Follower(memory, history.known)
    follower.catch_up()
    follower.release(save=True)
    assert memory.snapshots.newest(history.problem) is None
    history.answer(*history.open(60))
    fold = follower.catch_up()
    follower.release(save=False)
    assert memory.snapshots.newest(history.problem) is None
    fold = follower.catch_up()
    follower.release(save=True)
    snapshot = memory.snapshots.newest(history.problem)
    assert snapshot is not None
    assert snapshot.seq == fold.seq == follower.catch_up().seq


def test_a_memory_limit_must_not_be_negative(memory: Ledger) -> None:
    with pytest.raises(ValueError, match="memory_limit_bytes must be at least 0, got -1"):
        Host(memory, memory_limit_bytes=-1)


def test_what_fits_is_not_released(memory: Ledger) -> None:
    histories = define(memory, 2)
    host = Host(memory, memory_limit_bytes=1_000_000)
    host.step()
    assert not any(is_released(host, history) for history in histories)
