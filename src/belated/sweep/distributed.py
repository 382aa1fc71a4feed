"""Cells on other processes or machines, through Dask.

A worker that dies costs a retry and never a result: results are kept by the process that asked.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from belated.sweep.cell import Cell
from belated.sweep.sweep import Played, Pool, play

RETRIES = 5
PATIENCE = "10s"


class DaskPool:
    """The executor of a Dask client."""

    def __init__(self, client: Any) -> None:
        self.executor = client.get_executor(retries=RETRIES, pure=False)

    def submit(self, cell: Cell) -> "Future[Played]":
        future: Future[Played] = self.executor.submit(play, cell)
        return future

    def episodes(self) -> int:
        return 0


@contextmanager
def dask_pool(scheduler: str) -> Iterator[Pool]:
    """ "local:N" starts N processes here; anything else is the address of a scheduler."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ValueError(
            f"scheduler is {scheduler!r}, which needs Dask: pip install 'belated[distributed]'."
        ) from None
    kind, _, count = scheduler.partition(":")
    if kind == "local":
        if not count.isdigit() or int(count) < 1:
            raise ValueError(f"scheduler is {scheduler!r}; it must be 'local:N', N at least 1.")
        with (
            LocalCluster(
                n_workers=int(count), threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            yield DaskPool(client)
        return
    try:
        client = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"scheduler is {scheduler!r}; no Dask scheduler answers there ({error})."
        ) from None
    with client:
        yield DaskPool(client)
