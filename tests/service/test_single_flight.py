"""Concurrent callers share lookups."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from belated.service.state import SingleFlightCache


class Source:
    """Returns 1, 2, ... for successive lookups, each once it is released."""

    def __init__(self) -> None:
        self.lookups = 0
        self.release = asyncio.Semaphore(0)

    async def __call__(self) -> int:
        self.lookups += 1
        value = self.lookups
        await self.release.acquire()
        return value

    async def started(self, lookups: int) -> None:
        while self.lookups < lookups:
            await asyncio.sleep(0)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(test(), 30)

    asyncio.run(limited())


def test_callers_of_the_same_key_share_one_lookup() -> None:
    async def test() -> None:
        cache: SingleFlightCache[str, int] = SingleFlightCache()
        source = Source()
        waiting = [asyncio.create_task(cache.get("a", source)) for _ in range(5)]
        await source.started(1)
        waiting.append(asyncio.create_task(cache.get("a", source)))
        source.release.release()
        assert await asyncio.gather(*waiting) == [1] * 6
        assert await cache.get("a", source) == 1
        assert source.lookups == 1

    run(test)


def test_a_value_is_looked_up_again_after_its_time_to_live() -> None:
    async def test() -> None:
        now, source = 0.0, Source()
        cache: SingleFlightCache[str, int] = SingleFlightCache(ttl_s=2.0, clock=lambda: now)
        for _ in range(2):
            source.release.release()
        assert await cache.get("a", source) == 1
        now = 1.9
        assert await cache.get("a", source) == 1
        now = 2.0
        assert await cache.get("a", source) == 2

    run(test)


def test_the_time_to_live_counts_from_the_start_of_the_lookup() -> None:
    async def test() -> None:
        now, source = 0.0, Source()
        cache: SingleFlightCache[str, int] = SingleFlightCache(ttl_s=2.0, clock=lambda: now)
        slow = asyncio.create_task(cache.get("a", source))
        await source.started(1)
        now = 5.0
        source.release.release()
        assert await slow == 1
        source.release.release()
        assert await cache.get("a", source) == 2

    run(test)


def test_a_stale_value_is_returned_while_it_is_refreshed() -> None:
    async def test() -> None:
        now, source = 0.0, Source()
        cache: SingleFlightCache[str, int] = SingleFlightCache(ttl_s=2.0, clock=lambda: now)
        source.release.release()
        await cache.get("a", source)
        now = 5.0
        refreshing = asyncio.create_task(cache.get("a", source))
        await source.started(2)
        assert await cache.get("a", source) == 1
        source.release.release()
        assert await refreshing == 2 == await cache.get("a", source)
        assert source.lookups == 2

    run(test)


def test_a_cancelled_caller_does_not_cancel_the_lookup() -> None:
    async def test() -> None:
        cache: SingleFlightCache[str, int] = SingleFlightCache()
        source = Source()
        first, second = (asyncio.create_task(cache.get("a", source)) for _ in range(2))
        await source.started(1)
        first.cancel()
        source.release.release()
        assert await second == 1

    run(test)


def test_a_lookup_that_started_before_invalidation_is_not_cached() -> None:
    async def test() -> None:
        cache: SingleFlightCache[str, int] = SingleFlightCache()
        source = Source()
        before = asyncio.create_task(cache.get("a", source))
        await source.started(1)
        cache.invalidate("a")
        after = asyncio.create_task(cache.get("a", source))
        await source.started(2)
        for _ in range(2):
            source.release.release()
        assert await before == 1
        assert await after == 2
        assert await cache.get("a", source) == 2

    run(test)


def test_none_and_errors_are_not_cached() -> None:
    async def test() -> None:
        cache: SingleFlightCache[str, int] = SingleFlightCache(ttl_s=0.0)
        source = Source()
        source.release.release()
        assert await cache.get("a", source) == 1

        async def none() -> int | None:
            return None

        async def fail() -> int:
            raise OSError("lost")

        for _ in range(2):
            with pytest.raises(OSError, match="lost"):
                await cache.get("a", fail)
        assert await cache.get("b", none) is None
        source.release.release()
        assert await cache.get("b", source) == 2

    run(test)


def test_the_least_recently_used_value_is_evicted() -> None:
    async def test() -> None:
        cache: SingleFlightCache[str, int] = SingleFlightCache(max_size=2)
        source = Source()
        cache.put("a", 10)
        cache.put("b", 20)
        assert await cache.get("a", source) == 10
        cache.put("c", 30)
        source.release.release()
        assert [await cache.get(key, source) for key in "acb"] == [10, 30, 1]

    run(test)
