"""Computation of cells on a GPU. Cells that the GPU engine does not support run on the CPU."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future

from belated.episode import Ints
from belated.simulation.many import Stop
from belated.sweep.cell import Cell
from belated.sweep.sweep import CellThreads, Futures, TimedRuns, run_cell

OnCell = Callable[[Cell, TimedRuns], None]
"""Function that is called when a cell is finished.

Its arguments are the cell, and the runs of the cell with their computing time in seconds.
"""

OnProgress = Callable[[Mapping[str, int]], None]
"""Function that is called during a computation to report progress.

Its argument maps the id of a cell to the number of episodes simulated since the previous call.
"""


def split_cells(cells: Sequence[Cell]) -> tuple[list[Cell], dict[Cell, str]]:
    """Return the cells that the GPU engine supports, and a map from each other cell to the reason.

    A reason is a text that says why the GPU engine cannot run the cell.
    """
    from belated.simulation.gpu.kinds import why_not_on_gpu

    reasons: dict[str, str | None] = {}
    for cell in cells:
        if cell.setting not in reasons:
            reasons[cell.setting] = why_not_on_gpu(cell.build())
    others = {cell: reason for cell in cells if (reason := reasons[cell.setting]) is not None}
    return [cell for cell in cells if cell not in others], others


def run_together(cells: Sequence[Cell], on_cell: OnCell, on_progress: OnProgress) -> None:
    """Compute `cells` on a GPU, all at once.

    Parameters
    ----------
    cells : sequence of Cell
        Cells that the GPU engine supports.
    on_cell : callable
        Function called when a cell is finished, with the cell, its runs and its computing time. The
        computing time is the time since the start, multiplied by the cell's fraction of all
        episodes.
    on_progress : callable
        Function called after each slice of episodes, with a map from the id of a cell to the number
        of its episodes in the slice. An exception that it raises stops the computation.
    """
    from belated.simulation.gpu.batch import Batch, Job, Prepared
    from belated.simulation.gpu.engine import run_jobs

    began = time.perf_counter()
    settings = {cell.setting: cell for cell in cells}
    prepared = {setting: Prepared(cell.build()) for setting, cell in settings.items()}
    jobs = {cell: [Job(prepared[cell.setting], seed) for seed in cell.seeds] for cell in cells}
    owner = {id(job): cell for cell, own in jobs.items() for job in own}
    total = sum(cell.episodes * len(cell.seeds) for cell in cells)

    def on_slice(batch: Batch, before: Ints) -> None:
        played: Counter[str] = Counter()
        for job, episodes in zip(batch.jobs, (batch.played - before).tolist(), strict=True):
            played[owner[id(job)].id] += episodes
        on_progress(played)
        for cell in {owner[id(job)]: None for job in batch.jobs} if batch.finished else ():
            runs = [job.run for job in jobs[cell] if job.run is not None]
            if len(runs) == len(cell.seeds):
                share = cell.episodes * len(cell.seeds) / total
                on_cell(cell, (runs, share * (time.perf_counter() - began)))

    run_jobs([job for own in jobs.values() for job in own], on_slice)


def run_cells_on_gpu(cells: Sequence[Cell]) -> list[TimedRuns]:
    """Compute `cells` in this process, and return the runs and computing time of each, in order.

    Cells that the GPU engine does not support are computed on the CPU. Dask workers call this
    function, so it does not need DuckDB.
    """
    on_gpu, others = split_cells(cells)
    results: dict[Cell, TimedRuns] = {}
    if on_gpu:
        run_together(on_gpu, results.__setitem__, lambda played: None)
    for cell in others:
        [results[cell]] = run_cell(cell)
    return [results[cell] for cell in cells]


class GpuThreads(CellThreads):
    """Pool that computes cells on one GPU, which one of its threads drives.

    Cells that the GPU engine does not support are computed on the CPU.
    """

    def submit_all(self, cells: Sequence[Cell]) -> Futures:
        """Start to compute `cells`; see `Pool`."""
        from belated.simulation.gpu.compiler import check_device
        from belated.simulation.gpu.kinds import explain_cpu

        check_device()
        on_gpu, others = split_cells(cells)
        explain_cpu(list(others.values()), f"{len(cells)} cells")
        futures: dict[Cell, Future[list[TimedRuns]]] = {cell: Future() for cell in on_gpu}
        if on_gpu:
            self.executor.submit(self._run, futures)
        pending = super().submit_all(list(others))
        return pending | {future: [cell] for cell, future in futures.items()}

    def _run(self, futures: dict[Cell, Future[list[TimedRuns]]]) -> None:
        def on_cell(cell: Cell, runs: TimedRuns) -> None:
            self.played.pop(cell.id, None)
            futures[cell].set_result([runs])

        def on_progress(played: Mapping[str, int]) -> None:
            if self.stopped.is_set():
                raise Stop
            for id, episodes in played.items():
                self.played[id] = self.played.get(id, 0) + episodes

        try:
            run_together(list(futures), on_cell, on_progress)
        except BaseException as error:
            for future in futures.values():
                if not future.done():
                    future.set_exception(error)
