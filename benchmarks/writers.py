"""Measure durable feedback on PostgreSQL with several processes of the service.

    python benchmarks/writers.py [--before FOLDER] [--turns 5] [--seconds 2] [--connections 32]

Each turn measures all numbers of processes and problems one after another, so that other load
affects all alike. With --before, the folder `src` of another checkout, its service is measured in
the same turns on a database of its own. The CPU time of all processes of the service, of the
database and of the client shows how many cores are busy.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import psycopg
import sqlalchemy as sa

from belated.ledger import Ledger, Recorded
from belated.ledger.events import Opened
from load import check_statuses
from load_client import drive, request
from load_clinic import OPEN_BATCH_EPISODES, define, generate_feedback
from load_servers import Server, run_postgres, run_service
from measure import cpu_seconds, parent
from report import Report, Section, Target, format_number, format_ratios, print_report
from run import describe_machine

PROCESSES = (1, 2, 3, 4)
PROBLEMS = (1, 50)
MAX_RATE = 4000
"""Upper limit of the requests per second, for which episodes are opened in advance."""
MIN_RATIO = 0.9
"""Target: least rate with one more process, divided by the rate without it; below 1 for noise."""


class Measured(NamedTuple):
    """Result of one measurement."""

    rate: float
    """Requests per second, each answered after its feedback was on disk."""
    batch: float
    """Requests per transaction."""
    cpu_us: tuple[float, float, float]
    """CPU time per request of all processes of the service, the database and the client, in µs."""


Results = dict[tuple[str, int, int], list[Measured]]
"""Results of each turn, by version, number of problems and number of processes."""


class Site:
    """Several processes of one version of the service on one ledger with `max(PROBLEMS)` problems.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    problems : sequence of int
        Ids of its problems.
    servers : sequence of Server
        The processes.
    """

    def __init__(self, ledger: Ledger, problems: Sequence[int], servers: Sequence[Server]) -> None:
        self._ledger = ledger
        self._problems = problems
        self._servers = servers

    def measure(
        self, *, processes: int, problems: int, connections: int, seconds: float
    ) -> Measured:
        """Measure feedback to the first `processes` for the first `problems`.

        Parameters
        ----------
        processes, problems : int
            Number of processes and problems that get requests.
        connections : int
            Number of connections, which the processes share equally.
        seconds : float
            Duration.

        Returns
        -------
        Measured
            Rate, requests per transaction, and CPU time.
        """
        episodes = self._open(problems, round(MAX_RATE * seconds))
        requests = [
            request("POST", f"/v1/episodes/{id}/feedback", body)
            for id, body in generate_feedback(episodes, 0)
        ]
        ports = [server.port for server in self._servers[:processes]]
        after = self._ledger.last
        before = self._cpu_seconds()
        load = drive(ports, iter(requests), connections=connections, seconds=seconds)
        used = np.subtract(self._cpu_seconds(), before)
        check_statuses("feedback", load)
        count = load.statuses.total()
        service, database, client = (used / count * 1e6).tolist()
        return Measured(load.rate, count / self._transactions(after), (service, database, client))

    def _cpu_seconds(self) -> tuple[float, float, float]:
        """Return the CPU time of the service, the database and this process, in seconds."""
        services = sum(cpu_seconds(server.pid) for server in self._servers)
        with self._ledger.store.reading() as connection:
            own = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        database = cpu_seconds(parent(own), children=True)
        return services, database, time.process_time()

    def _transactions(self, after: int) -> int:
        """Return the number of transactions with feedback after the event with seq `after`."""
        query = "SELECT count(DISTINCT at) FROM events WHERE kind = 'feedback' AND seq > :after"
        with self._ledger.store.reading() as connection:
            return int(connection.execute(sa.text(query), {"after": after}).scalar_one())

    def _open(self, problems: int, count: int) -> list[str]:
        """Open about `count` episodes, in turn of the first `problems`; return shuffled ids."""
        turn = self._problems[:problems]
        events = [Opened(turn[i % problems], 1) for i in range(OPEN_BATCH_EPISODES)]
        ids = []
        for _ in range(max(1, count // OPEN_BATCH_EPISODES)):
            for outcome in self._ledger.append(events):
                assert isinstance(outcome, Recorded)
                assert outcome.episode is not None
                ids.append(outcome.episode.id)
        return [ids[i] for i in np.random.default_rng(0).permutation(len(ids))]


@contextmanager
def run_site(address: str, name: str, source: Path | None) -> Iterator[Site]:
    """Run `max(PROCESSES)` processes of the service on a new database and yield them.

    Parameters
    ----------
    address : str
        Address of the PostgreSQL server.
    name : str
        Name of the new database.
    source : Path, optional
        Folder with another version of the package; None for this one.

    Yields
    ------
    Site
        The processes.
    """
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    store = address.replace("/postgres?", f"/{name}?")
    with ExitStack() as stack:
        # the service makes the tables, since another version may have others
        servers = [stack.enter_context(run_service(store, source)) for _ in range(max(PROCESSES))]
        ledger = stack.enter_context(Ledger.open(store))
        problems = [
            define(ledger, episodes=1_000_000, name=f"clinic-{i}") for i in range(max(PROBLEMS))
        ]
        while not all(ledger.policies.newest(problem) for problem in problems):
            time.sleep(0.1)  # until the first versions are published
        yield Site(ledger, problems, servers)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, help="folder src of the version to compare with")
    parser.add_argument("--turns", type=int, default=5, help="turns, after one for warm-up")
    parser.add_argument("--seconds", type=float, default=2, help="duration of each measurement")
    parser.add_argument("--connections", type=int, default=32, help="connections of the client")
    options = parser.parse_args()
    versions = {"now": None} if options.before is None else {"before": options.before, "now": None}
    results: Results = {
        (version, problems, processes): []
        for problems in PROBLEMS
        for processes in PROCESSES
        for version in versions
    }
    with (
        tempfile.TemporaryDirectory(prefix="belated-writers-") as folder,
        run_postgres(Path(folder) / "postgres") as address,
        ExitStack() as stack,
    ):
        sites = {
            version: stack.enter_context(run_site(address, version, source))
            for version, source in versions.items()
        }
        for turn in range(options.turns + 1):
            print(f"turn {turn} ...", file=sys.stderr)
            for (version, problems, processes), measured in results.items():
                result = sites[version].measure(
                    processes=processes,
                    problems=problems,
                    connections=options.connections,
                    seconds=options.seconds,
                )
                if turn:  # the first turn is a warm-up
                    measured.append(result)
    print_report(summarize(results), f"{options.connections} connections. {describe_machine()}")


def summarize(results: Results) -> Report:
    """Return the table of `results`, with ratios within each turn, and the targets."""
    report = Report()
    rows = []
    rates = {key: [each.rate for each in measured] for key, measured in results.items()}
    for (version, problems, processes), measured in results.items():
        own = rates[version, problems, processes]
        fewer = rates.get((version, problems, processes - 1))
        before = rates.get(("before", problems, processes)) if version == "now" else None
        ratios = divide(own, fewer)
        cpu_us = np.median([each.cpu_us for each in measured], axis=0)
        cores = median(each.rate * sum(each.cpu_us) / 1e6 for each in measured)
        rows.append(
            (
                version,
                str(problems),
                str(processes),
                format_number(median(own)),
                format_ratios(ratios) if ratios else "",
                format_ratios(divide(own, before)) if before else "",
                format_number(median(each.batch for each in measured)),
                " + ".join(format_number(us) for us in cpu_us),
                format_number(cores),
            )
        )
        if ratios and version == "now":
            text = f"{problems} problems: {processes} processes not slower than {processes - 1}"
            report.targets.append(
                Target(text, f"{median(ratios):.2f} ×", median(ratios) >= MIN_RATIO)
            )
    columns = ("", "problems", "processes", "per second", "of one process fewer", "of before")
    columns += ("per transaction", "CPU µs per request: service + database + client", "cores")
    report.sections.append(Section("Durable feedback on PostgreSQL", columns, rows))
    return report


def divide(rates: Sequence[float], by: Sequence[float] | None) -> list[float]:
    """Return the ratios of `rates` to `by` in each turn; an empty list if `by` is None."""
    return [a / b for a, b in zip(rates, by or islice(rates, 0), strict=by is not None)]


if __name__ == "__main__":
    main()
