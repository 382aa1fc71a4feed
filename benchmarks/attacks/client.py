"""Clients of an attack: one that measures how long it waits, and many that write at once."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

from attacks.service import Response, Service

T = TypeVar("T")
U = TypeVar("U")


class Watcher:
    """Client that sends requests one after the other and measures how long it waits.

    It runs in a thread inside a `with` block. Each request has a connection of its own.

    Parameters
    ----------
    service : Service
        The service.
    ask : Callable, optional
        Function that sends a request and returns the response; by default it reads a policy.
    pause_s : float
        Seconds between two requests.
    """

    def __init__(
        self,
        service: Service,
        ask: Callable[[], Response] | None = None,
        *,
        pause_s: float = 0.02,
    ) -> None:
        path = "/v1/problems/clinic/policy"
        self._ask = ask or (lambda: service.try_ask("GET", path))
        self._pause_s = pause_s
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.statuses: Counter[int] = Counter()
        """Number of responses by status; 0 for none."""
        self.longest_s = 0.0
        """Longest time until a response."""
        self.longest_gap_s = 0.0
        """Longest time between two responses with status 200 or 201."""
        self.responses: list[Response] = []
        """Responses with other statuses."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()

    @property
    def failed(self) -> int:
        """Number of requests that got no response, or one with another status than 200 or 201."""
        return sum(count for status, count in self.statuses.items() if status not in (200, 201))

    @property
    def answered(self) -> int:
        """Number of requests."""
        return self.statuses.total()

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._end.is_set():
            response = self._ask()
            now = time.perf_counter()
            self.statuses[response.status] += 1
            self.longest_s = max(self.longest_s, response.seconds)
            if response.status in (200, 201):
                self.longest_gap_s = max(self.longest_gap_s, now - last)
                last = now
            else:
                self.responses.append(response)
            self._end.wait(self._pause_s)


def ask_together(work: Callable[[T], U], items: Iterable[T], *, threads: int = 16) -> list[U]:
    """Return the results of `work` for each of `items`, computed by several threads, in order.

    Parameters
    ----------
    work : Callable
        Function of an item.
    items : iterable
        The items.
    threads : int
        Number of threads.

    Returns
    -------
    list
        Results.
    """
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def count_statuses(responses: Iterable[Response]) -> Counter[int]:
    """Return the number of responses by status."""
    return Counter(response.status for response in responses)


def format_statuses(statuses: Counter[Any]) -> str:
    """Return the number of responses by status as text, such as "20 x 201, 3 x 503"."""
    shown = sorted(statuses.items(), key=lambda item: str(item[0]))
    return ", ".join(f"{count:,} x {status or 'none'}" for status, count in shown)
