"""`make bench-service`: measure the service under load, and write docs/service.md.

Rates are compared with those of an empty route of the same HTTP server. Bulk feedback of a million
rows shows the memory of the service and the time to fold them.
"""

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np
import sqlalchemy as sa

from belated.ledger import Ledger, schema
from load_client import Load, drive, request
from load_clinic import (
    BULK_EPISODES,
    bulk_line,
    check_statuses,
    define,
    feedback_requests,
    generate_feedback,
    open_episodes,
    open_requests,
    policy_requests,
    send_bulk,
)
from processes import Server, run_empty, run_postgres, run_service
from report import (
    Report,
    Section,
    Target,
    describe_machine,
    format_markdown,
    format_number,
    format_ratios,
    print_report,
    write_page,
)

PAGE = Path(__file__).parent.parent / "docs" / "service.md"
CONNECTIONS = 32
MAX_MEMORY_GROWTH = 1.1
"""Largest ratio of the memory after all bulk feedback to that after half of it."""
FOLD = """
import sys, time
from belated.ledger import Ledger
from belated.online.learner_cache import Follower
with Ledger.open(sys.argv[1]) as ledger:
    [problem] = ledger.problems()
    start = time.perf_counter()
    Follower(ledger, problem).catch_up()
    print(time.perf_counter() - start)
"""
"""Program that prints the seconds that a fold of the ledger at an address takes."""


