"""Computation of the unfinished cells of a sweep. Each cell is stored as soon as it is finished."""

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, get_args

from belated.check import check_choice
from belated.progress import Progress
from belated.simulation.compiled_run import OnProgress
from belated.simulation.many import Device, RunThreads, compile_engine
from belated.simulation.run import Run
from belated.simulation.simulation import ignore_progress
from belated.sweep.cell import Cell
from belated.sweep.cost import expected_cost
from belated.sweep.store import Store

PROGRESS_INTERVAL_S = 0.2
"""Maximum time between two updates of the progress display, in seconds."""

TimedRuns = tuple[list[Run], float]
"""Runs of a cell, and their computing time in seconds."""

Futures = dict[Future[list[TimedRuns]], Sequence[Cell]]
"""Map from the future of the results of cells that are computed together to these cells."""


@dataclass(frozen=True)
class SweepResult:
    """Summary of a sweep: numbers of computed and skipped cells, and duration in seconds."""

    computed: int  # number of cells computed
    skipped: int  # number of cells that were already finished
    seconds: float  # duration of the sweep


class Pool(Protocol):
    """Interface of a pool of threads or processes that computes cells."""

    played: dict[str, int]
    """Map from the id of each running cell to its number of simulated episodes, if it is known."""

    def submit_all(self, cells: Sequence[Cell]) -> Futures:
        """Start to compute `cells`, and return the futures of the results."""


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
    for cell in {cell.setting: cell for cell in cells}.values():
        cell.build()  # raises ValueError if the setting is invalid
    todo = [cell for cell in cells if not store.is_finished(cell)]
    cost = {cell.id: expected_cost(cell) for cell in todo}
    todo.sort(key=lambda cell: cost[cell.id], reverse=True)  # no long cell starts last
    episodes = {cell.id: cell.episodes * len(cell.seeds) for cell in todo}
    total, total_cost = sum(episodes.values()), sum(cost.values())
    done, done_cost = 0, 0.0
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
                    together = pending.pop(future)
                    for cell, (runs, seconds) in zip(together, future.result(), strict=True):
                        store.save(cell, runs, seconds)
                        done += episodes[cell.id]
                        done_cost += cost[cell.id]
                running = pool.played.copy()
                share = sum(cost[id] * count / episodes[id] for id, count in running.items())
                played = min(total, done + sum(running.values()))
                shown.update(played, min(1.0, (done_cost + share) / total_cost))
            shown.update(total)
    return SweepResult(len(todo), finished, time.perf_counter() - began)


def run_cell(cell: Cell, on_progress: OnProgress = ignore_progress) -> list[TimedRuns]:
    """Compute `cell`, and return a list with its runs and their computing time in seconds.

    `on_progress` is called during the computation, with the number of episodes simulated since its
    last call.
    """
    began = time.perf_counter()
    setting = cell.build()
    runs = [setting.run(seed, on_progress) for seed in cell.seeds]
    return [(runs, time.perf_counter() - began)]


class CellThreads(RunThreads):
    """Pool of threads that computes cells on the CPU."""

    def submit_all(self, cells: Sequence[Cell]) -> Futures:
        """Start to compute `cells`; see `Pool`."""
        return {self.submit(cell.id, partial(run_cell, cell)): [cell] for cell in cells}


def open_pool(
    threads: int | None, scheduler: str | None, device: Device = "cpu"
) -> AbstractContextManager[Pool]:
    """Return a pool that computes cells, and is closed at the end of a `with` block.

    The pool consists of threads or, if `scheduler` is given, of Dask workers. The parameters are as
    in `sweep`.
    """
    if scheduler is not None:
        from belated.sweep.distributed import dask_pool

        return dask_pool(scheduler, device)
    if device == "gpu":
        from belated.sweep.on_gpu import GpuThreads

        return GpuThreads(threads)
    return CellThreads(threads)
