"""The cache of tokens."""

import asyncio

import pytest

from belated.ledger.clients.tokens import Token
from belated.service.tokens import TokenCache


class Tokens:
    """Source of one token, named 1, 2, ..., once it is released."""

    def __init__(self) -> None:
        self.asked = 0
        self.go = asyncio.Semaphore(0)

    async def __call__(self) -> list[Token]:
        self.asked += 1
        made = Token(str(self.asked), b"", (), None, 0)
        await self.go.acquire()
        return [made]

    async def begun(self, count: int) -> None:
        """Wait until `count` lookups have started."""
        while self.asked < count:
            await asyncio.sleep(0)


def test_the_first_callers_share_one_lookup() -> None:
    async def go() -> None:
        tokens = Tokens()
        cache = TokenCache(tokens, ttl_s=1.0, clock=lambda: 0.0)
        waiting = [asyncio.create_task(cache.tokens()) for _ in range(5)]
        await tokens.begun(1)
        tokens.go.release()
        assert [list(found) for found in await asyncio.gather(*waiting)] == [["1"]] * 5
        assert tokens.asked == 1

    asyncio.run(asyncio.wait_for(go(), 30))


def test_lookups_never_overlap() -> None:
    async def go() -> None:
        now, tokens = 0.0, Tokens()
        cache = TokenCache(tokens, ttl_s=1.0, clock=lambda: now)
        tokens.go.release()
        await cache.tokens()
        now = 1.0
        late = asyncio.create_task(cache.tokens())
        await tokens.begun(2)
        now = 5.0
        assert list(await cache.tokens()) == ["1"]  # the cached value
        assert tokens.asked == 2
        tokens.go.release()
        assert list(await late) == ["2"]
        tokens.go.release()
        assert list(await cache.tokens()) == ["3"]  # the value of the slow lookup is stale

    asyncio.run(asyncio.wait_for(go(), 30))


def test_after_a_failure_the_next_caller_looks_up_again() -> None:
    async def go() -> None:
        async def fail() -> list[Token]:
            raise OSError("away")

        cache = TokenCache(fail, ttl_s=1.0, clock=lambda: 0.0)
        for _ in range(2):
            with pytest.raises(OSError, match="away"):
                await cache.tokens()

    asyncio.run(asyncio.wait_for(go(), 30))
