"""Board: the policies that are served, written out once each."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from belated.episode import Policy
from belated.ledger.ledger import Ledger
from belated.ledger.problems import Problem
from belated.online.serving import ServedPolicy, Serving
from belated.service.plans import Page

KEPT: Final = 32
"""How many policies to keep written out."""


class Board:
    """Which version is served, and what it plays; for one event loop.

    For `patience` seconds an answer is given again without a look into the database.
    """

    def __init__(
        self,
        ledger: Ledger,
        aside: Callable[..., Any],
        *,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._serving = Serving(ledger)
        self._aside = aside
        self._patience = patience
        self._clock = clock
        self._served: dict[int, tuple[float, ServedPolicy]] = {}
        self._asking: dict[int, asyncio.Task[ServedPolicy | None]] = {}
        self._pages: OrderedDict[tuple[int, int], Page] = OrderedDict()
        self._writing: dict[tuple[int, int], asyncio.Task[Page | None]] = {}

    async def served(self, problem: int) -> ServedPolicy | None:
        """What is served now; None while nothing has been published."""
        at, served = self._served.get(problem, (0.0, None))
        if served is not None and self._clock() - at < self._patience:
            return served
        asking = self._asking.get(problem)
        if asking is None:
            asking = self._asking[problem] = asyncio.create_task(self._ask(problem))
        elif served is not None:
            return served  # while one asks, the others make do with what is known
        return await asyncio.shield(asking)  # which another request may wait for as well

    async def _ask(self, problem: int) -> ServedPolicy | None:
        now, me = self._clock(), asyncio.current_task()
        try:
            found: ServedPolicy | None = await self._aside(self._serving.served, problem)
            if found is not None and self._asking.get(problem) is me:
                self._served[problem] = (now, found)
            return found
        finally:
            if self._asking.get(problem) is me:
                del self._asking[problem]

    def forget(self, problem: int) -> None:
        """Look into the database next time; what was asked before is not kept."""
        self._served.pop(problem, None)
        self._asking.pop(problem, None)

    async def policy(self, problem: int, version: int) -> Policy | None:
        """What a version plays; None if there is no such version."""
        policy: Policy | None = await self._aside(self._serving.policy, problem, version)
        return policy

    async def page(self, problem: Problem, version: int) -> Page | None:
        """A version written out; None if there is no such version."""
        key = (problem.id, version)
        if key in self._pages:
            self._pages.move_to_end(key)
            return self._pages[key]
        if key not in self._writing:
            self._writing[key] = asyncio.create_task(self._write_out(problem, version))
        return await asyncio.shield(self._writing[key])

    async def _write_out(self, problem: Problem, version: int) -> Page | None:
        key = (problem.id, version)
        try:
            policy = await self.policy(problem.id, version)
            if policy is None:
                return None
            page: Page = await self._aside(Page.of, problem.spec, version, policy)
            self._pages[key] = page
            if len(self._pages) > KEPT:
                self._pages.popitem(last=False)
            return page
        finally:
            del self._writing[key]
