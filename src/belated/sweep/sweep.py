"""Play every cell that is not finished yet, and keep each as soon as it is."""

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

LOOK = 0.2
"""Seconds between two looks at how far the work is."""

Played = tuple[list[Run], float]
"""Runs, and the seconds they took."""


@dataclass(frozen=True)
class Outcome:
    """What a sweep did."""

    played: int  # cells
    kept: int  # cells that were finished before
    seconds: float


class Pool(Protocol):
    """Where cells are played."""

    def submit(self, cell: Cell) -> "Future[Played]":
        """Play a cell."""

    def episodes(self) -> int:
        """Episodes played so far of cells not yet finished, if it knows."""


def sweep(
    cells: Sequence[Cell],
    store: Store,
    *,
    threads: int | None = None,
    scheduler: str | None = None,
    progress: bool | None = None,
) -> Outcome:
    """Play the cells that `store` does not have, longest first; keep each when it is finished.

    A sweep that is stopped, or killed, goes on where it was when it is called again, and leaves
    the same bytes as one that was not. `scheduler` is None for threads, "local:N" for N processes
    through Dask, or the address of a Dask scheduler.
    """
    began = time.perf_counter()
    for cell in {cell.setting: cell for cell in cells}.values():
        cell.build()  # refuse everything that is wrong before anything is played
    todo = sorted((cell for cell in cells if not store.finished(cell)), key=cost, reverse=True)
    total = sum(cell.episodes * len(cell.seeds) for cell in todo)
    done = 0
    if todo:
        with (
            pool(threads, scheduler) as crew,
            Progress(f"{len(todo)} cells", total=total, shown=progress) as shown,
        ):
            waiting = {crew.submit(cell): cell for cell in todo}
            while waiting:
                ready, _ = wait(waiting, timeout=LOOK, return_when=FIRST_COMPLETED)
                for future in ready:
                    cell = waiting.pop(future)
                    runs, seconds = future.result()
                    store.save(cell, runs, seconds)
                    done += cell.episodes * len(cell.seeds)
                shown.update(min(total, done + crew.episodes()))
            shown.update(total)
    return Outcome(len(todo), len(cells) - len(todo), time.perf_counter() - began)


def cost(cell: Cell) -> float:
    """A guess at how long a cell takes, to begin with the long ones."""
    states = int("".join(filter(str.isdigit, cell.world)) or 1)
    busy = 1 if cell.updater.startswith("lazy") else 10
    return cell.episodes * len(cell.seeds) * states * states * busy


def play(cell: Cell, heard: Callable[[int], None] | None = None) -> Played:
    """The runs of a cell."""
    began = time.perf_counter()
    setting = cell.build()
    runs = [setting.run(seed, heard) if heard else setting.run(seed) for seed in cell.seeds]
    return runs, time.perf_counter() - began


class Threads:
    """A pool of threads that can be told to stop at once."""

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self.executor = executor
        self.stopped = threading.Event()
        self.counts: dict[int, int] = {}

    def submit(self, cell: Cell) -> "Future[Played]":
        return self.executor.submit(self.play, cell)

    def play(self, cell: Cell) -> Played:
        me = id(cell)
        self.counts[me] = 0

        def heard(episodes: int) -> None:
            if self.stopped.is_set():
                raise Stop
            self.counts[me] += episodes

        try:
            return play(cell, heard)
        finally:
            del self.counts[me]

    def episodes(self) -> int:
        return sum(list(self.counts.values()))


@contextmanager
def pool(threads: int | None, scheduler: str | None) -> Iterator[Pool]:
    """Threads, or Dask if a scheduler is named."""
    if scheduler is not None:
        from belated.sweep.distributed import dask_pool

        with dask_pool(scheduler) as crew:
            yield crew
        return
    executor = ThreadPoolExecutor(threads or os.cpu_count() or 1, thread_name_prefix="belated")
    crew = Threads(executor)
    try:
        yield crew
    finally:
        crew.stopped.set()
        executor.shutdown(cancel_futures=True)
