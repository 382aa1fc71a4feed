"""Measure the service of another checkout beside this one: the rows of `make bench-service`.

    python benchmarks/load_beside.py CHECKOUT [--turns 5] [--seconds 2] [--only requests|bulk]

Both services run at the same time, on ledgers of their own, and are measured in turn, so that other
load affects both alike. The order changes with each turn. Nothing is written to the docs.
"""

import argparse
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from load import CONNECTIONS
from load_client import drive
from load_clinic import (
    BULK_EPISODES,
    OPEN_BATCH_EPISODES,
    bulk_line,
    check_statuses,
    feedback_requests,
    generate_feedback,
    open_requests,
    policy_requests,
    send_bulk,
)
from processes import Server, cpu_seconds, run_postgres, run_service
from report import (
    Report,
    Section,
    Target,
    describe_machine,
    format_number,
    format_ratios,
    print_report,
)

HERE = Path(__file__).parent.parent
MAX_RATE_PER_S = 8000
"""Requests per second for which episodes are opened in advance."""
MIN_RATIO = 0.9
"""Target: least rate, divided by that of the other checkout; below 1 for noise."""
OPENER = """
import json, sys, load_clinic
with load_clinic.Ledger.open(sys.argv[1]) as ledger:
    problem = load_clinic.define(ledger, episodes=1_000_000)
    print(flush=True)
    for line in sys.stdin:
        print(json.dumps(load_clinic.open_episodes(ledger, problem, int(line))), flush=True)
"""
"""Program that defines the problem with the package and load_clinic.py of a checkout, and opens as
many episodes as each line says."""

Samples = dict[str, dict[str, list[float]]]
"""Measurements of each turn, by row and version."""


class Site:
    """Service of one checkout on a new ledger.

    Parameters
    ----------
    server : Server
        The service.
    opener : subprocess.Popen
        Process that opens episodes, see `OPENER`.
    """

    def __init__(self, server: Server, opener: "subprocess.Popen[str]") -> None:
        self.server = server
        self._opener = opener

    def open_episodes(self, count: int) -> list[str]:
        """Open at least `count` episodes and return their ids."""
        assert self._opener.stdin is not None
        assert self._opener.stdout is not None
        whole = -(-count // OPEN_BATCH_EPISODES) * OPEN_BATCH_EPISODES
        self._opener.stdin.write(f"{whole}\n")
        self._opener.stdin.flush()
        ids: list[str] = json.loads(self._opener.stdout.readline())
        return ids


@contextmanager
def run_site(store: str, checkout: Path) -> Iterator[Site]:
    """Run the service of `checkout` on a new ledger at `store` and yield it."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", OPENER, store],
        cwd=checkout / "benchmarks",
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as opener:
        assert opener.stdout is not None
        opener.stdout.readline()  # until the problem is defined
        with run_service(store, checkout / "src") as server:
            yield Site(server, opener)


def main() -> None:
    """Measure both checkouts and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="the other checkout")
    parser.add_argument("--turns", type=int, default=5, help="turns, after one for warm-up")
    parser.add_argument("--seconds", type=float, default=2, help="duration of each measurement")
    parser.add_argument("--only", choices=("requests", "bulk"), help="measure only these rows")
    options = parser.parse_args()
    checkouts = {"now": HERE, "before": options.checkout.resolve()}
    samples: Samples = {}
    with tempfile.TemporaryDirectory(prefix="belated-beside-") as folder:
        if options.only != "bulk":
            measure_requests(samples, checkouts, Path(folder), options.turns, options.seconds)
        if options.only != "requests":
            measure_bulk(samples, checkouts, Path(folder), options.turns)
    print_report(summarize(samples), describe_machine())


