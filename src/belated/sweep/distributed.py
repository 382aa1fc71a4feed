"""Computation of cells in other processes or on other machines, with Dask.

If a worker dies, its unfinished cells are computed again by other workers. The calling process
stores the results.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from belated.extras import missing_extra
from belated.sweep.cell import Cell
from belated.sweep.sweep import Pool, TimedRuns, run_cell

MAX_RETRIES = 5
"""Maximum number of retries of a cell whose worker died."""

CONNECT_TIMEOUT = "10s"
"""Maximum time to connect to a scheduler, in Dask's notation."""


class DaskPool:
    """Pool that computes cells on the workers of a Dask client."""

    def __init__(self, client: Any) -> None:
        self.executor = client.get_executor(retries=MAX_RETRIES, pure=False)

    def submit(self, cell: Cell) -> "Future[TimedRuns]":
        """Start to compute `cell` on a worker; return the future of its runs and their duration."""
        future: Future[TimedRuns] = self.executor.submit(run_cell, cell)
        return future

    def running(self) -> dict[str, int]:
        """Return nothing, because workers do not report their progress."""
        return {}


@contextmanager
def dask_pool(scheduler: str) -> Iterator[Pool]:
    """Yield a pool of Dask workers, which is closed at the end of the block.

    `scheduler` is "local:N" for N processes on this machine, or the network address of a Dask
    scheduler. Raise ValueError if `scheduler` is invalid, if the scheduler cannot be reached, or if
    Dask is not installed.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ValueError(missing_extra(f"scheduler {scheduler!r}", "Dask", "distributed")) from None
    kind, _, count = scheduler.partition(":")
    if kind == "local":
        if not count.isdigit() or int(count) < 1:
            raise ValueError(
                f"scheduler must be 'local:N' with N at least 1, or an address, got {scheduler!r}."
            )
        options = {"n_workers": int(count), "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            yield DaskPool(client)
        return
    try:
        client = Client(scheduler, timeout=CONNECT_TIMEOUT)
    except (OSError, ValueError) as error:
        raise ValueError(f"No Dask scheduler answers at {scheduler!r} ({error}).") from None
    with client:
        yield DaskPool(client)
