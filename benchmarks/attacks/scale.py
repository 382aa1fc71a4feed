"""Attack by number: many problems of which one is busy."""

import time
from collections.abc import Iterator

from attacks.registry import Finding, attack, list_times
from attacks.testbed import Testbed
from capacity import define_problems, measure_cpu, measure_lag, time_request
from processes import Server

PROBLEMS = 1000
MAX_IDLE_PERCENT, MAX_LAG_S, MAX_METRICS_S = 5.0, 2.0, 1.0
IDLE_S = 5.0


@attack("Many problems")
def many_problems(testbed: Testbed) -> Iterator[Finding]:
    """Define many problems, of which one is busy; `capacity.py` measures 10,000 of them."""
    with testbed.open_ledger() as ledger:
        define_problems(ledger, PROBLEMS)
        start = time.perf_counter()
        with testbed.serve() as service:
            server = Server(service.port, service.pid, time.perf_counter() - start)
            lags = [measure_lag(ledger, server, seed) for seed in range(3)]
            scrapes = [time_request(server, "GET", "/metrics")[1] for _ in range(3)]
            idle = 100 * measure_cpu(server.pid, IDLE_S)
    for name, limit, value, unit in (
        ("lag of feedback to the busy one", MAX_LAG_S, max(lags), "s"),
        ("GET /metrics", MAX_METRICS_S, max(scrapes), "s"),
        ("idle, share of a core", MAX_IDLE_PERCENT, idle, "%"),
    ):
        texts = list_times(expected=limit, measured=value, unit=unit)
        yield Finding(f"{PROBLEMS:,} problems: {name}", *texts)
