"""Computation of the unfinished cells of a sweep. Each cell is stored as soon as it is finished."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, get_args

from belated.check import check_choice
from belated.progress import Progress
from belated.simulation.many import Device, RunThreads, compile_engine
from belated.simulation.run import Run
from belated.sweep.cell import Cell
from belated.sweep.cost import SweepWork
from belated.sweep.store import Store

PROGRESS_INTERVAL_S = 0.2
"""Maximum time between two updates of the progress display, in seconds."""

TimedRuns = tuple[list[Run], float]
"""Runs of a cell, and their computing time in seconds."""


@dataclass(frozen=True)
class SweepResult:
    """Summary of a sweep: numbers of computed and skipped cells, and duration in seconds."""

    computed: int  # number of cells computed
    skipped: int  # number of cells that were already finished
    seconds: float  # duration of the sweep


class Pool(Protocol):
    """Interface of a pool of threads or processes that computes cells."""

    def submit_all(self, cells: Sequence[Cell]) -> "dict[Future[TimedRuns], Cell]":
        """Start to compute `cells`, and return a map from the future of each cell to the cell.

        The result of a future is the runs of the cell and their computing time in seconds.
        """

    def running(self) -> dict[str, int]:
        """Return a map from the id of each running cell to its number of simulated episodes.

        Cells whose progress is unknown are not included.
        """


def sweep(
    cells: Sequence[Cell],
    store: Store,
    *,
    threads: int | None = None,
    scheduler: str | None = None,
    device: Device = "cpu",
    progress: bool | None = None,
) -> SweepResult:
    """Compute the cells that are not finished in `store`, and store each when it is finished.

    After an interruption, call this function again to resume. The Parquet files are then
    bit-identical to those of an uninterrupted sweep.

    Parameters
    ----------
    cells : Sequence[Cell]
        Cells of the study. All cells are validated before the first cell is computed.
    store : Store
        Folder of the results.
    threads : int or None
        Number of threads; None for one thread per processor.
    scheduler : str or None
        "local:N" for N Dask processes on this machine, or the network address of a Dask scheduler;
        None for threads in this process.
    device : {"cpu", "gpu"}
        "gpu" computes the cells that the GPU engine supports on a GPU, with identical results. With
        Dask, each worker uses its own GPU.
    progress : bool or None
        Whether to show progress on stderr; None to show progress only in long sweeps.

    Returns
    -------
    SweepResult
        Numbers of computed and skipped cells, and duration.
    """
    check_choice("device", device, get_args(Device))
    began = time.perf_counter()
    settings = {cell.setting: cell for cell in cells}
    shapes = {setting: cell.build().world.shape for setting, cell in settings.items()}
    todo = [cell for cell in cells if not store.is_finished(cell)]
    work = SweepWork(todo, shapes)
    todo.sort(key=lambda cell: work.expected[cell.id], reverse=True)  # no long cell starts last
    episodes = {cell.id: cell.episodes * len(cell.seeds) for cell in todo}
    total = sum(episodes.values())
    done = 0
    finished = len(cells) - len(todo)
    title = f"{len(todo)} cells"
    if finished:
        title += f", {finished} of {len(cells)} finished before"
    if todo and scheduler is None:
        compile_engine(todo[-1].build(), todo[-1].seeds[0])
    if todo:
        with (
            open_pool(threads, scheduler, device) as pool,
            Progress(title, total=total, shown=progress) as shown,
        ):
            pending = pool.submit_all(todo)
            while pending:
                ready, _ = wait(pending, timeout=PROGRESS_INTERVAL_S, return_when=FIRST_COMPLETED)
                for future in ready:
                    cell = pending.pop(future)
                    runs, seconds = future.result()
                    store.save(cell, runs, seconds)
                    done += episodes[cell.id]
                    work.finish(cell.id, seconds)
                running = pool.running()
                share = work.share({id: count / episodes[id] for id, count in running.items()})
                shown.update(min(total, done + sum(running.values())), share)
            shown.update(total)
    return SweepResult(len(todo), finished, time.perf_counter() - began)


def run_cell(cell: Cell, on_progress: Callable[[int], None] | None = None) -> TimedRuns:
    """Compute `cell`, and return its runs and their computing time in seconds.

    `on_progress` is called during the computation, with the number of episodes simulated since its
    last call.
    """
    began = time.perf_counter()
    setting = cell.build()
    options = (on_progress,) if on_progress else ()
    runs = [setting.run(seed, *options) for seed in cell.seeds]
    return runs, time.perf_counter() - began


class CellThreads:
    """Pool of threads that computes cells on the CPU."""

    def __init__(self, threads: RunThreads) -> None:
        self.threads = threads

    def submit_all(self, cells: Sequence[Cell]) -> "dict[Future[TimedRuns], Cell]":
        """Start to compute `cells`, and return a map from the future of each cell to the cell.

        The result of a future is the runs of the cell and their computing time in seconds.
        """
        return {self.threads.submit(cell.id, partial(run_cell, cell)): cell for cell in cells}

    def running(self) -> dict[str, int]:
        """Return a map from the id of each running cell to its number of simulated episodes."""
        return self.threads.played.copy()


@contextmanager
def open_pool(threads: int | None, scheduler: str | None, device: Device = "cpu") -> Iterator[Pool]:
    """Yield a pool that computes cells, and is closed at the end of the block.

    The pool consists of threads or, if `scheduler` is given, of Dask workers. The parameters are as
    in `sweep`.
    """
    if scheduler is not None:
        from belated.sweep.distributed import dask_pool

        with dask_pool(scheduler, device) as workers:
            yield workers
        return
    with RunThreads(threads) as own:
        pool = CellThreads(own)
        if device == "gpu":
            from belated.sweep.on_gpu import gpu_pool

            with gpu_pool(pool) as both:
                yield both
        else:
            yield pool
