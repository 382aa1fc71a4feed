"""Bulk feedback of a million rows: rate, memory of the service, and time to fold them.

Run as a script with the address of a ledger, it prints the seconds that a fold takes.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

import numpy as np
import sqlalchemy as sa

from belated.ledger import Ledger, schema
from belated.online.follower import Follower
from load_clinic import NAME, define, generate_feedback, open_episodes
from load_servers import run_service
from report import Report, Section, Target, format_number

REQUEST_EPISODES = 5000
"""Number of episodes in one bulk request."""
MAX_MEMORY_GROWTH = 1.1
"""Largest ratio of the memory after all rows to that after half of them."""


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
    for opened in range(0, episodes, REQUEST_EPISODES):
        in_flight += open_episodes(ledger, problem, REQUEST_EPISODES)
        rng.shuffle(in_flight)
        kept = REQUEST_EPISODES if opened + REQUEST_EPISODES < episodes else 0
        sent, in_flight = in_flight[kept:], in_flight[:kept]
        if not sent:
            continue
        lines = [bulk_line(id, body) for id, body in generate_feedback(sent, seed=opened)]
        start = time.perf_counter()
        send_bulk(port, b"".join(lines))
        yield len(lines) / (time.perf_counter() - start)


def bulk_line(id: str, body: bytes) -> bytes:
    """Return the line of a bulk request for the episode `id` with the feedback `body`."""
    return b'{"episode": "' + id.encode() + b'", ' + body[1:] + b"\n"


def send_bulk(port: int, lines: bytes) -> None:
    """Send `lines` to the service at `port`; raise RuntimeError unless all are recorded."""
    connection = HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request(
        "POST",
        f"/v1/problems/{NAME}/feedback",
        lines,
        {"Content-Type": "application/x-ndjson"},
    )
    results = connection.getresponse().read().splitlines()
    connection.close()
    failed = [result for result in results if json.loads(result)["status"] != 201]
    if failed or len(results) != lines.count(b"\n"):
        raise RuntimeError(
            f"All lines must be recorded, got {len(results)} results and failures {failed[:1]}."
        )


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
        command = [sys.executable, __file__, store]
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


def main(store: str) -> None:
    """Print the seconds that a fold of the ledger at `store` takes."""
    with Ledger.open(store) as ledger:
        [problem] = ledger.problems()
        start = time.perf_counter()
        Follower(ledger, problem).catch_up()
        print(time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
