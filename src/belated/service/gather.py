"""Gather: questions of many requests, asked of the database together.

What is asked while the last question is being answered waits for the next one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Gather(Generic[K, V]):
    """Looks up keys, all that have come meanwhile at once; for one event loop."""

    def __init__(self, look_up: Callable[[list[K]], Awaitable[dict[K, V]]]) -> None:
        self._look_up = look_up
        self._asked: dict[K, asyncio.Future[V | None]] = {}
        self._busy: asyncio.Task[None] | None = None

    async def __call__(self, key: K) -> V | None:
        """The value of a key; None if it has none."""
        answer = self._asked.get(key)
        if answer is None:
            answer = self._asked[key] = asyncio.get_running_loop().create_future()
            if self._busy is None:
                self._busy = asyncio.create_task(self._answer())
        return await asyncio.shield(answer)  # which another request may wait for as well

    async def _answer(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, {}
            try:
                found = await self._look_up(list(asked))
            except Exception as error:
                for answer in asked.values():
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for key, answer in asked.items():
                if not answer.done():
                    answer.set_result(found.get(key))
        self._busy = None
