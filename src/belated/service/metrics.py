"""Prometheus metrics, and a log line for each request.

Metrics and log contain no tokens, bodies, subjects or ids. A request is identified only by its
method and the pattern of its route.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from belated.ledger.outcomes import Outcome
from belated.online.host import Failure
from belated.online.status import ProblemStatus

M = TypeVar("M", Counter, Gauge, Histogram)

LOG: Final = logging.getLogger("belated.service")
LATENCY_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
BATCH_BUCKETS_EVENTS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """Prometheus metrics of one application, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        # Resolving labels takes longer than counting, so resolved labels are cached.
        self._by_labels: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

        def create(kind: type[M], name: str, description: str, *labels: str, **options: Any) -> M:
            return kind(f"belated_{name}", description, labels, registry=registry, **options)

        self._requests = create(
            Counter, "requests", "Requests answered.", "method", "route", "status"
        )
        seconds = ("request_seconds", "Time to answer a request.", "method", "route")
        self._seconds = create(Histogram, *seconds, buckets=LATENCY_BUCKETS_S)
        self._outcomes = create(Counter, "outcomes", "Events by outcome.", "outcome")
        self._batches = create(
            Histogram, "batch_events", "Events per transaction.", buckets=BATCH_BUCKETS_EVENTS
        )
        self._queue = create(Gauge, "queue_events", "Events that wait to be recorded.")
        self._missing = create(Gauge, "missing_episodes", "Episodes in flight.", "problem")
        self._lost = create(Gauge, "lost_episodes", "Lost episodes.", "problem")
        self._psi = create(Gauge, "psi_episodes", "Bound on episodes in flight.", "problem")
        self._delay = create(
            Gauge, "mean_delay_episodes", "Observed mean delay, in episodes.", "problem"
        )
        self._failed = create(Gauge, "failed", "1 if the problem cannot be folded.", "problem")
        self._plans = create(Gauge, "plans", "1 if this process holds the planner lock.")

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count and log a request that was answered.

        Parameters
        ----------
        method : str
            HTTP method.
        route : str
            Pattern of the path, such as "/v1/problems/{problem}".
        status : int
            HTTP status of the response.
        seconds : float
            Time from the start of the request to the end of the response, in seconds.
        """
        labels = (method, route, status)
        found = self._by_labels.get(labels)
        if found is None:
            found = self._requests.labels(*labels), self._seconds.labels(method, route)
            self._by_labels[labels] = found
        found[0].inc()
        found[1].observe(seconds)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds)

    def count_batch(self, outcomes: Sequence[Outcome]) -> None:
        """Count a transaction and its events; `outcomes` has the outcome of each event."""
        self._batches.observe(len(outcomes))
        for outcome in outcomes:
            self._outcomes.labels(type(outcome).__name__.lower()).inc()

    def watch_queue(self, queued_events: Callable[[], float]) -> None:
        """Report the length of the queue as a metric.

        `queued_events()` returns the number of events in the queue. It is called whenever the
        metrics are read.
        """
        self._queue.set_function(queued_events)

    def to_text(
        self, plans: bool, problems: Iterable[tuple[str, ProblemStatus | Failure | None]]
    ) -> bytes:
        """Return all metrics in Prometheus' text format.

        Parameters
        ----------
        plans : bool
            Whether this process plans. Only one process per ledger plans at a time.
        problems : Iterable[tuple[str, ProblemStatus | Failure | None]]
            Name of each problem, and its status or failure; None if its state is being computed
            for the first time.

        Returns
        -------
        bytes
            Text, encoded in UTF-8.
        """
        self._plans.set(plans)
        for problem, status in problems:
            self._failed.labels(problem).set(isinstance(status, Failure))
            if isinstance(status, ProblemStatus):
                self._missing.labels(problem).set(status.learner.missing)
                self._lost.labels(problem).set(status.lost)
                self._psi.labels(problem).set(status.learner.psi)
                self._delay.labels(problem).set(status.learner.mean_delay)
        return generate_latest(self.registry)


class MetricsMiddleware:
    """ASGI middleware that counts each request to `app` in `metrics`."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = 500, time.perf_counter()

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note_status)
        finally:
            # Unknown paths share one label; otherwise callers could create any number of labels.
            route = getattr(scope.get("route"), "path_format", "other")
            method = scope["method"] if route != "other" else "other"
            self._metrics.count_request(method, route, status, time.perf_counter() - started)
