"""Group commit: concurrent events share transactions, and none is lost."""

import asyncio
import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from belated.ledger.events import Recorded
from belated.ledger.kinds import Tick
from belated.service.group_commit import BusyError, GroupCommit
from belated.service.limits import Settings

SETTINGS = Settings(max_batch_events=5, max_queued_events=8, store_timeout_s=60)


class Slow:
    """An `append` that reads its events, blocks until released, and keeps them."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.entered = threading.Semaphore(0)
        self.go = threading.Semaphore(0)

    def __call__(self, events: Iterable[Any]) -> list[Any]:
        read = list(events)
        return self.record(read) if read else []

    def record(self, events: list[Any]) -> list[Any]:
        self.entered.release()
        assert self.go.acquire(timeout=30)
        self.batches.append([event.problem for event in events])
        for event in events:
            if event.problem == 13:
                raise ValueError("thirteen")
            if event.problem == 14:
                raise sa.exc.OperationalError("lost", {}, Exception())
        return [Recorded(event.problem) for event in events]


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def commit(slow: Slow) -> GroupCommit:
    return GroupCommit(slow, SETTINGS)


class Locked(Slow):
    """An `append` that blocks until released before it reads its events."""

    def __call__(self, events: Iterable[Any]) -> list[Any]:
        self.entered.release()
        assert self.go.acquire(timeout=30)
        self.go.release()
        return self.record(list(events))


async def begin(commit: GroupCommit, *numbers: int) -> "asyncio.Task[list[Any]]":
    task = asyncio.ensure_future(commit.submit([Tick(number) for number in numbers]))
    await asyncio.sleep(0)
    return task


async def hold(commit: GroupCommit, slow: Slow) -> "asyncio.Task[list[Any]]":
    """Keep the thread busy with a first event."""
    task = await begin(commit, 1)
    assert await asyncio.to_thread(slow.entered.acquire, timeout=30)
    return task


def test_events_submitted_during_a_transaction_share_the_next(
    commit: GroupCommit, slow: Slow
) -> None:
    async def go() -> None:
        first = await hold(commit, slow)
        rest = [await begin(commit, number) for number in (2, 3, 4)]
        slow.go.release()
        slow.go.release()
        assert await first == [Recorded(1)]
        assert [await task for task in rest] == [[Recorded(n)] for n in (2, 3, 4)]

    asyncio.run(go())
    assert slow.batches == [[1], [2, 3, 4]]


def test_events_submitted_while_another_process_writes_share_the_transaction() -> None:
    locked = Locked()
    commit = GroupCommit(locked, SETTINGS)

    async def go() -> None:
        first = await hold(commit, locked)
        rest = [await begin(commit, number) for number in (2, 3, 4)]
        locked.go.release()
        await asyncio.gather(first, *rest)

    asyncio.run(go())
    assert locked.batches == [[1, 2, 3, 4]]


def test_an_outage_before_events_are_read_fails_the_queued_requests() -> None:
    def fail(events: Iterable[Any]) -> list[Any]:
        raise sa.exc.OperationalError("lost", {}, Exception())

    commit = GroupCommit(fail, SETTINGS)

    async def go() -> None:
        with pytest.raises(sa.exc.OperationalError):
            await asyncio.wait_for(commit.submit([Tick(1)]), 30)

    asyncio.run(go())


def test_after_a_large_batch_the_next_one_waits_for_as_many_requests(slow: Slow) -> None:
    commit = GroupCommit(slow, SETTINGS, wait_s=30)

    async def entered(timeout: float) -> bool:
        return await asyncio.to_thread(slow.entered.acquire, timeout=timeout)

    async def go() -> None:
        full = await begin(commit, *range(1, 6))
        assert await entered(30)
        rest = [await begin(commit, number) for number in (6, 7, 8)]
        for _ in range(3):
            slow.go.release()
        await full
        rest.append(await begin(commit, 9))  # four requests were there at once
        await asyncio.gather(*rest)
        assert await entered(30)
        alone = await begin(commit, 10)
        assert not await entered(0.05)
        rest = [await begin(commit, number) for number in (11, 12, 15)]
        await asyncio.gather(alone, *rest)

    asyncio.run(go())
    assert slow.batches == [[1, 2, 3, 4, 5], [6, 7, 8, 9], [10, 11, 12, 15]]


def test_a_waiting_batch_is_recorded_when_stopping(slow: Slow) -> None:
    commit = GroupCommit(slow, SETTINGS, wait_s=0.5)

    async def go() -> None:
        first = await hold(commit, slow)
        rest = [await begin(commit, number) for number in (2, 3, 4)]
        slow.go.release()
        slow.go.release()
        await asyncio.gather(first, *rest)
        last = await begin(commit, 5)
        slow.go.release()
        await commit.stop()
        assert await last == [Recorded(5)]

    asyncio.run(go())


def test_a_batch_is_limited_but_a_request_is_never_split(commit: GroupCommit, slow: Slow) -> None:
    async def go() -> None:
        tasks = [await hold(commit, slow)]
        for numbers in ((2, 3, 4), (5, 6), (7,)):
            tasks.append(await begin(commit, *numbers))
        for _ in range(3):
            slow.go.release()
        await asyncio.gather(*tasks)
        large = await begin(commit, *range(20, 29))
        slow.go.release()
        assert len(await large) == 9

    asyncio.run(go())
    assert slow.batches == [[1], [2, 3, 4, 5, 6], [7], [*range(20, 29)]]


def test_submitting_to_a_full_queue_raises(commit: GroupCommit, slow: Slow) -> None:
    async def go() -> None:
        tasks = [await hold(commit, slow)]
        for number in range(2, 10):
            tasks.append(await begin(commit, number))
        assert commit.queued_events == 8
        with pytest.raises(BusyError, match="8 events wait"):
            await commit.submit([Tick(10)])
        for _ in range(3):
            slow.go.release()
        await asyncio.gather(*tasks)
        assert commit.queued_events == 0

    asyncio.run(go())
    assert [number for batch in slow.batches for number in batch] == [*range(1, 10)]


def test_an_error_affects_only_the_request_that_causes_it(commit: GroupCommit, slow: Slow) -> None:
    async def go() -> None:
        first = await hold(commit, slow)
        good, bad, other = [await begin(commit, number) for number in (2, 13, 3)]
        for _ in range(5):
            slow.go.release()
        await first
        assert (await good, await other) == ([Recorded(2)], [Recorded(3)])
        with pytest.raises(ValueError, match="thirteen"):
            await bad

    asyncio.run(go())
    assert slow.batches == [[1], [2, 13, 3], [2], [13], [3]]


def test_an_outage_fails_all_requests_of_the_batch(commit: GroupCommit, slow: Slow) -> None:
    async def go() -> None:
        first = await hold(commit, slow)
        tasks = [await begin(commit, number) for number in (2, 14)]
        slow.go.release()
        slow.go.release()
        await first
        for task in tasks:
            with pytest.raises(sa.exc.OperationalError):
                await task

    asyncio.run(go())
    assert slow.batches == [[1], [2, 14]]


def test_stopping_records_the_queue_and_rejects_new_events(commit: GroupCommit, slow: Slow) -> None:
    async def go() -> None:
        tasks = [await hold(commit, slow), await begin(commit, 2)]
        stopping = asyncio.ensure_future(commit.stop())
        slow.go.release()
        slow.go.release()
        await stopping
        assert await asyncio.gather(*tasks) == [[Recorded(1)], [Recorded(2)]]
        with pytest.raises(BusyError, match="stopping"):
            await commit.submit([Tick(3)])

    asyncio.run(go())


def test_a_cancelled_request_does_not_affect_others(commit: GroupCommit, slow: Slow) -> None:
    async def go() -> None:
        first = await hold(commit, slow)
        gone, stays = [await begin(commit, number) for number in (2, 3)]
        gone.cancel()
        slow.go.release()
        slow.go.release()
        await first
        assert await stays == [Recorded(3)]

    asyncio.run(go())
    assert slow.batches == [[1], [3]]


def test_requests_that_wait_too_long_are_given_up(slow: Slow) -> None:
    commit = GroupCommit(slow, replace(SETTINGS, store_timeout_s=0.05))

    async def run() -> None:
        first = await hold(commit, slow)
        with pytest.raises(TimeoutError):
            await first
        for late in [await begin(commit, 2), await begin(commit, 3)]:
            with pytest.raises(TimeoutError):
                await late
        slow.go.release()  # the first event is recorded, and the others are no longer wanted
        await commit.stop()

    asyncio.run(run())
    assert slow.batches == [[1]]
    assert commit.queued_events == 0
