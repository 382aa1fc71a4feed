"""A million rows: how fast they come in, what they cost in memory, and how fast they fold."""

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
from load_clinic import NAME, define, open_episodes, played
from load_servers import service
from table import Promise, Report, Section, number

CHUNK = 5000
"""Episodes of one request."""
ABOVE = 1.1
"""How much more memory counts as flat, from half of the rows to all of them."""


def measure(report: Report, *, folder: Path, quick: bool) -> None:
    """Fill a ledger through the service, then fold it with a snapshot and without."""
    episodes = 50_000 if quick else 500_000
    store = f"sqlite:///{folder / 'million.db'}"
    rows: list[tuple[int, float, float]] = []
    with Ledger.open(store) as ledger:
        problem = define(ledger, episodes=episodes)
        with service(store) as server:
            for rate in fill(ledger, problem, server.port, episodes):
                rows.append((ledger.last, rate, server.memory))
        half = rows[len(rows) // 2 - 1][2]
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
            ("rows", "new episodes a minute at that point", "memory of the service, MB"),
            [(f"{n:,}", f"{60 * rate:,.0f}", f"{memory:.0f}") for n, rate, memory in shown],
            "Episodes of 10 steps, 5,000 lines in a request, while the host folds and plans. In "
            f"the end the database has {pages * size / episodes:.0f} bytes for each.",
        )
    )
    rate = 60 * median(rate for _, rate, _ in rows)
    report.promises += [
        Promise(
            "bulk NDJSON, 20,000 episodes of 10 steps a minute",
            f"{rate:,.0f}",
            rate >= 20_000,
        ),
        Promise(
            f"memory flat over {events:,} rows",
            f"{half:.0f} MB at half of them, {rows[-1][2]:.0f} at the end",
            rows[-1][2] <= ABOVE * half,
        ),
    ]
    fold(report, store, events)


def fill(ledger: Ledger, problem: int, port: int, episodes: int) -> Iterator[float]:
    """Open episodes and send what came back of them, late and shuffled.

    Yields how many a second were recorded, request by request.
    """
    rng = np.random.default_rng(0)
    waiting: list[str] = []
    for done in range(0, episodes, CHUNK):
        waiting += open_episodes(ledger, problem, CHUNK)
        rng.shuffle(waiting)
        late = CHUNK if done + CHUNK < episodes else 0
        sent, waiting = waiting[late:], waiting[:late]
        if not sent:
            continue
        lines = [line(id, body) for id, body in played(sent, seed=done)]
        began = time.perf_counter()
        send(port, b"".join(lines))
        yield len(lines) / (time.perf_counter() - began)


def line(id: str, body: bytes) -> bytes:
    """A line of a bulk."""
    return b'{"episode": "' + id.encode() + b'", ' + body[1:] + b"\n"


def send(port: int, lines: bytes) -> None:
    """Send a bulk; every line must be recorded."""
    connection = HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request(
        "POST",
        f"/v1/problems/{NAME}/feedback",
        lines,
        {"Content-Type": "application/x-ndjson"},
    )
    said = connection.getresponse().read().splitlines()
    connection.close()
    bad = [one for one in said if json.loads(one)["status"] != 201]
    if bad or len(said) != lines.count(b"\n"):
        raise RuntimeError(f"The service answered {bad[:1]} in {len(said)} lines.")


def fold(report: Report, store: str, events: int) -> None:
    """Fold all of it in fresh processes, and start the service on it."""
    timed = {}
    for name, limit in (("with a snapshot", 3), ("without one", 60)):
        if limit == 60:
            with Ledger.open(store) as ledger, ledger.store.writing() as connection:
                connection.execute(sa.delete(schema.snapshots))
        command = [sys.executable, __file__, store]
        seconds = float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        with service(store) as server:
            timed[name] = (seconds, server.began)
        report.promises.append(
            Promise(
                f"fold of {events:,} rows {name} in {limit} s",
                f"{seconds:.2f} s",
                seconds < limit,
            )
        )
    report.sections.append(
        Section(
            "Folding at start",
            ("", "the fold, s", "`belated serve` from its start until it is ready, s"),
            [(name, number(one), number(other)) for name, (one, other) in timed.items()],
        )
    )


def main(store: str) -> None:
    """Print how long a fold takes."""
    with Ledger.open(store) as ledger:
        [problem] = ledger.problems()
        began = time.perf_counter()
        Follower(ledger, problem).catch_up()
        print(time.perf_counter() - began)


if __name__ == "__main__":
    main(*sys.argv[1:])
