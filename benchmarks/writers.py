"""Measure durable feedback on PostgreSQL with several processes of the service.

    python benchmarks/writers.py [--other NAME=FOLDER ...] [--processes 1 2 3 4] [--problems 1 50]
        [--connections 32 ...] [--clients 1] [--turns 5] [--seconds 2] [--json FILE]

Each turn measures all numbers of processes, problems and connections one after another, so that
other load affects all alike. With --other, the folder `src` of another checkout, its service is
measured in the same turns on a database of its own. The CPU time of all processes of the service,
of the database and of the client shows how many cores are busy. On a machine with many cores, one
process of the client may be too slow for many processes of the service: use --clients.
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from belated.ledger import Ledger, Recorded
from belated.ledger.kinds import Opened
from load_client import Load, drive, request
from load_clinic import OPEN_BATCH_EPISODES, check_statuses, define, generate_feedback
from processes import Server, cpu_seconds, parent, run_postgres, run_service
from report import (
    Report,
    Section,
    Target,
    describe_machine,
    format_number,
    format_ratios,
    print_report,
)

FIRST_RATE = 10_000
"""Requests per second for which episodes are opened before the first turn."""
MIN_RATIO = 0.9
"""Target: least rate with more processes, divided by the rate with fewer; below 1 for noise."""


class Measured(NamedTuple):
    """Result of one measurement."""

    rate: float
    """Requests per second, each answered after its feedback was on disk."""
    batch: float
    """Requests per transaction."""
    cpu_us: tuple[float, float, float]
    """CPU time per request of all processes of the service, the database and the client, in µs."""
    busiest: float
    """CPU time of the busiest process of the service, divided by the duration."""
    p99_ms: float
    """99th percentile of the latency in milliseconds; of the client process with the largest."""


class Cell(NamedTuple):
    """Conditions of a measurement, which is made once in each turn."""

    version: str
    """Name of the version of the service."""
    connections: int
    """Number of connections, which the processes share equally."""
    problems: int
    """Number of problems that get feedback."""
    processes: int
    """Number of processes that get requests."""


Results = dict[Cell, list[Measured]]
"""Results of each turn."""


class Site:
    """Several processes of one version of the service on one ledger.

    Parameters
    ----------
    store : str
        Address of the ledger.
    ledger : Ledger
        The ledger.
    problems : sequence of int
        Ids of its problems.
    servers : sequence of Server
        The processes.
    clients : ProcessPoolExecutor
        Processes of the client.
    """

    def __init__(
        self,
        store: str,
        ledger: Ledger,
        problems: Sequence[int],
        servers: Sequence[Server],
        clients: ProcessPoolExecutor,
    ) -> None:
        self.store = store
        self.problems = problems
        self._ledger = ledger
        self._servers = servers
        self._clients = clients
        self._rate: float = FIRST_RATE
        self.pending: dict[int, list[str]] = {}
        """Map from a number of problems to the ids of their episodes without feedback."""

    def measure(self, cell: Cell, *, clients: int, seconds: float) -> Measured:
        """Measure feedback to the first processes for the first problems.

        Parameters
        ----------
        cell : Cell
            Number of processes, problems and connections.
        clients : int
            Number of processes of the client that use the connections.
        seconds : float
            Duration.

        Returns
        -------
        Measured
            Rate, requests per transaction, CPU time and latency.
        """
        _, connections, problems, processes = cell
        needed = round(1.5 * seconds * self._rate)
        pending = self.pending.setdefault(problems, [])
        if len(pending) < needed:
            wanted = self.problems[:problems], needed - len(pending)
            pending += self._clients.submit(open_episodes, self.store, *wanted).result()
        ids, rest = pending[:needed], pending[needed:]
        requests = [
            request("POST", f"/v1/episodes/{id}/feedback", body)
            for id, body in generate_feedback(ids, 0)
        ]
        ports = [server.port for server in self._servers[:processes]]
        after = self._ledger.last
        before = self._cpu_seconds()
        started = time.perf_counter()
        running = [
            self._clients.submit(
                send_share,
                ports[i % processes :] + ports[: i % processes],
                requests[i::clients],
                connections // clients + (i < connections % clients),
                seconds,
            )
            for i in range(clients)
        ]
        results = [each.result() for each in running]
        elapsed = time.perf_counter() - started
        used = np.subtract(self._cpu_seconds(), before)
        left = []
        for i, (load, _) in enumerate(results):
            check_statuses("feedback", load)
            left += ids[i::clients][load.statuses.total() :]
        self.pending[problems] = left + rest
        count = sum(load.statuses.total() for load, _ in results)
        service, database = used[:-1].sum(), used[-1]
        client = sum(cpu_s for _, cpu_s in results)
        rate = sum(load.rate for load, _ in results)
        self._rate = max(self._rate, rate)
        return Measured(
            rate,
            count / self._transactions(after),
            (1e6 * service / count, 1e6 * database / count, 1e6 * client / count),
            float(used[:-1].max() / elapsed),
            max(1e3 * load.p99_s for load, _ in results),
        )

    def _cpu_seconds(self) -> list[float]:
        """Return the CPU time of each process of the service and of the database, in seconds."""
        with self._ledger.store.reading() as connection:
            own = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        database = cpu_seconds(parent(own), children=True)
        return [*(cpu_seconds(server.pid) for server in self._servers), database]

    def _transactions(self, after: int) -> int:
        """Return the number of transactions with feedback after the event with seq `after`."""
        query = "SELECT count(DISTINCT at) FROM events WHERE kind = 'feedback' AND seq > :after"
        with self._ledger.store.reading() as connection:
            return int(connection.execute(sa.text(query), {"after": after}).scalar_one())


def send_share(
    ports: Sequence[int], requests: Sequence[bytes], connections: int, seconds: float
) -> tuple[Load, float]:
    """Send requests from this process of the client.

    Parameters
    ----------
    ports : sequence of int
        Ports of the processes of the service.
    requests : sequence of bytes
        The requests.
    connections : int
        Number of connections.
    seconds : float
        Duration.

    Returns
    -------
    tuple[Load, float]
        Rate and latency, and the CPU time that it took in seconds.
    """
    start = time.process_time()
    load = drive(ports, iter(requests), connections=connections, seconds=seconds)
    return load, time.process_time() - start


def open_episodes(store: str, problems: Sequence[int], count: int) -> list[str]:
    """Open episodes in turn of several problems.

    Parameters
    ----------
    store : str
        Address of the ledger.
    problems : sequence of int
        Ids of the problems.
    count : int
        Number of episodes, which is rounded up to whole transactions.

    Returns
    -------
    list[str]
        Ids of the episodes, shuffled.
    """
    events = [Opened(problems[i % len(problems)], 1) for i in range(OPEN_BATCH_EPISODES)]
    ids = []
    with Ledger.open(store) as ledger:
        for _ in range(0, count, OPEN_BATCH_EPISODES):
            for outcome in ledger.append(events):
                assert isinstance(outcome, Recorded)
                assert outcome.episode is not None
                ids.append(outcome.episode.id)
    return [ids[i] for i in np.random.default_rng(0).permutation(len(ids))]


@contextmanager
def run_site(
    store: str,
    source: Path | None,
    *,
    processes: int,
    problems: int,
    clients: ProcessPoolExecutor,
) -> Iterator[Site]:
    """Run several processes of the service on a new database and yield them.

    Parameters
    ----------
    store : str
        Address of the database.
    source : Path, optional
        Folder with another version of the package; None for this one.
    processes, problems : int
        Number of processes and problems.
    clients : ProcessPoolExecutor
        Processes of the client.

    Yields
    ------
    Site
        The processes.
    """
    with ExitStack() as stack, ThreadPoolExecutor() as starters:
        # the first process makes the tables, since another version may have others
        servers = [stack.enter_context(run_service(store, source))]
        more = [run_service(store, source) for _ in range(1, processes)]
        servers += starters.map(stack.enter_context, more)
        ledger = stack.enter_context(Ledger.open(store))
        ids = [define(ledger, episodes=1_000_000, name=f"clinic-{i}") for i in range(problems)]
        while not all(ledger.policies.newest(problem) for problem in ids):
            time.sleep(0.1)  # until the first versions are published
        yield Site(store, ledger, ids, servers, clients)


def fill(
    sites: dict[str, Site], results: Results, seconds: float, pool: ProcessPoolExecutor
) -> None:
    """Open as many episodes as the next turn needs, by all processes of the client at once.

    Parameters
    ----------
    sites : dict[str, Site]
        Processes of each version.
    results : Results
        Results so far, which show how many are needed.
    seconds : float
        Duration of each measurement of the turn.
    pool : ProcessPoolExecutor
        Processes of the client.
    """
    needed: dict[tuple[str, int], float] = {}
    for cell, measured in results.items():
        rate = 1.3 * max(each.rate for each in measured) if measured else FIRST_RATE
        site = cell.version, cell.problems
        needed[site] = needed.get(site, 0) + rate * seconds
    opening = {}
    for (version, problems), count in needed.items():
        own = sites[version]
        missing = round(count) - len(own.pending.setdefault(problems, []))
        if missing > 0:
            ids = own.problems[:problems]
            opening[version, problems] = pool.submit(open_episodes, own.store, ids, missing)
    for (version, problems), opened in opening.items():
        sites[version].pending[problems] += opened.result()


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--other", action="append", default=[], help="name=folder src of a version to compare with"
    )
    parser.add_argument("--processes", type=int, nargs="+", default=(1, 2, 3, 4))
    parser.add_argument("--problems", type=int, nargs="+", default=(1, 50))
    parser.add_argument("--turns", type=int, default=5, help="turns, after one for warm-up")
    parser.add_argument("--seconds", type=float, default=2, help="duration of each measurement")
    parser.add_argument("--connections", type=int, nargs="+", default=(32,), help="of the client")
    parser.add_argument("--clients", type=int, default=1, help="processes of the client")
    parser.add_argument("--until", type=float, default=np.inf, help="begin no turn after so many s")
    parser.add_argument("--json", type=Path, help="file for the results of all turns")
    options = parser.parse_args()
    started = time.monotonic()
    versions: dict[str, Path | None] = {"now": None}
    versions |= {
        name: Path(folder) for name, _, folder in (o.partition("=") for o in options.other)
    }
    results: Results = {
        Cell(version, connections, problems, processes): []
        for connections in options.connections
        for problems in options.problems
        for processes in options.processes
        for version in versions
    }
    with (
        tempfile.TemporaryDirectory(prefix="belated-writers-") as folder,
        ProcessPoolExecutor(
            options.clients, mp_context=multiprocessing.get_context("spawn")
        ) as pool,
        ExitStack() as stack,
    ):
        running = [
            run_site(
                stack.enter_context(run_postgres(Path(folder) / version)),
                source,
                processes=max(options.processes),
                problems=max(options.problems),
                clients=pool,
            )
            for version, source in versions.items()
        ]
        with ThreadPoolExecutor() as starters:
            started_sites = starters.map(stack.enter_context, running)
            sites = dict(zip(versions, started_sites, strict=True))
        for turn in range(options.turns + 1):
            if time.monotonic() - started > options.until:
                break
            print(f"turn {turn} after {time.monotonic() - started:.0f} s ...", file=sys.stderr)
            seconds = options.seconds if turn else 0.5  # the first turn is a warm-up
            fill(sites, results, seconds, pool)
            for cell, measured in results.items():
                if turn == 1:
                    measured.clear()
                result = sites[cell.version].measure(cell, clients=options.clients, seconds=seconds)
                measured.append(result)
                if options.json:
                    rows = [[*key, *each] for key, each in results.items()]
                    options.json.write_text(json.dumps(rows))
        heading = f"{options.clients} processes of the client. "
        print_report(summarize(results), heading + describe_machine())


def summarize(results: Results) -> Report:
    """Return the table of `results`, with ratios within each turn, and the targets."""
    report = Report()
    rows = []
    rates = {key: [each.rate for each in measured] for key, measured in results.items()}
    steps = sorted({cell.processes for cell in results})
    for cell, measured in sorted(results.items()):
        version, connections, problems, processes = cell
        fewer = max((each for each in steps if each < processes), default=0)
        own = rates[cell]
        ratios = divide(own, rates.get(cell._replace(processes=fewer)))
        others = divide(own, rates[cell._replace(version="now")]) if version != "now" else []
        cpu_us = np.median([each.cpu_us for each in measured], axis=0)
        cores = median(each.rate * sum(each.cpu_us) / 1e6 for each in measured)
        rows.append(
            (
                version,
                str(connections),
                str(problems),
                str(processes),
                format_number(median(own)),
                format_ratios(ratios) if ratios else "",
                format_ratios(others) if others else "",
                format_number(median(each.batch for each in measured)),
                " + ".join(format_number(us) for us in cpu_us),
                format_number(cores),
                format_number(median(each.busiest for each in measured)),
                format_number(median(each.p99_ms for each in measured)),
            )
        )
        if ratios:
            text = f"{version}, {connections} connections, {problems} problems: "
            text += f"{processes} processes not slower than {fewer}"
            report.targets.append(
                Target(text, f"{median(ratios):.2f} ×", median(ratios) >= MIN_RATIO)
            )
    columns = (
        "",
        "connections",
        "problems",
        "processes",
        "per second",
        "of fewer processes",
        "of now",
    )
    columns += ("per transaction", "CPU µs per request: service + database + client", "cores")
    columns += ("cores of the busiest process", "99th percentile, ms")
    report.sections.append(Section("Durable feedback on PostgreSQL", columns, rows))
    return report


def divide(rates: Sequence[float], by: Sequence[float] | None) -> list[float]:
    """Return the ratios of `rates` to `by` in each turn; an empty list if `by` is None."""
    return [a / b for a, b in zip(rates, by, strict=True)] if by else []


if __name__ == "__main__":
    main()
