"""The cache of served versions and policy documents."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import ledger_samples as samples
from belated.ledger import Ledger
from belated.online.serving import ServedPolicy, ServingState
from belated.service.caches import PolicyCache


def version(number: int) -> ServedPolicy:
    return ServedPolicy(number, cast(Any, None), ServingState())


class Database:
    """Database that answers 1, 2, ..., each once it is released."""

    def __init__(self) -> None:
        self.asked = 0
        self.go = asyncio.Semaphore(0)

    async def __call__(self, do: Callable[..., Any], problem: int) -> ServedPolicy:
        self.asked += 1
        mine = version(self.asked)
        await self.go.acquire()
        return mine


def policy_cache(database: Database, clock: Callable[[], float], memory: Ledger) -> PolicyCache:
    return PolicyCache(memory, database, ttl_s=2.0, clock=clock)


def test_the_served_version_is_cached_for_its_time_to_live(ledger: Ledger) -> None:
    async def go() -> None:
        now, database = 0.0, Database()
        served = policy_cache(database, lambda: now, ledger).served
        for _ in range(3):
            database.go.release()
        assert await served(7) == version(1)
        now = 1.9
        assert await served(7) == version(1)
        now = 2.0
        assert await served(7) == version(2)

    asyncio.run(go())


def test_concurrent_callers_get_the_cached_version(ledger: Ledger) -> None:
    async def go() -> None:
        now, database = 0.0, Database()
        served = policy_cache(database, lambda: now, ledger).served
        database.go.release()
        await served(7)
        now = 5.0
        first = asyncio.create_task(served(7))
        while database.asked < 2:
            await asyncio.sleep(0)
        assert await served(7) == version(1)
        database.go.release()
        assert await first == version(2) == await served(7)
        assert database.asked == 2

    asyncio.run(go())


def test_without_a_cached_version_callers_share_one_lookup(ledger: Ledger) -> None:
    async def go() -> None:
        database = Database()
        served = policy_cache(database, lambda: 0.0, ledger).served
        waiting = [asyncio.create_task(served(7)) for _ in range(5)]
        while database.asked < 1:
            await asyncio.sleep(0)
        waiting.append(asyncio.create_task(served(7)))
        for _ in range(6):
            database.go.release()
        assert await asyncio.gather(*waiting) == [version(1)] * 6
        assert await served(7) == version(1)
        assert database.asked == 1

    asyncio.run(go())


def test_a_cancelled_caller_does_not_affect_others(ledger: Ledger) -> None:
    async def go() -> None:
        database = Database()
        served = policy_cache(database, lambda: 0.0, ledger).served
        first, second = (asyncio.create_task(served(7)) for _ in range(2))
        while database.asked < 1:
            await asyncio.sleep(0)
        first.cancel()
        database.go.release()
        assert await second == version(1)

    asyncio.run(go())


def test_a_version_is_serialized_once(ledger: Ledger) -> None:
    problem = ledger.problem(samples.defined(ledger))
    assert problem is not None
    done: list[str] = []

    async def run_in_thread(do: Callable[..., Any], *given: Any) -> Any:
        done.append(do.__name__)
        await asyncio.sleep(0)
        return do(*given)

    async def go() -> None:
        document = PolicyCache(ledger, run_in_thread, ttl_s=2.0).document
        documents = await asyncio.gather(*(document(problem, 1) for _ in range(5)))
        assert len(set(documents)) == 1
        assert documents[0] is not None
        assert await document(problem, 2) is None
        assert await document(problem, 1) == documents[0]
        assert done == ["policy", "of", "policy"]

    asyncio.run(go())


def test_a_lookup_from_before_a_control_is_not_cached(ledger: Ledger) -> None:
    async def go() -> None:
        database = Database()
        made = policy_cache(database, lambda: 0.0, ledger)
        before = asyncio.create_task(made.served(7))
        while database.asked < 1:
            await asyncio.sleep(0)
        made.invalidate(7)
        database.go.release()
        assert await before == version(1)
        database.go.release()
        assert await made.served(7) == version(2)

    asyncio.run(go())
