"""Prometheus metrics of the service, and of the problems that it serves."""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from belated.online.host import Host
from belated.online.learner_cache import Summary
from belated.online.status import Failure

M = TypeVar("M", Counter, Histogram)

LATENCY_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
BATCH_BUCKETS_EVENTS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
PROBLEM_GAUGES: Final = {
    "missing": "Episodes in flight.",
    "lost": "Lost episodes.",
    "psi": "Bound on episodes in flight.",
    "mean_delay": "Observed mean delay, in episodes; too low while episodes are in flight.",
}
"""Map from the fields of a `Summary` to the descriptions of the metrics of each problem."""


class Metrics:
    """Prometheus metrics of one application and its `host`, in a registry of their own.

    Metrics contain no tokens, bodies, subjects or ids. A request is identified only by its method
    and the pattern of its route.
    """

    def __init__(self, host: Host) -> None:
        self.registry = registry = CollectorRegistry()

        def create(kind: type[M], name: str, description: str, *labels: str, **options: Any) -> M:
            return kind(f"belated_{name}", description, labels, registry=registry, **options)

        self.requests = create(
            Counter, "requests", "Requests answered.", "method", "route", "status"
        )
        seconds = ("request_seconds", "Time to answer a request.", "method", "route")
        self.seconds = create(Histogram, *seconds, buckets=LATENCY_BUCKETS_S)
        self.outcomes = create(Counter, "outcomes", "Events by outcome.", "outcome")
        self.batches = create(
            Histogram, "batch_events", "Events per transaction.", buckets=BATCH_BUCKETS_EVENTS
        )
        self._store_errors = create(
            Counter, "store_errors", "Errors of the store.", "operation", "reason"
        )
        self.watch("plans", "1 if this process holds the planner lock.", lambda: host.plans)
        self.watch(
            "oldest_unfolded_event_age_seconds",
            "Age of the oldest event that is not yet folded; NaN if another process plans, and "
            "until all problems are folded after a start.",
            lambda: host.oldest_unfolded_age_s,
        )
        self.watch(
            "seconds_since_last_fold",
            "Time since all new events were folded; NaN if another process plans.",
            lambda: host.seconds_since_fold,
        )
        ProcessCollector(registry=registry)
        registry.register(ProblemCollector(host))

    def count_store_error(self, operation: str, reason: str) -> None:
        """Count an error of the store: the `operation` that failed, and the `reason` in words."""
        self._store_errors.labels(operation, reason).inc()

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Add the metric `name`, whose value is the result of `value()` when metrics are read."""
        Gauge(f"belated_{name}", description, registry=self.registry).set_function(value)


class ProblemCollector(Collector):
    """Metrics of the problems of a `host`, as of the time when it last folded their events."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges, each with one value for each problem."""
        problems = self._host.summaries
        for field, description in PROBLEM_GAUGES.items():
            gauge = GaugeMetricFamily(f"belated_{field}_episodes", description, labels=["problem"])
            for name, found in problems:
                if isinstance(found, Summary):
                    gauge.add_metric([name], getattr(found, field))
            yield gauge
        failed = "1 if the problem cannot be folded."
        gauge = GaugeMetricFamily("belated_failed", failed, labels=["problem"])
        for name, found in problems:
            gauge.add_metric([name], isinstance(found, Failure))
        yield gauge