def measure_requests(
    samples: Samples, checkouts: dict[str, Path], folder: Path, turns: int, seconds: float
) -> None:
    """Add the rates of policy reads, durable feedback and openings.

    A rate per second of CPU time of the service is affected less by other load.

    Parameters
    ----------
    samples : Samples
        Receives the rates.
    checkouts : dict[str, Path]
        Checkouts by version.
    folder : Path
        Folder for the ledgers.
    turns : int
        Number of turns, after one that is not recorded.
    seconds : float
        Duration of each measurement.
    """
    with ExitStack() as stack:
        tasks: list[tuple[str, str, Server, Iterator[bytes]]] = []
        for version, checkout in checkouts.items():
            address = stack.enter_context(run_postgres(folder / f"postgres-{version}"))
            sqlite = stack.enter_context(
                run_site(f"sqlite:///{folder / version}-load.db", checkout)
            )
            postgres = stack.enter_context(run_site(address, checkout))
            count = round(MAX_RATE_PER_S * seconds * (turns + 1))
            sent = feedback_requests(sqlite.open_episodes(count))
            sent_postgres = feedback_requests(postgres.open_episodes(count))
            tasks += [
                ("read the policy", version, sqlite.server, policy_requests()),
                ("send feedback, durably", version, sqlite.server, sent),
                ("open an episode, durably", version, sqlite.server, open_requests()),
                ("send feedback to PostgreSQL", version, postgres.server, sent_postgres),
            ]
        tasks.sort(key=lambda task: task[0])
        for turn in range(turns + 1):
            for _, pair in itertools.groupby(tasks, key=lambda task: task[0]):
                for name, version, server, requests in list(pair)[:: 1 if turn % 2 else -1]:
                    before_s = cpu_seconds(server.pid)
                    load = drive(server.port, requests, connections=CONNECTIONS, seconds=seconds)
                    used_s = cpu_seconds(server.pid) - before_s
                    check_statuses(name, load)
                    if turn:  # the first turn is a warm-up
                        add(samples, f"{name}, per s", version, load.rate)
                        rate = load.statuses.total() / used_s
                        add(samples, f"{name}, per s of CPU time", version, rate)


def measure_bulk(samples: Samples, checkouts: dict[str, Path], folder: Path, turns: int) -> None:
    """Add the rate and memory of bulk requests, and the speed of a start with and without snapshot.

    Parameters
    ----------
    samples : Samples
        Receives the measurements. All are such that more is better.
    checkouts : dict[str, Path]
        Checkouts by version.
    folder : Path
        Folder for the ledgers.
    turns : int
        Number of turns, of ten bulk requests each.
    """
    files = {version: folder / f"{version}-bulk.db" for version in checkouts}
    with ExitStack() as stack:
        sites = {
            version: stack.enter_context(run_site(f"sqlite:///{files[version]}", checkout))
            for version, checkout in checkouts.items()
        }
        for turn in range(turns + 1):
            for version in list(sites)[:: 1 if turn % 2 else -1]:
                site, took_s = sites[version], 0.0
                for part in range(10):
                    ids = site.open_episodes(BULK_EPISODES)
                    feedback = generate_feedback(ids, seed=10 * turn + part)
                    body = b"".join(bulk_line(*each) for each in feedback)
                    start = time.perf_counter()
                    send_bulk(site.server.port, body)
                    took_s += time.perf_counter() - start
                if turn:
                    rate = 10 * BULK_EPISODES / took_s
                    add(samples, "bulk feedback, episodes per s", version, rate)
        for version, site in sites.items():
            memory = "memory after bulk feedback, services per GB"
            add(samples, memory, version, 1000 / site.server.memory_mb)
    for turn in range(turns):
        for has_snapshot in (True, False):
            for version in list(files)[:: 1 if turn % 2 else -1]:
                if not has_snapshot:
                    with sqlite3.connect(files[version]) as connection:
                        connection.execute("DELETE FROM snapshots")
                    connection.close()
                with run_service(f"sqlite:///{files[version]}", checkouts[version] / "src") as it:
                    name = f"start {'with' if has_snapshot else 'without'} a snapshot, per minute"
                    add(samples, name, version, 60 / it.startup_s)


def add(samples: Samples, name: str, version: str, value: float) -> None:
    """Add `value` to the measurements of the row `name` and of `version` in `samples`."""
    samples.setdefault(name, {}).setdefault(version, []).append(value)


def summarize(samples: Samples) -> Report:
    """Return the table of `samples`, with ratios within each turn, and the targets."""
    report = Report()
    rows = []
    for name, values in samples.items():
        ratios = [a / b for a, b in zip(values["now"], values["before"], strict=True)]
        medians = [format_number(median(values[version])) for version in ("now", "before")]
        rows.append((name, *medians, format_ratios(ratios)))
        report.targets.append(
            Target(
                f"{name}: not less than before",
                f"{median(ratios):.2f} ×",
                median(ratios) >= MIN_RATIO,
            )
        )
    columns = ("", "now", "before", "now / before")
    report.sections.append(Section("Two checkouts, more is better", columns, rows))
    return report


if __name__ == "__main__":
    main()
