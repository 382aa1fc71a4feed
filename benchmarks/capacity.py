"""Measure the constants of the capacity model in docs/operations.md.

    python benchmarks/capacity.py [--episodes 20000] [--problems 200]

Disk: growth of the database per episode, without and with feedback. Memory: of the folds of
problems and of episodes in flight. CPU: time of the process that records and folds, without
HTTP. The problem has 5 states, 2 actions and 10 steps; all feedback is of whole episodes.
"""

import argparse
import json
import resource
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from belated.ledger import Ledger
from belated.ledger.events import Feedback, NewEvent
from belated.online.follower import Follower
from belated.online.host import Host
from load_clinic import OPEN_BATCH_EPISODES, define, generate_feedback, open_episodes
from load_servers import run_postgres
from many_problems import define_problems
from report import Report, Section, format_number, print_report
from run import describe_machine

BATCH_EVENTS = 32
"""Number of events recorded in one transaction."""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--episodes", type=int, default=20_000, help="number of episodes")
    parser.add_argument("--problems", type=int, default=200, help="number of idle problems")
    options = parser.parse_args()
    report = Report()
    with (
        tempfile.TemporaryDirectory(prefix="belated-capacity-") as folder,
        run_postgres(Path(folder) / "postgres") as address,
    ):
        stores = {"SQLite": f"sqlite:///{Path(folder) / 'ledger.db'}", "PostgreSQL": address}
        for name, store in stores.items():
            measure_episodes(report, name, store, options.episodes)
        measure_problems(report, f"sqlite:///{Path(folder) / 'many.db'}", options.problems)
    print_report(report, describe_machine())


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
    start = cpu_seconds()
    yield
    costs[name] = scale * (cpu_seconds() - start)


def cpu_seconds() -> float:
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


if __name__ == "__main__":
    main()
