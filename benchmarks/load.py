"""`make bench-service`: the service under load beside an empty route; writes docs/service.md."""

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
from load_clinic import NAME, define, open_episodes, played
from load_servers import Server, empty, postgres, service
from run import machine
from table import Promise, Report, Section, markdown, number, show, spread, write

PAGE = Path(__file__).parent.parent / "docs" / "service.md"
CONNECTIONS = 32
NEAR = 1000
"""Episodes whose feedback comes in any order."""


def main() -> None:
    """Measure; only a whole run changes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small and rough; writes nothing")
    quick = parser.parse_args().quick
    where = ("Quick and rough. " if quick else "") + machine()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="belated-load-") as folder:
        print("requests ...", file=sys.stderr)
        measure(report, folder=Path(folder), turns=3 if quick else 7, seconds=1 if quick else 3)
        print("a million rows ...", file=sys.stderr)
        load_million.measure(report, folder=Path(folder), quick=quick)
    show(report, where)
    if not quick:
        write(PAGE, markdown(report, where))


def measure(report: Report, *, folder: Path, turns: int, seconds: float) -> None:
    """An empty route, policy reads, durable feedback and openings take turns."""
    episodes = 1000 * round(6 * turns * seconds + 6)
    with (
        empty() as nothing,
        opened(f"sqlite:///{folder / 'load.db'}", episodes) as (server, ids),
        postgres(folder / "postgres") as elsewhere,
        opened(elsewhere, episodes) as (other, others),
    ):
        asked: dict[str, tuple[Server, Iterator[bytes]]] = {
            "an empty route": (nothing, itertools.repeat(request("GET", "/"))),
            "read the policy": (server, reads()),
            "send feedback, durably": (server, feedback(ids)),
            "open an episode, durably": (server, openings()),
            "send feedback to PostgreSQL": (other, feedback(others)),
        }
        loads: dict[str, list[Load]] = {name: [] for name in asked}
        for turn in range(turns + 1):
            for name, (to, requests) in asked.items():
                load = drive(to.port, requests, connections=CONNECTIONS, seconds=seconds)
                check(name, load)
                if turn:  # the first one warms up
                    loads[name].append(load)
    conclude(report, loads)


@contextmanager
def opened(store: str, episodes: int) -> Iterator[tuple[Server, list[str]]]:
    """The service on a new ledger, and the ids of so many episodes that are out."""
    with Ledger.open(store) as ledger:
        problem = define(ledger, episodes=1_000_000)
        with service(store) as server:
            yield server, open_episodes(ledger, problem, episodes)


def conclude(report: Report, loads: dict[str, list[Load]]) -> None:
    """Rates, and their ratios to the empty route within each turn."""
    rows = []
    nothing = loads["an empty route"]
    ratios = {}
    for name, turns in loads.items():
        ratios[name] = [one.rate / of.rate for one, of in zip(turns, nothing, strict=True)]
        middle = sorted(turns, key=lambda load: load.rate)[len(turns) // 2]
        rows.append(
            (
                name,
                f"{middle.rate:,.0f}",
                spread(ratios[name]),
                number(1e3 * middle.median),
                number(1e3 * middle.slow),
            )
        )
    report.sections.append(
        Section(
            f"Requests, {CONNECTIONS} connections",
            ("", "a second", "of the empty route", "median, ms", "slowest in a hundred, ms"),
            rows,
            "Server and client share the machine, and so does PostgreSQL. But for the last row the "
            "ledger is a SQLite file. The host folds and plans meanwhile.",
        )
    )
    for name, least in (("read the policy", 0.6), ("send feedback, durably", 0.3)):
        ratio = sorted(ratios[name])[len(nothing) // 2]
        text = f"{name}: {least} × an empty route"
        report.promises.append(Promise(text, f"{ratio:.2f} ×", ratio >= least))


def reads() -> Iterator[bytes]:
    """The policy, time and again."""
    return itertools.repeat(request("GET", f"/v1/problems/{NAME}/policy"))


def feedback(ids: list[str]) -> Iterator[bytes]:
    """What came back of each episode, once; those opened about the same time come in any order."""
    rng = np.random.default_rng(0)
    late = [ids[first + i] for first in range(0, len(ids), NEAR) for i in rng.permutation(NEAR)]
    made = [request("POST", f"/v1/episodes/{id}/feedback", body) for id, body in played(late, 0)]
    return iter(made)


def openings() -> Iterator[bytes]:
    """An episode, time and again."""
    return itertools.repeat(request("POST", f"/v1/problems/{NAME}/episodes", b"{}"))


def check(name: str, load: Load) -> None:
    """Refuse to measure answers that are none."""
    bad = {status: count for status, count in load.statuses.items() if status not in (200, 201)}
    if bad or not load.statuses:
        raise RuntimeError(f"To {name!r} the service answered {bad or 'nothing'}.")


if __name__ == "__main__":
    main()
