"""Computation of cells in other processes or on other machines, with Dask.

If a worker dies, its unfinished cells are computed again by other workers. The calling process
stores the results.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from belated.extras import missing_extra
from belated.simulation.many import Device
from belated.sweep.cell import Cell
from belated.sweep.on_gpu import run_cells_on_gpu
from belated.sweep.sweep import Pool, TimedRuns, run_cell

MAX_RETRIES = 5
"""Maximum number of retries of a cell whose worker died."""

CONNECT_TIMEOUT = "10s"
"""Maximum time to connect to a Dask scheduler, as text in Dask's notation: "10s" is 10 seconds."""


class DaskPool:
    """Pool that computes cells on the workers of a Dask client, on the CPU or on a GPU."""

    def __init__(self, client: Any, device: Device) -> None:
        self.executor = client.get_executor(retries=MAX_RETRIES, pure=False)
        self.workers = max(1, len(client.scheduler_info()["workers"]))
        self.device = device

    def submit_all(self, cells: Sequence[Cell]) -> "dict[Future[TimedRuns], Cell]":
        """Start to compute `cells`, and return a map from the future of each cell to the cell.

        The result of a future is the runs of the cell and their computing time. On GPUs, which
        compute many cells at once, each worker receives an equal part of the cells.
        """
        if self.device == "cpu":
            return {self.executor.submit(run_cell, cell): cell for cell in cells}
        pending: dict[Future[TimedRuns], Cell] = {}
        for first in range(self.workers):
            part = cells[first :: self.workers]
            if part:
                futures: list[Future[TimedRuns]] = [Future() for _ in part]
                share_out(self.executor.submit(run_cells_on_gpu, part), futures)
                pending.update(zip(futures, part, strict=True))
        return pending

    def running(self) -> dict[str, int]:
        """Return an empty dictionary, because Dask workers do not report their progress."""
        return {}


def share_out(whole: "Future[list[TimedRuns]]", parts: "Sequence[Future[TimedRuns]]") -> None:
    """Set the results of the futures `parts` when the future `whole` is done.

    The result of `whole` is a list with one entry for each of `parts`. If `whole` fails, all
    `parts` fail with the same error.
    """

    def share(done: "Future[list[TimedRuns]]") -> None:
        error = done.exception()
        for i, part in enumerate(parts):
            if error is not None:
                part.set_exception(error)
            else:
                part.set_result(done.result()[i])

    whole.add_done_callback(share)


@contextmanager
def dask_pool(scheduler: str, device: Device = "cpu") -> Iterator[Pool]:
    """Yield a pool of Dask workers, which is closed at the end of the block.

    `scheduler` is "local:N" for N processes on this machine, or the network address of a Dask
    scheduler. `device` is the device on which each worker computes, "cpu" or "gpu". Raise
    ValueError if `scheduler` is invalid, if the scheduler cannot be reached, or if Dask is not
    installed.
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
            yield DaskPool(client, device)
        return
    try:
        client = Client(scheduler, timeout=CONNECT_TIMEOUT)
    except (OSError, ValueError) as error:
        raise ValueError(f"No Dask scheduler answers at {scheduler!r} ({error}).") from None
    with client:
        yield DaskPool(client, device)
