"""What is asked meanwhile is asked together."""

import asyncio

import pytest

from belated.service.gather import Gather


class Database:
    """Answers once it is let go."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.go = asyncio.Semaphore(0)

    async def look_up(self, keys: list[str]) -> dict[str, int]:
        self.asked.append(keys)
        await self.go.acquire()
        if "broken" in keys:
            raise OSError("lost")
        return {key: len(key) for key in keys if key != "nobody"}


def test_what_is_asked_while_another_waits_goes_together_and_once() -> None:
    async def go() -> None:
        database = Database()
        gather = Gather(database.look_up)
        first = asyncio.create_task(gather("a"))
        await asyncio.sleep(0.001)
        rest = [asyncio.create_task(gather(key)) for key in ("bb", "nobody", "bb")]
        await asyncio.sleep(0.001)
        assert database.asked == [["a"]]
        database.go.release()
        assert await first == 1
        database.go.release()
        assert [await task for task in rest] == [2, None, 2]
        assert database.asked == [["a"], ["bb", "nobody"]]

    asyncio.run(go())


def test_a_question_that_fails_fails_for_those_who_asked_it_and_no_other() -> None:
    async def go() -> None:
        database = Database()
        gather = Gather(database.look_up)
        database.go.release()
        with pytest.raises(OSError, match="lost"):
            await gather("broken")
        database.go.release()
        assert await gather("a") == 1

    asyncio.run(go())


def test_who_gives_up_takes_the_answer_from_nobody_else() -> None:
    async def go() -> None:
        database = Database()
        gather = Gather(database.look_up)
        one, other = [asyncio.create_task(gather("a")) for _ in range(2)]
        await asyncio.sleep(0.001)
        one.cancel()
        await asyncio.sleep(0.001)
        database.go.release()
        assert await other == 1

    asyncio.run(go())
