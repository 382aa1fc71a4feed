"""Prometheus metrics of the service, and of the problems that it serves."""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from belated.online.host import Host
from belated.online.learner_cache import Summary
from belated.online.status import Failure

M = TypeVar("M", Counter, Gauge, Histogram)

LATENCY_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
BATCH_BUCKETS_EVENTS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
WATCHED: Final = {
    "plans": "1 if this process holds the planner lock.",
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
        self._watched = {
            name: create(Gauge, name, description) for name, description in WATCHED.items()
        }
        self.watch("plans", lambda: host.plans)
        self.watch("oldest_unfolded_event_age_seconds", lambda: host.oldest_unfolded_age_s)
        self.watch("seconds_since_last_fold", lambda: host.seconds_since_fold)
        ProcessCollector(registry=registry)
        registry.register(ProblemCollector(host))

    def count_store_error(self, operation: str, reason: str) -> None:
        """Count an error of the store: the `operation` that failed, and the `reason` in words."""
        self._store_errors.labels(operation, reason).inc()

    def watch(self, name: str, value: Callable[[], float]) -> None:
        """Report the result of `value()` as the metric `name`, which must be a key of `WATCHED`.

        The function is called whenever the metrics are read.
        """
        self._watched[name].set_function(value)


class ProblemCollector(Collector):
    """Metrics of the problems of a `host`, as of the time when it last folded their events."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges, each with one value for each problem."""
        problems = self._host.summaries
        known = [(name, found) for name, found in problems if isinstance(found, Summary)]
        yield _gauge("missing_episodes", "Episodes in flight.", [(n, s.missing) for n, s in known])
        yield _gauge("lost_episodes", "Lost episodes.", [(n, s.lost) for n, s in known])
        yield _gauge("psi_episodes", "Bound on episodes in flight.", [(n, s.psi) for n, s in known])
        yield _gauge(
            "mean_delay_episodes",
            "Observed mean delay, in episodes; too low while episodes are in flight.",
            [(n, s.mean_delay) for n, s in known],
        )
        yield _gauge(
            "failed",
            "1 if the problem cannot be folded.",
            [(name, isinstance(found, Failure)) for name, found in problems],
        )


def _gauge(name: str, description: str, values: list[tuple[str, float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"belated_{name}", description, labels=["problem"])
    for problem, value in values:
        family.add_metric([problem], value)
    return family
