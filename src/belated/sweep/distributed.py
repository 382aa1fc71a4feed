"""Computation of cells in other processes or on other machines, through Dask.

If a worker dies its cells are computed again; results are stored by the calling process.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from belated.sweep.cell import Cell
from belated.sweep.sweep import Pool, TimedRuns, run_cell

MAX_RETRIES = 5
"""Number of times that a cell is computed again after its worker died."""

CONNECT_TIMEOUT = "10s"
"""Maximum time to connect to a scheduler, in Dask's notation."""


class DaskPool:
    """Pool of the workers of a Dask client."""

    def __init__(self, client: Any) -> None:
        self.executor = client.get_executor(retries=MAX_RETRIES, pure=False)

    def submit(self, cell: Cell) -> "Future[TimedRuns]":
        """Start to compute `cell` on a worker and return a future of its runs."""
        future: Future[TimedRuns] = self.executor.submit(run_cell, cell)
        return future

    def episodes(self) -> int:
        """Return 0: workers do not report progress."""
        return 0


@contextmanager
def dask_pool(scheduler: str) -> Iterator[Pool]:
    """Yield a pool for `scheduler`: "local:N" for N processes, or the address of a scheduler."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ValueError(
            f"scheduler {scheduler!r} needs Dask: pip install 'belated[distributed]'."
        ) from None
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
