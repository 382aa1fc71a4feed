"""Measure a service with many problems of which one is busy: CPU, lag, metrics and memory.

    python benchmarks/many_problems.py [--problems 10000] [--memory-limit MIB] [--quick]

The lag is the time from the response to feedback until the tick after which it is learnt. Ticks
are read from the database, so that the measurement does not make the service fold.
"""

import argparse
import json
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

from belated.ledger import Ledger, Part, ProblemSpec, Recorded
from belated.ledger.events import Defined, NewEvent, Opened, Published
from belated.online.learner_factory import build_learner
from load_clinic import generate_feedback
from load_servers import BELATED, Server, run_server
from measure import cpu_seconds
from report import Report, Section, Target, format_number, print_report
from run import describe_machine

STATES, ACTIONS, STEPS = 5, 2, 10
BATCH_PROBLEMS = 500
"""Number of problems defined in one transaction."""
MAX_IDLE_CPU, MAX_LAG_S, MAX_METRICS_S = 0.05, 2.0, 1.0
"""Targets: share of a core, and seconds."""
TIMEOUT_S = 900


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=10_000, help="number of problems")
    parser.add_argument("--memory-limit", type=int, help="passed to belated serve, in MiB")
    parser.add_argument("--quick", action="store_true", help="500 problems, short intervals")
    options = parser.parse_args()
    count = 500 if options.quick else options.problems
    limit = [] if options.memory_limit is None else ["--memory-limit", str(options.memory_limit)]
    report = Report()
    with tempfile.TemporaryDirectory(prefix="belated-many-") as folder:
        store = f"sqlite:///{Path(folder) / 'ledger.db'}"
        with Ledger.open(store) as ledger:
            define_problems(ledger, count)
            command = [str(BELATED), "serve", "--store", store, "--port", "0", *limit]
            with run_server(command, ready="/readyz", timeout_s=TIMEOUT_S) as server:
                measure(report, ledger, server, seconds=3 if options.quick else 10)
    print_report(report, f"{count:,} problems, one of them busy. {describe_machine()}")


def define_problems(ledger: Ledger, count: int) -> None:
    """Define `count` problems in `ledger`, each with a first version and an episode in flight."""
    print(f"defining {count:,} problems ...", file=sys.stderr)
    specs = [make_spec(f"clinic-{i}") for i in range(count)]
    first = build_learner(specs[0]).policy
    for start in range(0, count, BATCH_PROBLEMS):
        outcomes = ledger.append([Defined(spec) for spec in specs[start : start + BATCH_PROBLEMS]])
        events: list[NewEvent] = []
        for outcome in outcomes:
            assert isinstance(outcome, Recorded)
            events += [Published(outcome.seq, 1, first), Opened(outcome.seq, 1)]
        ledger.append(events)


def make_spec(name: str) -> ProblemSpec:
    """Return the specification of a problem called `name`."""
    return ProblemSpec(
        name=name,
        states=[f"state {s}" for s in range(STATES)],
        actions=["left", "right"],
        horizon=STEPS,
        rewards=[[0.0] * ACTIONS] * (STATES - 1) + [[0.0, 1.0]],
        base=Part("ucbvi-bf", {"preset": "two_term", "scale": 0.1}),
        updater=Part("active"),
        episodes=10_000,
    )


def measure(report: Report, ledger: Ledger, server: Server, *, seconds: float) -> None:
    """Add the table and the targets to `report`.

    Parameters
    ----------
    report : Report
        Report of the benchmark.
    ledger : Ledger
        Ledger of the service.
    server : Server
        The service.
    seconds : float
        Duration of the measurement of idle CPU.
    """
    idle = measure_cpu(server.pid, seconds)
    memory = server.memory_mb
    lags = [measure_lag(ledger, server, seed) for seed in range(5)]
    scrapes = [time_request(server, "GET", "/metrics")[1] for _ in range(3)]
    rows = [
        ("start until ready", f"{format_number(server.startup_s)} s"),
        ("idle", f"{100 * idle:.1f} % of a core"),
        ("memory", f"{format_number(memory)} MB"),
        ("lag, median of 5", f"{format_number(median(lags))} s"),
        ("lag, largest of 5", f"{format_number(max(lags))} s"),
        ("/metrics, first", f"{format_number(scrapes[0])} s"),
        ("/metrics, largest of 3", f"{format_number(max(scrapes))} s"),
    ]
    report.sections.append(Section("Many problems", ("", "measured"), rows))
    for text, value, bound, unit in (
        (f"idle below {100 * MAX_IDLE_CPU:g} % of a core", 100 * idle, 100 * MAX_IDLE_CPU, "%"),
        (f"lag below {MAX_LAG_S:g} s", max(lags), MAX_LAG_S, "s"),
        (f"/metrics below {MAX_METRICS_S:g} s", max(scrapes), MAX_METRICS_S, "s"),
    ):
        report.targets.append(Target(text, f"{format_number(value)} {unit}", value < bound))


def measure_cpu(pid: int, seconds: float) -> float:
    """Return the share of a core that process `pid` uses during the next `seconds`."""
    before = cpu_seconds(pid)
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / seconds


def measure_lag(ledger: Ledger, server: Server, seed: int) -> float:
    """Return the seconds from the response to feedback until the next tick of its problem."""
    problem = ledger.problem("clinic-0")
    assert problem is not None
    body, _ = time_request(server, "POST", f"/v1/problems/{problem.name}/episodes", b"{}")
    ((id, feedback),) = generate_feedback([json.loads(body)["episode"]], seed)
    after = ledger.last
    time_request(server, "POST", f"/v1/episodes/{id}/feedback", feedback)
    start = time.perf_counter()
    while not any(ledger.events(problem.id, after=after, kinds=["tick"])):
        if time.perf_counter() - start > TIMEOUT_S:
            raise RuntimeError(f"There was no tick for {TIMEOUT_S} s.")
        time.sleep(0.02)
    return time.perf_counter() - start


def time_request(
    server: Server, method: str, path: str, body: bytes | None = None
) -> tuple[bytes, float]:
    """Return the body of the response to a request, and the seconds until it was complete.

    Parameters
    ----------
    server : Server
        The service.
    method, path : str
        HTTP method and path.
    body : bytes, optional
        JSON body of the request.

    Returns
    -------
    tuple of bytes and float
        Body and duration in seconds.
    """
    start = time.perf_counter()
    connection = HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_S)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    if response.status not in (200, 201):
        raise RuntimeError(f"{method} {path} returned {response.status}: {content[:200]!r}.")
    return content, time.perf_counter() - start


if __name__ == "__main__":
    main()
