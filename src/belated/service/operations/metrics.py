"""Prometheus metrics, and a log line for each request.

Metrics and log contain no tokens, bodies, subjects or ids. A request is identified only by its
method and the pattern of its route.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from belated.ledger.events import Outcome
from belated.online.learner_cache import Summary
from belated.online.status import Failure

M = TypeVar("M", Counter, Gauge, Histogram)

LOG: Final = logging.getLogger("belated.service.access")
LATENCY_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
BATCH_BUCKETS_EVENTS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
WATCHED: Final = {
    "queue_events": "Events that wait to be recorded.",
    "oldest_unfolded_event_age_seconds": "Age of the oldest event that is not yet folded; "
    "NaN if another process plans, and until all problems are folded after a start.",
    "seconds_since_last_fold": "Time since all new events were folded; "
    "NaN if another process plans.",
    "connections": "Open HTTP connections.",
    "store_connections": "Connections to the store that are in use.",
}
"""Map from the name of each metric that `Metrics.watch` sets to its description."""


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
        self._plans = create(Gauge, "plans", "1 if this process holds the planner lock.")
        self._store_errors = create(
            Counter, "store_errors", "Errors of the store.", "operation", "reason"
        )
        self._watched = {
            name: create(Gauge, name, description) for name, description in WATCHED.items()
        }
        ProcessCollector(registry=registry)

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
            extra = {"method": method, "route": route, "status": status, "seconds": seconds}
            LOG.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds, extra=extra)

    def count_batch(self, outcomes: Sequence[Outcome]) -> None:
        """Count a transaction and its events; `outcomes` has the outcome of each event."""
        self._batches.observe(len(outcomes))
        for outcome in outcomes:
            self._outcomes.labels(type(outcome).__name__.lower()).inc()

    def count_store_error(self, operation: str, reason: str) -> None:
        """Count an error of the store: the `operation` that failed, and the `reason` in words."""
        self._store_errors.labels(operation, reason).inc()

    def watch(self, name: str, value: Callable[[], float]) -> None:
        """Report the result of `value()` as the metric `name`, which must be a key of `WATCHED`.

        The function is called whenever the metrics are read.
        """
        self._watched[name].set_function(value)

    def to_text(
        self, plans: bool, problems: Iterable[tuple[str, Summary | Failure | None]]
    ) -> bytes:
        """Return all metrics in Prometheus' text format.

        Parameters
        ----------
        plans : bool
            Whether this process plans. Only one process per ledger plans at a time.
        problems : Iterable[tuple[str, Summary | Failure | None]]
            Name of each problem, and its summary or failure; None if its state is being computed
            for the first time.

        Returns
        -------
        bytes
            Text, encoded in UTF-8.
        """
        self._plans.set(plans)
        return generate_latest(self.registry) + _format_problems(list(problems)).encode()


def _format_problems(problems: Sequence[tuple[str, Summary | Failure | None]]) -> str:
    """Return the gauges of `problems` in Prometheus' text format.

    They are written directly, since thousands of Gauge objects take a second to format. Names
    of problems need no escapes.
    """
    known = [(name, found) for name, found in problems if isinstance(found, Summary)]
    gauges: tuple[tuple[str, str, list[tuple[str, float]]], ...] = (
        ("missing_episodes", "Episodes in flight.", [(n, s.missing) for n, s in known]),
        ("lost_episodes", "Lost episodes.", [(n, s.lost) for n, s in known]),
        ("psi_episodes", "Bound on episodes in flight.", [(n, s.psi) for n, s in known]),
        (
            "mean_delay_episodes",
            "Observed mean delay, in episodes; too low while episodes are in flight.",
            [(n, s.mean_delay) for n, s in known],
        ),
        (
            "failed",
            "1 if the problem cannot be folded.",
            [(name, isinstance(found, Failure)) for name, found in problems],
        ),
    )
    lines = []
    for gauge, description, values in gauges:
        lines.append(f"# HELP belated_{gauge} {description}")
        lines.append(f"# TYPE belated_{gauge} gauge")
        lines += [
            f'belated_{gauge}{{problem="{name}"}} {_format_value(value)}' for name, value in values
        ]
    return "\n".join(lines) + "\n"


def _format_value(value: float) -> str:
    """Return `value` as in Prometheus' text format.

    >>> _format_value(1), _format_value(float("inf"))
    ('1.0', '+Inf')
    """
    text = repr(float(value))
    return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(text, text)
