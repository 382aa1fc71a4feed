"""Measure what a service takes: the constants of docs/operations.md, or many problems at once.

    python benchmarks/capacity.py constants [--episodes 20000] [--problems 200]
    python benchmarks/capacity.py problems [--problems 10000] [--memory-limit MIB]

`constants` are those of the capacity model. Disk: growth of the database per episode, without and
with feedback. Memory: of the folds of problems and of episodes in flight. CPU: time of the process
that records and folds, without HTTP. All feedback is of whole episodes.

`problems` measures a service with many problems of which one is busy: CPU, lag, metrics and memory.
The lag is the time from the response to feedback until the tick after which it is learnt. Ticks
are read from the database, so that the measurement does not make the service fold.

The problems have 5 states, 2 actions and 10 steps.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

import sqlalchemy as sa

from belated.ledger import Ledger, Part, ProblemSpec, Recorded
from belated.ledger.events import NewEvent
from belated.ledger.kinds import Defined, Feedback, Opened, Published
from belated.online.host import Host
from belated.online.learner_cache import Follower
from belated.online.learner_factory import build_learner
from load_clinic import (
    ACTIONS,
    OPEN_BATCH_EPISODES,
    STATES,
    STEPS,
    define,
    generate_feedback,
    open_episodes,
)
from processes import BELATED, Server, cpu_seconds, run_postgres, run_server
from report import Report, Section, Target, describe_machine, format_number, print_report

BATCH_EVENTS = 32
"""Number of events recorded in one transaction."""
BATCH_PROBLEMS = 500
"""Number of problems defined in one transaction."""
MAX_IDLE_CPU, MAX_LAG_S, MAX_METRICS_S = 0.05, 2.0, 1.0
"""Targets: share of a core, and seconds."""
IDLE_S = 10
"""Duration of the measurement of idle CPU, in seconds."""
TIMEOUT_S = 900


def main() -> None:
    """Measure what the command line asks for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    constants = commands.add_parser("constants", help="constants of the capacity model")
    constants.add_argument("--episodes", type=int, default=20_000, help="number of episodes")
    constants.add_argument("--problems", type=int, default=200, help="number of idle problems")
    problems = commands.add_parser("problems", help="a service with many problems")
    problems.add_argument("--problems", type=int, default=10_000, help="number of problems")
    problems.add_argument("--memory-limit", type=int, help="passed to belated serve, in MiB")
    options = parser.parse_args()
    report, heading = Report(), describe_machine()
    with tempfile.TemporaryDirectory(prefix="belated-capacity-") as folder:
        if options.command == "constants":
            measure_constants(report, Path(folder), options.episodes, options.problems)
        else:
            heading = f"{options.problems:,} problems, one of them busy. {heading}"
            measure_service(report, Path(folder), options.problems, options.memory_limit)
    print_report(report, heading)


def measure_constants(report: Report, folder: Path, episodes: int, problems: int) -> None:
    """Add the constants of the capacity model to `report`, with databases in `folder`."""
    with run_postgres(folder / "postgres") as address:
        stores = {"SQLite": f"sqlite:///{folder / 'ledger.db'}", "PostgreSQL": address}
        for name, store in stores.items():
            measure_episodes(report, name, store, episodes)
        measure_problems(report, f"sqlite:///{folder / 'many.db'}", problems)


def measure_service(report: Report, folder: Path, count: int, memory_limit: int | None) -> None:
    """Add a service with `count` problems to `report`, with its database in `folder`."""
    limit = [] if memory_limit is None else ["--memory-limit", str(memory_limit)]
    store = f"sqlite:///{folder / 'ledger.db'}"
    with Ledger.open(store) as ledger:
        define_problems(ledger, count)
        command = [str(BELATED), "serve", "--store", store, "--port", "0", *limit]
        with run_server(command, ready="/readyz", timeout_s=TIMEOUT_S) as server:
            measure_busy(report, ledger, server, seconds=IDLE_S)


