"""Names of the package that are not public, all in one place.

When a module or a class is renamed, only this file needs a change.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from belated.cli.main import app as cli
from belated.learner.bases import BASES
from belated.ledger import Ledger, Problem
from belated.ledger.clients import StoredResponse
from belated.online.host import Host
from belated.online.learner_cache import Follower
from belated.online.status import ProblemStatus
from belated.papers.howson2021 import grid, measurements
from belated.papers.howson2021.report import PaperReport
from service.site import Site

__all__ = [
    "BASES",
    "START",
    "Clock",
    "Site",
    "StoredResponse",
    "cli",
    "learnt_from",
    "plan_once",
    "site_on",
    "small_paper",
    "take_snapshots",
]

START = 1_794_750_602_000_000
"""Microseconds since 1970 at which every recorded history begins."""


class Clock:
    """A clock that is set by hand, in seconds after START."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def __call__(self) -> int:
        """Return microseconds since 1970."""
        return START + round(self.seconds * 1_000_000)


@contextmanager
def site_on(file: Path, clock: Clock) -> Iterator[Site]:
    """Open a service on a ledger in a SQLite file; `site.host.step()` folds and publishes."""
    with Ledger.open(f"sqlite:///{file}", clock=clock) as ledger, Site(ledger) as site:
        yield site


def take_snapshots(file: Path, clock: Clock) -> None:
    """Store a snapshot of each problem of a ledger."""
    with Ledger.open(f"sqlite:///{file}", clock=clock) as ledger:
        host = Host(ledger, snapshot_every=1)
        host.step()
        host.stop()


def plan_once(ledger: Ledger) -> None:
    """Fold all new events of a ledger, and publish the policies that have changed."""
    host = Host(ledger)
    host.step()
    host.stop()


def learnt_from(ledger: Ledger, problem: Problem) -> list[Any]:
    """Return all that can be asked of the learner of a problem, and the history of the problem."""
    fold = Follower(ledger, problem).catch_up()
    learner, problem_status = fold.learner, ProblemStatus.of(fold)
    status, history = problem_status.learner, problem_status.history
    return [
        fold.policy.actions,
        fold.policy.probabilities(problem.spec.shape.actions),
        learner.value_table,
        [learner.observed, learner.missing, learner.updates, learner.epochs, problem_status.lost],
        [float(learner.alpha), problem_status.waiting, fold.tick, fold.due_at],
        [status.begun, status.observed, status.missing, status.exact, status.in_flight],
        [float(status.mean_delay), float(status.psi)],
        [
            problem_status.opened_at,
            problem_status.recorded_at,
            problem_status.lost_opened_at,
        ],
        [[dict(one.columns), one.starts] for one in (history.times, history.arrivals)],
        [dict(history.versions.columns), history.newest, history.delays.durations()],
    ]


@contextmanager
def small_paper() -> Iterator[None]:
    """Reduce the reproduction of the paper to one chain, a few short runs and no figures."""
    preset = grid.Preset(seeds=2, episodes={5: 60})
    with (
        mock.patch.object(grid, "CHAINS", (5,)),
        mock.patch.object(grid, "REGRET_FIGURE_MEANS", (300,)),
        mock.patch.dict(grid.PRESETS, quick=preset),
        mock.patch.object(measurements, "EXPLORATION_CHAINS", (3,)),
        mock.patch.object(measurements, "EXPLORATION_SEEDS", 2),
        mock.patch.object(PaperReport, "draw"),
        mock.patch.object(PaperReport, "write"),
    ):
        yield
