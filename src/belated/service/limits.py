"""Limits on requests: settings of an application, and the rate limit of each token."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from belated.service.errors import ApiError

BURST_S: Final = 1.0
"""Length of a burst in seconds. The requests that are allowed in this time may arrive at once."""


@dataclass(frozen=True)
class Settings:
    """Limits and cache lifetimes of an application. Sizes are in bytes, times in seconds."""

    open: bool = False
    """Whether requests from this machine need no token until the first token is created. This is
    meant for trials."""
    max_body_bytes: int = 1 << 20
    """Maximum size of the body of a request, and of one line of a bulk request."""
    max_bulk_bytes: int = 64 << 20
    """Maximum size of the body of a bulk request."""
    max_bulk_lines: int = 100_000
    """Maximum number of lines in a bulk request."""
    max_problem_cells: int = 2_000_000
    """Maximum product of the numbers of steps, states and actions of one problem. A definition that
    exceeds it gets a 422."""
    max_total_cells: int = 20_000_000
    """Maximum sum, over all problems, of the product of the numbers of steps, states and actions.
    A definition that exceeds it gets a 422. A learner takes about 100 bytes for each unit of the
    product, so the default allows about 2 GB if all learners are in memory."""
    max_problems: int = 50_000
    """Maximum number of problems. A definition that exceeds it gets a 422."""
    max_exports: int = 4
    """Maximum number of concurrent exports. A request that exceeds it gets a 429."""
    max_batch_events: int = 1000
    """Maximum number of events in one transaction. A request with more events gets a transaction of
    its own."""
    max_queued_events: int = 10_000
    """Maximum number of events that wait to be recorded. A request that exceeds it gets a 503."""
    store_timeout_s: float = 10.0
    """Maximum time for which a request waits for the store, after which it gets a 503."""
    slow_timeout_s: float = 120.0
    """Maximum time for which a request waits for a long computation, such as an export."""
    write_probe_ttl_s: float = 2.0
    """Time for which the result of the write probe of `/readyz` is cached."""
    write_probe_timeout_s: float = 5.0
    """Maximum time for which `/readyz` waits for the write probe."""
    served_version_ttl_s: float = 0.1
    """Time for which the served version of a problem is cached."""
    max_requests_per_s: float = 0
    """Maximum number of requests per second with one token; 0 for no limit. The requests of one
    second may arrive at once. Each process counts separately."""
    token_ttl_s: float = 1.0
    """Time for which tokens are cached. A revoked token may be accepted for this long."""


class RateLimiter:
    """Limit on the rate of the requests of each caller, implemented as token buckets.

    The requests of `BURST_S` seconds may arrive at once.

    Parameters
    ----------
    rate : float
        Maximum number of requests per second of one caller; 0 for no limit.
    clock : Callable[[], float]
        Returns a monotonic time in seconds.
    """

    def __init__(self, rate: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = max(1.0, rate * BURST_S)
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}  # requests left, and the time of that

    def check(self, caller: str) -> None:
        """Count a request of `caller`. Raises ApiError (429) if there were too many."""
        if not self._rate:
            return
        now = self._clock()
        left, before = self._left.get(caller, (self._burst, now))
        left = min(self._burst, left + (now - before) * self._rate)
        if left < 1:
            wait_s = math.ceil((1 - left) / self._rate)
            raise ApiError(
                429,
                f"Too many requests with this token: at most {self._rate:g} per second. "
                f"Try again in {wait_s} s.",
                headers={"Retry-After": str(wait_s)},
            )
        self._left[caller] = left - 1, now