def main() -> None:
    """Measure everything; write the page unless --quick is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes; writes nothing")
    quick = parser.parse_args().quick
    heading = ("Quick and imprecise. " if quick else "") + describe_machine()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="belated-load-") as folder:
        print("requests ...", file=sys.stderr)
        measure_requests(
            report, folder=Path(folder), turns=3 if quick else 7, seconds=1 if quick else 3
        )
        print("a million rows ...", file=sys.stderr)
        measure_bulk(report, folder=Path(folder), quick=quick)
    print_report(report, heading)
    if not quick:
        write_page(PAGE, format_markdown(report, heading))


def measure_requests(report: Report, *, folder: Path, turns: int, seconds: float) -> None:
    """Add the rates of an empty route, policy reads, durable feedback and openings, in turn.

    Parameters
    ----------
    report : Report
        Receives section and targets.
    folder : Path
        Folder for the ledgers.
    turns : int
        Number of turns, after one that is not recorded.
    seconds : float
        Duration of the load in each turn.
    """
    episodes = 1000 * round(6 * turns * seconds + 6)
    with (
        run_empty() as empty,
        run_on_new_ledger(f"sqlite:///{folder / 'load.db'}", episodes) as (sqlite, ids),
        run_postgres(folder / "postgres") as address,
        run_on_new_ledger(address, episodes) as (postgres, postgres_ids),
    ):
        tasks: dict[str, tuple[Server, Iterator[bytes]]] = {
            "an empty route": (empty, itertools.repeat(request("GET", "/"))),
            "read the policy": (sqlite, policy_requests()),
            "send feedback, durably": (sqlite, feedback_requests(ids)),
            "open an episode, durably": (sqlite, open_requests()),
            "send feedback to PostgreSQL": (postgres, feedback_requests(postgres_ids)),
        }
        loads: dict[str, list[Load]] = {name: [] for name in tasks}
        for turn in range(turns + 1):
            for name, (server, requests) in tasks.items():
                load = drive(server.port, requests, connections=CONNECTIONS, seconds=seconds)
                check_statuses(name, load)
                if turn:  # the first turn is a warm-up
                    loads[name].append(load)
    add_rates(report, loads)


@contextmanager
def run_on_new_ledger(store: str, episodes: int) -> Iterator[tuple[Server, list[str]]]:
    """Run the service on a new ledger at `store`; yield it and the ids of `episodes` in flight."""
    with Ledger.open(store) as ledger:
        problem = define(ledger, episodes=1_000_000)
        with run_service(store) as server:
            yield server, open_episodes(ledger, problem, episodes)


def add_rates(report: Report, loads: dict[str, list[Load]]) -> None:
    """Add to `report` the rates of `loads` and their ratios to the empty route in each turn."""
    rows = []
    empty = loads["an empty route"]
    ratios = {}
    for name, turns in loads.items():
        ratios[name] = [load.rate / base.rate for load, base in zip(turns, empty, strict=True)]
        middle = sorted(turns, key=lambda load: load.rate)[len(turns) // 2]
        rows.append(
            (
                name,
                f"{middle.rate:,.0f}",
                format_ratios(ratios[name]),
                format_number(1e3 * middle.median_s),
                format_number(1e3 * middle.p99_s),
            )
        )
    report.sections.append(
        Section(
            f"Requests, {CONNECTIONS} connections",
            ("", "per second", "of the empty route", "median, ms", "99th percentile, ms"),
            rows,
            "Server, client and PostgreSQL run on the same machine. Except in the last row the "
            "ledger is a SQLite file. The host folds and plans at the same time.",
        )
    )
    for name, minimum in (("read the policy", 0.6), ("send feedback, durably", 0.3)):
        ratio = sorted(ratios[name])[len(empty) // 2]
        text = f"{name}: {minimum} × an empty route"
        report.targets.append(Target(text, f"{ratio:.2f} ×", ratio >= minimum))


def measure_bulk(report: Report, *, folder: Path, quick: bool) -> None:
    """Fill a ledger through the service, then fold it with and without a snapshot.

    Parameters
    ----------
    report : Report
        Receives sections and targets.
    folder : Path
        Folder for the ledger.
    quick : bool
        Whether to use a tenth of the episodes.
    """
    episodes = 50_000 if quick else 500_000
    store = f"sqlite:///{folder / 'million.db'}"
    rows: list[tuple[int, float, float]] = []
    with Ledger.open(store) as ledger:
        problem = define(ledger, episodes=episodes)
        with run_service(store) as server:
            for rate in fill(ledger, problem, server.port, episodes):
                rows.append((ledger.last, rate, server.memory_mb))
        half_mb, end_mb = rows[len(rows) // 2 - 1][2], rows[-1][2]
        events = ledger.last
        with ledger.store.reading() as connection:
            pages, size = (
                connection.exec_driver_sql(f"PRAGMA page_{name}").scalar_one()
                for name in ("count", "size")
            )
    shown = rows[:: -max(1, len(rows) // 10)][::-1]
    report.sections.append(
        Section(
            "Bulk and memory",
            ("rows", "new episodes per minute at that point", "memory of the service, MB"),
            [(f"{n:,}", f"{60 * rate:,.0f}", f"{memory:.0f}") for n, rate, memory in shown],
            "Episodes of 10 steps, 5,000 lines in a request, while the host folds and plans. At "
            f"the end the database has {pages * size / episodes:.0f} bytes per episode.",
        )
    )
    rate = 60 * median(rate for _, rate, _ in rows)
    report.targets += [
        Target(
            "bulk NDJSON, 20,000 episodes of 10 steps per minute",
            f"{rate:,.0f}",
            rate >= 20_000,
        ),
        Target(
            f"constant memory over {events:,} rows",
            f"{half_mb:.0f} MB after half of them, {end_mb:.0f} at the end",
            end_mb <= MAX_MEMORY_GROWTH * half_mb,
        ),
    ]
    measure_fold(report, store, events)


def fill(ledger: Ledger, problem: int, port: int, episodes: int) -> Iterator[float]:
    """Open episodes and send their feedback late and in random order.

    Parameters
    ----------
    ledger : Ledger
        Ledger in which episodes are opened.
    problem : int
        Id of the problem.
    port : int
        Port of the service.
    episodes : int
        Number of episodes.

    Yields
    ------
    float
        Episodes per second of each bulk request.
    """
    rng = np.random.default_rng(0)
    in_flight: list[str] = []
    for opened in range(0, episodes, BULK_EPISODES):
        in_flight += open_episodes(ledger, problem, BULK_EPISODES)
        rng.shuffle(in_flight)
        kept = BULK_EPISODES if opened + BULK_EPISODES < episodes else 0
        sent, in_flight = in_flight[kept:], in_flight[:kept]
        if not sent:
            continue
        lines = [bulk_line(id, body) for id, body in generate_feedback(sent, seed=opened)]
        start = time.perf_counter()
        send_bulk(port, b"".join(lines))
        yield len(lines) / (time.perf_counter() - start)


def measure_fold(report: Report, store: str, events: int) -> None:
    """Add the time to fold the ledger in a new process, and to start the service on it.

    Parameters
    ----------
    report : Report
        Receives section and targets.
    store : str
        Address of the ledger.
    events : int
        Number of its rows.
    """
    durations = {}
    for name, limit_s in (("with a snapshot", 3), ("without one", 60)):
        if name == "without one":
            with Ledger.open(store) as ledger, ledger.store.writing() as connection:
                connection.execute(sa.delete(schema.snapshots))
        command = [sys.executable, "-c", FOLD, store]
        seconds = float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        with run_service(store) as server:
            durations[name] = (seconds, server.startup_s)
        report.targets.append(
            Target(
                f"fold of {events:,} rows {name} in {limit_s} s",
                f"{seconds:.2f} s",
                seconds < limit_s,
            )
        )
    report.sections.append(
        Section(
            "Folding at start",
            ("", "fold, s", "`belated serve` from its start until it is ready, s"),
            [
                (name, format_number(fold_s), format_number(startup_s))
                for name, (fold_s, startup_s) in durations.items()
            ],
        )
    )


if __name__ == "__main__":
    main()
