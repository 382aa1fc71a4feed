"""`make bench-service`: measure the service under load, and write docs/service.md.

Rates are compared with those of an empty route of the same HTTP server.
"""

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import load_million
from belated.ledger import Ledger
from load_client import Load, drive, request
from load_clinic import NAME, define, generate_feedback, open_episodes
from load_servers import Server, run_empty, run_postgres, run_service
from report import (
    Report,
    Section,
    Target,
    format_markdown,
    format_number,
    format_ratios,
    print_report,
    write_page,
)
from run import describe_machine

PAGE = Path(__file__).parent.parent / "docs" / "service.md"
CONNECTIONS = 32
SHUFFLED_EPISODES = 1000
"""Number of consecutive episodes whose feedback arrives in random order."""


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
        load_million.measure_bulk(report, folder=Path(folder), quick=quick)
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
        median = sorted(turns, key=lambda load: load.rate)[len(turns) // 2]
        rows.append(
            (
                name,
                f"{median.rate:,.0f}",
                format_ratios(ratios[name]),
                format_number(1e3 * median.median_s),
                format_number(1e3 * median.p99_s),
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


def policy_requests() -> Iterator[bytes]:
    """Return endless requests for the policy."""
    return itertools.repeat(request("GET", f"/v1/problems/{NAME}/policy"))


def feedback_requests(ids: list[str]) -> Iterator[bytes]:
    """Return one feedback request for each of the episodes `ids`, shuffled in blocks."""
    rng = np.random.default_rng(0)
    size = SHUFFLED_EPISODES
    shuffled = [ids[first + i] for first in range(0, len(ids), size) for i in rng.permutation(size)]
    requests = [
        request("POST", f"/v1/episodes/{id}/feedback", body)
        for id, body in generate_feedback(shuffled, 0)
    ]
    return iter(requests)


def open_requests() -> Iterator[bytes]:
    """Return endless requests to open an episode."""
    return itertools.repeat(request("POST", f"/v1/problems/{NAME}/episodes", b"{}"))


def check_statuses(name: str, load: Load) -> None:
    """Raise RuntimeError if `load`, of the task `name`, has failed requests or no responses."""
    failed = {status: count for status, count in load.statuses.items() if status not in (200, 201)}
    if failed or not load.statuses:
        raise RuntimeError(
            f"{name!r} must be answered with status 200 or 201 only, got {failed or 'no response'}."
        )


if __name__ == "__main__":
    main()
