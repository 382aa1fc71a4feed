"""Compute every cell that is not finished yet, and store each as soon as it is."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from belated.progress import Progress
from belated.simulation.many import Stop
from belated.simulation.run import Run
from belated.sweep.cell import Cell
from belated.sweep.store import Store

PROGRESS_INTERVAL_S = 0.2
"""Maximum time between two updates of the progress display."""

TimedRuns = tuple[list[Run], float]
"""Runs of a cell and the seconds they took."""


@dataclass(frozen=True)
class SweepResult:
    """Summary of a sweep."""

    computed: int  # cells
    skipped: int  # cells that were finished before
    seconds: float


class Pool(Protocol):
    """Executor of cells."""

    def submit(self, cell: Cell) -> "Future[TimedRuns]":
        """Start to compute `cell` and return a future of its runs."""

    def episodes(self) -> int:
        """Return the number of episodes simulated so far in unfinished cells; 0 if unknown."""


def sweep(
    cells: Sequence[Cell],
    store: Store,
    *,
    threads: int | None = None,
    scheduler: str | None = None,
    progress: bool | None = None,
) -> SweepResult:
    """Compute the cells that `store` does not have, and store each when it is finished.

    A sweep that was stopped or killed continues when it is called again, and leaves the same bytes
    as an uninterrupted one.

    Parameters
    ----------
    cells : Sequence[Cell]
        Cells of the study. All are validated before the first is computed.
    store : Store
        Folder of the results.
    threads : int or None
        Number of threads; one per processor if None.
    scheduler : str or None
        None for threads, "local:N" for N processes through Dask, or the address of a Dask
        scheduler.
    progress : bool or None
        Whether to show progress on stderr; None to show it only in long sweeps.

    Returns
    -------
    SweepResult
        Numbers of cells and duration.
    """
    began = time.perf_counter()
    for cell in {cell.setting: cell for cell in cells}.values():
        cell.build()
    todo = [cell for cell in cells if not store.is_finished(cell)]
    todo.sort(key=estimated_cost, reverse=True)  # long cells first, so that none is left alone
    total = sum(cell.episodes * len(cell.seeds) for cell in todo)
    done = 0
    if todo:
        with (
            open_pool(threads, scheduler) as pool,
            Progress(f"{len(todo)} cells", total=total, shown=progress) as shown,
        ):
            pending = {pool.submit(cell): cell for cell in todo}
            while pending:
                ready, _ = wait(pending, timeout=PROGRESS_INTERVAL_S, return_when=FIRST_COMPLETED)
                for future in ready:
                    cell = pending.pop(future)
                    runs, seconds = future.result()
                    store.save(cell, runs, seconds)
                    done += cell.episodes * len(cell.seeds)
                shown.update(min(total, done + pool.episodes()))
            shown.update(total)
    return SweepResult(len(todo), len(cells) - len(todo), time.perf_counter() - began)


def estimated_cost(cell: Cell) -> float:
    """Return a rough estimate of the time that `cell` takes, in arbitrary units."""
    states = int("".join(filter(str.isdigit, cell.world)) or 1)
    planning = 1 if cell.updater.startswith("lazy") else 10
    return cell.episodes * len(cell.seeds) * states * states * planning


def run_cell(cell: Cell, on_progress: Callable[[int], None] | None = None) -> TimedRuns:
    """Return the runs of `cell`; `on_progress` is called with numbers of simulated episodes."""
    began = time.perf_counter()
    setting = cell.build()
    options = (on_progress,) if on_progress else ()
    runs = [setting.run(seed, *options) for seed in cell.seeds]
    return runs, time.perf_counter() - began


class CellThreads:
    """Pool of threads that stops running cells when `stopped` is set."""

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self.executor = executor
        self.stopped = threading.Event()
        self.progress: dict[int, int] = {}  # simulated episodes by id() of a running cell

    def submit(self, cell: Cell) -> "Future[TimedRuns]":
        """Start to compute `cell` and return a future of its runs."""
        return self.executor.submit(self._run, cell)

    def episodes(self) -> int:
        """Return the number of episodes simulated so far in unfinished cells."""
        return sum(list(self.progress.values()))

    def _run(self, cell: Cell) -> TimedRuns:
        self.progress[id(cell)] = 0

        def on_progress(episodes: int) -> None:
            if self.stopped.is_set():
                raise Stop
            self.progress[id(cell)] += episodes

        try:
            return run_cell(cell, on_progress)
        finally:
            del self.progress[id(cell)]


@contextmanager
def open_pool(threads: int | None, scheduler: str | None) -> Iterator[Pool]:
    """Yield a pool of `threads`, or of Dask workers if `scheduler` is given; see `sweep`."""
    if scheduler is not None:
        from belated.sweep.distributed import dask_pool

        with dask_pool(scheduler) as workers:
            yield workers
        return
    executor = ThreadPoolExecutor(threads or os.cpu_count() or 1, thread_name_prefix="belated")
    pool = CellThreads(executor)
    try:
        yield pool
    finally:
        pool.stopped.set()
        executor.shutdown(cancel_futures=True)
