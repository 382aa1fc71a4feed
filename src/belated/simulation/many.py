"""`simulate_many`: runs of one setting with many seeds, on several threads."""

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Literal, Self, TypeVar

from belated.check import check_integer
from belated.mdp.model import MDP
from belated.options import accepts, name_with_options, part_name
from belated.progress import Progress
from belated.randomness import check_seeds
from belated.simulation.compiled_run import OnProgress
from belated.simulation.run import OnCheckpoint, Run, RunSoFar, check_callback
from belated.simulation.simulation import Simulation, parse_simulation

T = TypeVar("T")

Device = Literal["cpu", "gpu"]
"""Processor that computes the runs of sweeps and tables of calibrated scales."""

POLL_INTERVAL_S: Final = 0.1
"""Seconds between two updates of the progress display."""


@accepts(Simulation, omit=("world", "points"))
def simulate_many(
    world: MDP | str,
    *,
    seeds: Iterable[int],
    threads: int | None = None,
    progress: bool | None = None,
    on_checkpoint: OnCheckpoint | None = None,
    **setting: Any,
) -> list[Run]:
    """Simulate one run for each seed, on several threads.

    Parameters
    ----------
    world, **setting
        Arguments of `simulate`.
    seeds : iterable of int
        Seeds of the runs.
    threads : int, optional
        Number of threads; by default the number of processors. The results do not depend on it, and
        engine="gpu" does not use it.
    progress : bool, optional
        Whether to show progress on stderr. By default, progress is shown if the runs take more than
        two seconds.
    on_checkpoint : callable, optional
        Function called with a `RunSoFar` for each checkpoint of each run, in the thread that called
        `simulate_many`. The checkpoints that runs have reached are reported about every 0.1 seconds
        (with engine="gpu", about every second). Those of one run are reported in order.

    Returns
    -------
    list[Run]
        Runs in the order of `seeds`.

    Raises
    ------
    Interrupted
        On Ctrl-C. The exception holds the finished runs.

    Examples
    --------
    >>> from belated.learner.bases import UCRL2
    >>> from belated.learner.updaters import Active
    >>> from belated.mdp.classics import chain
    >>> learner = {"base": UCRL2(scale=0.1), "updater": Active()}
    >>> [run.seed for run in simulate_many(chain(3), **learner, episodes=50, seeds=range(3))]
    [0, 1, 2]
    """
    checked = parse_simulation(world, setting)
    seeds = check_seeds(seeds)
    if threads is not None:
        check_integer("threads", threads, 1)
    if not seeds:
        return []
    return run_seeds(
        checked, seeds, threads=threads, progress=progress, on_checkpoint=on_checkpoint
    )


class Interrupted(KeyboardInterrupt):
    """Exception raised on Ctrl-C during several runs.

    Parameters
    ----------
    runs : sequence of Run
        Finished runs, in the order of the seeds.
    total : int
        Number of runs requested.
    """

    def __init__(self, runs: Sequence[Run], total: int) -> None:
        super().__init__(f"Interrupted: {len(runs)} of {total} runs were finished.")
        self.runs = list(runs)


def run_seeds(
    simulation: Simulation,
    seeds: Sequence[int],
    *,
    threads: int | None,
    progress: bool | None,
    on_checkpoint: OnCheckpoint | None = None,
) -> list[Run]:
    """Run one simulation with several seeds, on several threads or on a GPU.

    Parameters
    ----------
    simulation : Simulation
        Simulation to run.
    seeds : sequence of int
        Seeds of the runs, at least one.
    threads : int or None
        Number of threads; None for the number of processors. A GPU does not use it.
    progress : bool or None
        Whether to show progress on stderr. None shows it if the runs take more than two seconds.
    on_checkpoint : callable, optional
        Function called for each checkpoint of each run, in the calling thread.

    Returns
    -------
    list[Run]
        Runs in the order of `seeds`.

    Raises
    ------
    Interrupted
        On Ctrl-C. The exception holds the finished runs; none if they are computed on a GPU.
    """
    if on_checkpoint is not None:
        check_callback(on_checkpoint)
    scale = getattr(simulation.base, "scale", None)  # names each trial of a calibration
    trial = f", scale {scale:g}" if isinstance(scale, int | float) else ""
    title = (
        f"Simulating {part_name(simulation.base)}{trial}, {name_with_options(simulation.updater)}"
    )
    display = Progress(title, total=simulation.episodes * len(seeds), shown=progress)
    checkpoints: SimpleQueue[RunSoFar] = SimpleQueue()
    own: dict[str, Any] = {} if on_checkpoint is None else {"on_checkpoint": checkpoints.put}
    futures: list[Future[Run]] = []
    try:
        if simulation.engine == "gpu":
            from belated.simulation.gpu.engine import run_on_gpu

            with display:
                return run_on_gpu(simulation, seeds, display.advance, on_checkpoint)
        compile_engine(simulation, seeds[0])
        with display, RunThreads(threads) as pool:
            for i, seed in enumerate(seeds):
                futures.append(pool.submit(i, partial(simulation.run, seed, **own)))
            pending = set(futures)
            while pending:
                done, pending = wait(futures, timeout=POLL_INTERVAL_S, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()  # raises the exception of a run that has failed
                with suppress(Empty):
                    while on_checkpoint is not None:
                        on_checkpoint(checkpoints.get_nowait())
                played = sum(pool.played.copy().values())
                display.update(simulation.episodes * len(done) + played)
    except KeyboardInterrupt:
        ended = [future for future in futures if future.done() and not future.cancelled()]
        finished = [future.result() for future in ended if future.exception() is None]
        raise Interrupted(finished, len(seeds)) from None
    return [future.result() for future in futures]


def compile_engine(simulation: Simulation, seed: int) -> None:
    """Compile the engine, by playing a few episodes of `simulation` with `seed` in this thread.

    Compilation in another thread could not be interrupted by Ctrl-C.
    """

    def stop_after_first(episodes: int) -> None:
        if episodes > 0:
            raise Stop

    with warnings.catch_warnings(), suppress(Stop):
        warnings.filterwarnings("ignore", "Running the slower reference loop")
        simulation.run(seed, stop_after_first)


class Stop(BaseException):
    """Exception raised by a progress callback to stop a run.

    It does not derive from Exception, so that no `except Exception` catches it.
    """


class RunThreads:
    """Threads that compute runs, count the episodes played, and can be stopped.

    At the end of a `with` block, all unfinished computations are stopped, and their threads have
    ended.

    Parameters
    ----------
    threads : int, optional
        Number of threads; by default the number of processors.
    """

    def __init__(self, threads: int | None) -> None:
        count = threads or os.cpu_count() or 1
        self.executor = ThreadPoolExecutor(count, thread_name_prefix="belated")
        self.stopped = threading.Event()
        self.played: dict[Any, int] = {}
        """Map from the key of each running computation to the number of episodes played."""

    def submit(self, key: Any, compute: Callable[[OnProgress], T]) -> "Future[T]":
        """Start a computation, and return the future of its result.

        `compute` is called in a thread with a function, to which it must pass the number of
        episodes played since its last call. `key` identifies the computation in `played`.
        """

        def on_progress(episodes: int) -> None:
            if self.stopped.is_set():
                raise Stop
            self.played[key] = self.played.get(key, 0) + episodes

        def run() -> T:
            try:
                return compute(on_progress)
            finally:
                self.played.pop(key, None)

        return self.executor.submit(run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stopped.set()
        self.executor.shutdown(cancel_futures=True)
