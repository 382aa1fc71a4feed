"""A host: ticks, folds and publishes, one at a time, whatever fails or dies."""

import queue
import select
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from belated.episode import Policy
from belated.learner.learner import Learner
from belated.ledger import Corrected, Ledger, Part
from belated.ledger.events import NewEvent
from belated.ledger.kinds import Tick
from belated.ledger.outages import LOCK_TIMEOUT, describe_outage
from belated.ledger.policies import encode_policy
from belated.ledger.store import OUTAGES
from belated.online.fold import Fold
from belated.online.host import DatabaseLock, FileLock, Host, create_lock
from belated.online.status import ProblemStatus
from belated.online.verify import verify
from histories import H, History, S, make_spec
from processes import Program

PATIENCE = 60.0
"""Seconds after which a process or a thread counts as stuck, on any machine."""


def versions(history: History) -> list[int]:
    return [one.version for one in history.ledger.policies.versions(history.problem)]


def kinds(history: History) -> list[str]:
    return [event.kind for event in history.ledger.events(history.problem)]


def newest_sha(history: History) -> str:
    newest = history.ledger.policies.newest(history.problem)
    assert newest is not None
    return newest.sha


def fold_sha(history: History) -> str:
    """The digest of the policy that the events come to, folded from nothing."""
    return encode_policy(history.fold().policy).sha


@pytest.fixture
def history(memory: Ledger) -> History:
    return History(memory, make_spec())


def test_version_1_is_published_as_soon_as_a_problem_is_defined(history: History) -> None:
    assert Host(history.ledger).step()
    assert kinds(history) == ["defined", "published"]
    (first,) = history.ledger.policies.versions(history.problem)
    assert (first.version, first.tick) == (1, None)


def test_what_has_come_is_one_batch_and_a_new_policy_a_new_version(history: History) -> None:
    host = Host(history.ledger)
    host.step()
    history.answer(*history.open(5))
    host.step()
    assert kinds(history)[-2:] == ["tick", "published"]
    assert kinds(history).count("tick") == 1
    newest = history.ledger.policies.newest(history.problem)
    assert newest is not None
    assert (newest.version, newest.tick) == (2, history.ledger.last - 1)
    assert newest.sha == fold_sha(history)


def test_where_nothing_has_come_back_nothing_is_recorded(history: History) -> None:
    host = Host(history.ledger)
    host.step()
    history.open(3)
    before = history.ledger.last
    for _ in range(3):
        host.step()
    assert history.ledger.last == before


def test_a_policy_that_stays_the_same_is_not_published_again(memory: Ledger) -> None:
    history = History(memory, make_spec(base=Part("random")))
    host = Host(memory)
    host.step()
    for _ in range(3):
        history.answer(*history.open(2))
        host.step()
    assert kinds(history).count("tick") == 3
    assert versions(history) == [1]


