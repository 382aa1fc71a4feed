"""Names of the package that are not public, all in one place.

When a module or a class is renamed, only this file needs a change.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from belated.cli.main import app as cli
from belated.learner.bases import BASES
from belated.ledger import Ledger
from belated.online.host import Host
from belated.papers.howson2021 import grid, measurements
from belated.papers.howson2021.report import PaperReport
from service.site import Site

__all__ = ["BASES", "START", "Clock", "Site", "cli", "site_on", "small_paper", "take_snapshots"]

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
