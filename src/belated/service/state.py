"""State: what all requests share."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from fastapi import Request

from belated.ledger.events import NewEvent
from belated.ledger.ledger import Ledger
from belated.ledger.outcomes import Outcome
from belated.ledger.store import OUTAGES
from belated.online.host import Host
from belated.service.auth import Keyring
from belated.service.board import Board
from belated.service.commit import BusyError, GroupCommit
from belated.service.directory import Directory
from belated.service.errors import unavailable
from belated.service.metrics import Metrics
from belated.service.settings import Settings

T = TypeVar("T")


class Aside:
    """Threads for what would hold up the other requests."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="belated-aside")

    async def __call__(self, do: Callable[..., T], *given: object) -> T:
        """Do it in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, do, *given)

    def close(self) -> None:
        """Wait for what is being done."""
        self._threads.shutdown()


@dataclass(frozen=True)
class State:
    """The ledger, its host, and what stands between them and the requests."""

    ledger: Ledger
    host: Host
    settings: Settings
    metrics: Metrics
    commit: GroupCommit
    keyring: Keyring
    directory: Directory
    board: Board
    quick: Aside
    """For a look into the database."""
    slow: Aside
    """For what may take seconds."""
    keeping: Aside
    """For what was refused, which must not hold up those who ask."""

    @classmethod
    def of(cls, ledger: Ledger, host: Host, settings: Settings) -> "State":
        """Around a ledger and its host."""
        metrics, quick, slow, keeping = Metrics(), Aside(8), Aside(4), Aside(1)
        commit = GroupCommit(
            ledger.append, most=settings.batch, room=settings.queue, watch=metrics.recorded
        )
        metrics.watch_queue(lambda: commit.waiting)
        return cls(
            ledger=ledger,
            host=host,
            settings=settings,
            metrics=metrics,
            commit=commit,
            keyring=Keyring(lambda: quick(ledger.tokens.all), patience=settings.token_patience),
            directory=Directory(ledger, quick),
            board=Board(ledger, quick, patience=settings.patience),
            quick=quick,
            slow=slow,
            keeping=keeping,
        )

    def close(self) -> None:
        """End the threads."""
        self.quick.close()
        self.slow.close()
        self.keeping.close()

    async def record(self, *events: NewEvent) -> list[Outcome]:
        """Record events together with those of others."""
        try:
            return await self.commit.submit(events)
        except BusyError as error:
            raise unavailable(f"{error} Try again.") from None
        except OUTAGES:
            raise unavailable("The store cannot be reached. Try again.") from None


def state_of(request: Request) -> State:
    """Of the app that a request came to."""
    state: State = request.app.state.belated
    return state