def test_what_a_host_ticked_and_did_not_publish_another_publishes(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = history.ledger
    Host(ledger).step()
    history.answer(*history.open(5))

    def die(*given: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "publish", die)
        with pytest.raises(KeyboardInterrupt):
            Host(ledger).step()
    assert kinds(history)[-1] == "tick"
    Host(ledger).step()
    assert kinds(history)[-2:] == ["tick", "published"]
    assert newest_sha(history) == fold_sha(history)


def test_a_withdrawal_of_what_was_learnt_gives_a_version_without_it(history: History) -> None:
    ledger = history.ledger
    host = Host(ledger)
    host.step()
    first = newest_sha(history)
    history.answer(*history.open(6, subject="someone"))
    host.step()
    assert newest_sha(history) != first
    ledger.withdraw(subject="someone")
    host.step()
    assert newest_sha(history) == fold_sha(history) == first
    assert versions(history) == [1, 2, 3]


def test_snapshots_are_kept_every_so_many_events(history: History) -> None:
    host = Host(history.ledger, snapshot_every=20)
    host.step()
    kept = set()
    for _ in range(8):
        history.answer(*history.open(5))
        host.step()
        snapshot = history.ledger.snapshots.newest(history.problem)
        kept.add(None if snapshot is None else snapshot.seq)
    assert None in kept
    assert len(kept) == 5


def test_a_problem_that_fails_does_not_hold_up_the_others(memory: Ledger) -> None:
    good, bad, other = (
        History(memory, make_spec(name, base=Part(base)))
        for name, base in (("good", "ucrl2"), ("bad", "nonsense"), ("other", "ubev"))
    )
    host = Host(memory)
    host.step()
    assert [versions(history) for history in (good, bad, other)] == [[1], [], [1]]
    failure = host.failures[bad.problem]
    assert failure.problem == "bad"
    assert failure.reason.startswith("base must be one of ")
    assert host.status(bad.known) == failure
    for history in (good, other):
        history.answer(*history.open(6))
    host.step()
    assert [newest_sha(history) == fold_sha(history) for history in (good, other)] == [True, True]


def test_a_learner_that_raises_is_tried_again_when_something_is_corrected(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = history.ledger
    host = Host(ledger)
    host.step()
    (id,) = history.open()
    calls = 0

    def fail(self: Learner, feedback: Any, **given: Any) -> bool:
        nonlocal calls
        calls += 1
        raise RuntimeError("out of luck")

    with monkeypatch.context() as patched:
        patched.setattr(Learner, "absorb", fail)
        history.answer(id)
        for _ in range(3):
            host.step()
        assert calls == 1
        reason = host.failures[history.problem].reason
        assert reason == f"Event {ledger.last} cannot be applied. RuntimeError: out of luck"
    history.answer(*history.open())
    host.step()
    assert host.failures
    ledger.append([Corrected(id, history.whole())])
    host.step()
    assert not host.failures
    assert newest_sha(history) == fold_sha(history)
    assert verify(ledger, history.known).sound


def test_a_policy_that_the_ledger_rejects_is_a_failure(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(history.ledger)
    wrong = Policy(np.full((H, S), 7, np.int32))
    monkeypatch.setattr(Fold, "policy", wrong)
    host.step()
    assert versions(history) == []
    reason = host.failures[history.problem].reason
    assert reason.startswith("The policy cannot be published. ")


@pytest.mark.parametrize("kind", [sa.exc.OperationalError, sa.exc.InternalError])
def test_a_database_that_fails_is_the_failure_of_no_problem(
    history: History, monkeypatch: pytest.MonkeyPatch, kind: type[sa.exc.DBAPIError]
) -> None:
    ledger = history.ledger
    host = Host(ledger)

    def fail(*given: Any, **options: Any) -> Any:
        raise kind("tick", {}, Exception("the disk is full"))

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "events", fail)
        with pytest.raises(kind):
            host.step()
        with pytest.raises(kind):
            host.status(history.known)
    assert not host.failures
    host.step()
    assert versions(history) == [1]


def test_a_postgres_that_is_read_only_for_a_while_is_no_failure(postgres_url: str) -> None:
    url = sa.make_url(postgres_url)
    only = f"{url.query['options']} -cdefault_transaction_read_only=on"
    reader = url.update_query_dict({"options": only}).render_as_string(hide_password=False)
    with Ledger.open(postgres_url) as ledger, Ledger.open(reader) as standby:
        History(ledger, make_spec())
        host = Host(standby)
        with pytest.raises(OUTAGES):
            host.step()  # there is a first policy to publish
        assert not host.failures
        host.stop()


def test_a_call_to_stop_or_wake_during_a_poll_is_not_lost(memory: Ledger) -> None:
    class Interrupted(Host):
        polls = 0

        def step(self) -> bool:
            self.polls += 1
            if self.polls == 1:
                self.wake()
            else:
                self.stop()  # joins no thread, since none was started
            return True

    host = Interrupted(memory, interval=3600)
    thread = threading.Thread(target=host._run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert host.polls == 2


def test_where_a_problem_stands_any_host_can_tell(ledger: Ledger) -> None:
    history = History(ledger, make_spec())
    planner, other = Host(ledger), Host(ledger)
    assert planner.step()
    ids = history.open(5)
    history.answer(*ids[:3])
    planner.step()
    history.answer(ids[3])
    told = [host.status(history.known) for host in (planner, other)]
    for standing in told:
        assert isinstance(standing, ProblemStatus)
        assert (standing.waiting, standing.learner.missing, standing.learner.observed) == (1, 2, 3)
        assert len(standing.opened_at) == 2
        assert (standing.updates, standing.epochs) == (1, 2)
        assert standing.seq == ledger.last
    assert kinds(history).count("tick") == 1
    planner.stop()


def test_who_asks_where_a_problem_stands_does_not_keep_it_from_being_planned(
    history: History,
) -> None:
    host = Host(history.ledger)
    host.step()
    history.answer(*history.open(5))
    host.status(history.known)
    host.step()
    assert versions(history) == [1, 2]


def test_what_comes_right_after_a_tick_is_not_forgotten(
    memory: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(memory, make_spec(base=Part("random")))
    host = Host(memory)
    host.step()
    plain, (first, second) = memory.append, history.open(2)
    history.answer(first)

    def tick(events: Sequence[NewEvent]) -> None:
        assert [type(event) for event in events] == [Tick]
        monkeypatch.setattr(memory, "append", plain)
        plain(events)
        history.answer(second)

    monkeypatch.setattr(memory, "append", tick)
    host.step()
    host.step()
    assert kinds(history)[-4:] == ["feedback", "tick", "feedback", "tick"]


class LockTimeoutError(Exception):
    """Error of PostgreSQL's driver after a wait for a lock."""

    sqlstate = "55P03"


@pytest.mark.parametrize(("failing", "reported"), [(3, False), (4, True)])
def test_a_lock_timeout_is_no_outage_unless_it_is_repeated(
    memory: Ledger, failing: int, reported: bool
) -> None:
    history = History(memory, make_spec())
    errors: list[tuple[str, str]] = []
    done = threading.Event()

    class Contended(Host):
        polls = 0

        def step(self) -> bool:
            self.polls += 1
            if self.polls == failing + 1:
                assert (self.last_error is not None) == reported
                super().step()
                done.set()
            elif self.polls <= failing:
                raise sa.exc.OperationalError("INSERT", {}, LockTimeoutError())
            return True

    host = Contended(memory, interval=1e-3)
    host.outages.on_error = lambda *given: errors.append(given)
    with host:
        assert done.wait(PATIENCE)
    assert errors == [("fold", "lock timeout")] * reported
    assert not host.failures
    assert versions(history) == [1]


def test_a_lock_timeout_while_ticks_are_recorded_is_no_failure(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(postgres_url) as other:
        monkeypatch.setattr("belated.ledger.store.LOCK_TIMEOUT_S", 0.05)
        with Ledger.open(postgres_url) as ledger:
            history = History(ledger, make_spec())
            host = Host(ledger)
            host.step()
            history.answer(*history.open(2))
            with other.store.writing(), pytest.raises(OUTAGES) as raised:
                host.step()
            assert describe_outage(raised.value).reason == LOCK_TIMEOUT
            assert not host.failures
            host.step()
            assert versions(history) == [1, 2]
            host.stop()


class Attentive(Host):
    """One that tells of every look, and of its failures."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.looks: queue.Queue[str] = queue.Queue()
        self.failing = False

    def step(self) -> bool:
        if self.failing:
            self.looks.put("failed")
            raise OSError("the network is down")
        plans = super().step()
        self.looks.put("looked")
        return plans

    def wait_for_a_whole_look(self) -> None:
        """Wait until a look that began after this call has ended."""
        while not self.looks.empty():
            self.looks.get()
        for _ in range(2):  # the first one may have begun before
            self.looks.get(timeout=PATIENCE)


def test_a_thread_looks_when_it_is_woken(sqlite_url: str) -> None:
    with Ledger.open(sqlite_url) as ledger:
        history = History(ledger, make_spec())
        with Attentive(ledger, interval=10 * PATIENCE) as host:
            host.looks.get(timeout=PATIENCE)
            assert host.plans
            assert host.ready
            history.answer(*history.open(5))
            host.wake()
            host.looks.get(timeout=PATIENCE)
            assert versions(history) == [1, 2]
            with pytest.raises(RuntimeError, match="started already"):
                host.start()
        assert not host.plans
        assert "belated-host" not in {thread.name for thread in threading.enumerate()}


def test_a_host_keeps_up_with_all_that_is_written_and_undone_meanwhile(sqlite_url: str) -> None:
    with Ledger.open(sqlite_url) as ledger:
        histories = [History(ledger, make_spec(f"clinic-{i}"), i) for i in range(3)]
        host = Attentive(ledger, interval=1e-3, snapshot_every=10)
        host.step()
        with host:
            for _ in range(2):
                writers = [
                    threading.Thread(target=history.go_on, args=(25,), kwargs={"ticks": False})
                    for history in histories
                ]
                for writer in writers:
                    writer.start()
                for writer in writers:
                    writer.join()
                host.wait_for_a_whole_look()
        host.step()
        host.stop()
        assert (host.failures, host.last_error) == ({}, None)
        for history in histories:
            assert newest_sha(history) == fold_sha(history)
            verdict = verify(ledger, history.known)
            assert (verdict.faults, verdict.unsettled) == ([], [])
            assert kinds(history).count("tick") > 1


def test_a_thread_outlives_an_outage(history: History) -> None:
    host = Attentive(history.ledger, interval=1e-3)
    host.failing = True
    with host:
        for _ in range(2):
            assert host.looks.get(timeout=PATIENCE) == "failed"
        assert host.last_error == "OSError: the network is down"
        host.failing = False
        while host.looks.get(timeout=PATIENCE) == "failed":
            pass
        host.looks.get(timeout=PATIENCE)
        assert host.last_error is None
    assert versions(history) == [1]


def test_an_interval_must_be_a_time(memory: Ledger) -> None:
    for interval in (0, -1, float("nan"), 1e10):
        with pytest.raises(ValueError, match=rf"^interval must be above 0 .*, got {interval}"):
            Host(memory, interval=interval)


def test_a_host_whose_thread_died_is_not_ready(
    memory: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(memory)
    host.step()
    monkeypatch.setattr(host, "_run", lambda: None)
    host.start()
    assert host._thread is not None
    host._thread.join(30)
    assert not host.ready
    host.stop()


def test_of_two_hosts_one_plans_until_it_stops(url: str) -> None:
    with Ledger.open(url) as ledger, Ledger.open(url) as elsewhere:
        history = History(ledger, make_spec())
        one, other = Host(ledger), Host(elsewhere)
        assert [one.step(), other.step(), one.step()] == [True, False, True]
        assert (one.plans, other.plans) == (True, False)
        assert (one.ready, other.ready) == (True, True)
        one.stop()
        assert [other.step(), one.step()] == [True, False]
        history.answer(*history.open(5))
        other.step()
        other.stop()
        assert versions(history) == [1, 2]
        assert newest_sha(history) == fold_sha(history)


def test_two_that_plan_at_once_publish_what_the_events_come_to(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As may happen for a moment when a connection breaks."""
    monkeypatch.setattr(FileLock, "acquire", lambda self: True)
    with Ledger.open(sqlite_url) as ledger, Ledger.open(sqlite_url) as elsewhere:
        history = History(ledger, make_spec())
        hosts = [Host(ledger), Host(elsewhere)]
        for round in range(8):
            for host in hosts:
                host.step()
            history.answer(*history.open(3))
            hosts[round % 2].step()
        for host in hosts:
            host.step()
        assert newest_sha(history) == fold_sha(history)
        assert verify(ledger, history.known).sound


def test_a_lock_lies_beside_the_database(sqlite_url: str, tmp_path: Path) -> None:
    with Ledger.open(sqlite_url) as ledger:
        lock = create_lock(ledger.store)
        assert lock.acquire()
        lock.release()
        lock.release()
        assert (tmp_path / "ledger.db.planner").stat().st_mode & 0o777 == 0o600


def test_a_planner_whose_connection_was_cut_plans_no_more(postgres_url: str) -> None:
    with Ledger.open(postgres_url) as ledger:
        History(ledger, make_spec())
        one, other = Host(ledger), Host(ledger)
        assert one.step()
        lock = one._planner_lock
        assert isinstance(lock, DatabaseLock)
        assert lock._connection is not None
        pid = lock._connection.scalar(sa.select(sa.func.pg_backend_pid()))
        with ledger.store.engine.connect() as connection:
            connection.execute(sa.select(sa.func.pg_terminate_backend(pid, 60_000)))
        assert [other.step(), one.step()] == [True, False]
        assert (one.plans, other.plans) == (False, True)
        other.stop()
        assert one.step()
        one.stop()


PLANNER = """
import sys
from belated.ledger import Ledger
from belated.online.host import Host

class Telling(Host):
    told = False
    def step(self):
        plans = super().step()
        if plans and not self.told:
            self.told = True
            print("plans", flush=True)
        elif not self.told:
            print("waits", flush=True)
        return plans

with Ledger.open(sys.argv[1]) as ledger, Telling(ledger, interval=0.02):
    sys.stdin.read()
"""


@pytest.fixture
def planner() -> Iterator[Callable[[str], Program]]:
    """Starts a process that hosts a ledger until it is killed."""
    started = []

    def start(url: str) -> Program:
        started.append(Program(PLANNER, url))
        return started[-1]

    yield start
    for process in started:
        process.kill()


def hear(process: Program, word: str) -> None:
    """Wait until it says this."""
    while True:
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
        assert ready, f"it did not say {word!r}"
        if process.stdout.readline().strip() == word:
            return


def test_when_the_planner_is_killed_another_process_takes_over(
    url: str, planner: Callable[[str], Program]
) -> None:
    with Ledger.open(url) as ledger:
        history = History(ledger, make_spec())
        first = planner(url)
        hear(first, "plans")
        second = planner(url)
        hear(second, "waits")
        history.answer(*history.open(5))
        first.kill()
        hear(second, "plans")
        ids = history.open(5)
        history.answer(*ids)
        assert second.end()[0] == 0
        last = Host(ledger)
        assert last.step()
        last.stop()
        assert newest_sha(history) == fold_sha(history)
        assert verify(ledger, history.known).sound