def measure_episodes(report: Report, name: str, store: str, episodes: int) -> None:
    """Add disk, CPU and memory per episode to `report`.

    Parameters
    ----------
    report : Report
        Receives a section.
    name, store : str
        Name of the database, and address of an empty one.
    episodes : int
        Number of episodes, a multiple of OPEN_BATCH_EPISODES.
    """
    costs: dict[str, float] = {}
    count = max(1, episodes // OPEN_BATCH_EPISODES) * OPEN_BATCH_EPISODES
    with Ledger.open(store) as ledger:
        problem = define(ledger, episodes=count)
        host = Host(ledger)
        host.step()  # publishes the first version, and compiles
        empty = disk_bytes(ledger)
        with measured(costs, "CPU to open an episode, µs", 1e6 / count):
            ids = open_episodes(ledger, problem, count)
        opened = disk_bytes(ledger)
        costs["memory of an episode in flight, bytes"] = fold_bytes(ledger) / count
        with measured(costs, "CPU to fold an opening, µs", 1e6 / count):
            host.step()
        events: list[NewEvent] = [
            Feedback(id, {"states": states, "actions": actions})
            for id, states, actions in decode(ids)
        ]
        with measured(
            costs, f"CPU to record feedback, {BATCH_EVENTS} in a transaction, µs", 1e6 / count
        ):
            for first in range(0, count, BATCH_EVENTS):
                ledger.append(events[first : first + BATCH_EVENTS])
        with measured(costs, "CPU to fold feedback and plan, µs", 1e6 / count):
            host.step()
        costs["disk of an episode in flight, bytes"] = (opened - empty) / count
        costs["disk of an episode with feedback, bytes"] = (disk_bytes(ledger) - empty) / count
    rows = [(text, format_number(value)) for text, value in costs.items()]
    report.sections.append(Section(f"{name}, {count:,} episodes", ("", "measured"), rows))


def fold_bytes(ledger: Ledger) -> int:
    """Return the memory that the folds of all problems of `ledger` take, in bytes."""
    tracemalloc.start()
    folds = [Follower(ledger, problem).catch_up() for problem in ledger.problems()]
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del folds
    return size


def decode(ids: list[str]) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield each of `ids` with random states and actions."""
    for id, body in generate_feedback(ids, 0):
        content = json.loads(body)
        yield id, content["states"], content["actions"]


def measure_problems(report: Report, store: str, problems: int) -> None:
    """Add memory and time per problem to `report`, with `problems` new ones in `store`."""
    costs: dict[str, float] = {}
    with Ledger.open(store) as ledger:
        define_problems(ledger, problems)
        host = Host(ledger)
        with measured(costs, "CPU to fold a problem at the start, ms", 1e3 / problems):
            while not host.ready:
                host.step()
        costs["memory of a problem, kB"] = fold_bytes(ledger) / problems / 1e3
    rows = [(text, format_number(value)) for text, value in costs.items()]
    report.sections.append(Section(f"{problems} problems", ("", "measured"), rows))


@contextmanager
def measured(costs: dict[str, float], name: str, scale: float) -> Iterator[None]:
    """Store the CPU seconds of this process during the context, times `scale`, as `name`."""
    start = own_cpu_seconds()
    yield
    costs[name] = scale * (own_cpu_seconds() - start)


def own_cpu_seconds() -> float:
    """Return the CPU time that this process has used, in seconds."""
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def disk_bytes(ledger: Ledger) -> int:
    """Return the size of the database of `ledger`, with its indexes and without its log."""
    with ledger.store.reading() as connection:
        if ledger.store.on_postgres:
            size = sa.text("SELECT pg_database_size(current_database())")
            return int(connection.execute(size).scalar_one())
        pages, bytes_per_page = (
            int(connection.exec_driver_sql(f"PRAGMA page_{name}").scalar_one())
            for name in ("count", "size")
        )
        return pages * bytes_per_page


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


def measure_busy(report: Report, ledger: Ledger, server: Server, *, seconds: float) -> None:
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
