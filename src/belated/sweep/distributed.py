"""Computation of cells in other processes or on other machines, with Dask.

If a worker dies, its unfinished cells are computed again by other workers. The calling process
stores the results.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from belated.extras import missing_extra
from belated.simulation.many import Device
from belated.sweep.cell import Cell
from belated.sweep.on_gpu import run_cells_on_gpu
from belated.sweep.sweep import Futures, Pool, run_cell

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
        self.played: dict[str, int] = {}  # empty, because Dask workers do not report their progress

    def submit_all(self, cells: Sequence[Cell]) -> Futures:
        """Start to compute `cells`; see `Pool`.

        On GPUs, which compute many cells at once, each worker receives an equal part of the cells.
        """
        if self.device == "cpu":
            return {self.executor.submit(run_cell, cell): [cell] for cell in cells}
        parts = [cells[first :: self.workers] for first in range(self.workers)]
        return {self.executor.submit(run_cells_on_gpu, part): part for part in parts if part}


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
    with ExitStack() as stack:
        address: Any = scheduler
        if kind == "local":
            if not count.isdigit() or int(count) < 1:
                raise ValueError(
                    "scheduler must be 'local:N' with N at least 1, or an address, "
                    f"got {scheduler!r}."
                )
            options = {"threads_per_worker": 1, "dashboard_address": None}
            address = stack.enter_context(LocalCluster(n_workers=int(count), **options))
        try:
            client = stack.enter_context(Client(address, timeout=CONNECT_TIMEOUT))
        except (OSError, ValueError) as error:
            raise ValueError(f"No Dask scheduler answers at {scheduler!r} ({error}).") from None
        yield DaskPool(client, device)
