"""Metrics, for Prometheus, and a line in the log for each request.

Neither tells of tokens, bodies, subjects or ids: an address is told by its pattern.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from belated.ledger.outcomes import Outcome
from belated.online.status import ProblemStatus

LOG: Final = logging.getLogger("belated.service")
BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """What is counted, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._requests = Counter(
            "belated_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "belated_request_seconds",
            "Time to answer.",
            ["method", "route"],
            buckets=BUCKETS,
            registry=registry,
        )
        self._outcomes = Counter(
            "belated_outcomes",
            "What became of the events handed in.",
            ["outcome"],
            registry=registry,
        )
        self._batches = Histogram(
            "belated_batch_events",
            "Events recorded together.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
            registry=registry,
        )
        self._queue = Gauge(
            "belated_queue_events", "Events that wait to be recorded.", registry=registry
        )
        self._missing = Gauge(
            "belated_missing_episodes",
            "Episodes opened and not back.",
            ["problem"],
            registry=registry,
        )
        self._psi = Gauge(
            "belated_psi_episodes",
            "What the missing stay below (Lemma 1).",
            ["problem"],
            registry=registry,
        )
        self._delay = Gauge(
            "belated_mean_delay_episodes", "Observed mean delay.", ["problem"], registry=registry
        )
        self._failed = Gauge(
            "belated_failed", "1 where a problem cannot be folded.", ["problem"], registry=registry
        )
        self._plans = Gauge(
            "belated_plans", "1 where this process is the one that plans.", registry=registry
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        key = (method, route, status)
        known = self._known.get(key)
        if known is None:  # to look labels up takes longer than to count
            known = self._requests.labels(*key), self._seconds.labels(method, route)
            self._known[key] = known
        known[0].inc()
        known[1].observe(seconds)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds)

    def recorded(self, outcomes: Sequence[Outcome]) -> None:
        """A batch was recorded."""
        self._batches.observe(len(outcomes))
        for outcome in outcomes:
            self._outcomes.labels(outcome.name).inc()

    def watch_queue(self, waiting: Callable[[], float]) -> None:
        """Ask how much waits whenever the metrics are read."""
        self._queue.set_function(waiting)

    def page(self, plans: bool, standings: Iterable[tuple[str, ProblemStatus | None]]) -> bytes:
        """All of it as Prometheus reads it; a problem without a standing has failed."""
        self._plans.set(plans)
        for problem, standing in standings:
            self._failed.labels(problem).set(standing is None)
            if standing is not None:
                self._missing.labels(problem).set(standing.learner.missing)
                self._psi.labels(problem).set(standing.learner.psi)
                self._delay.labels(problem).set(standing.learner.mean_delay)
        return generate_latest(self.registry)


class Measure:
    """Counts each request that passes."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 500, time.perf_counter()

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            # what is no route must not become a label each
            route = getattr(scope.get("route"), "path_format", "other")
            method = scope["method"] if route != "other" else "other"
            self._metrics.answered(method, route, status, time.perf_counter() - began)
