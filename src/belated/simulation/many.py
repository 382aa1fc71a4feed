"""`simulate_many`: one setting under many seeds, on several threads."""

import os
import threading
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Final, Unpack

from belated.arguments import check_integer
from belated.mdp.model import MDP
from belated.options import accepts
from belated.progress import Progress
from belated.randomness import check_seed
from belated.simulation.run import Run
from belated.simulation.setting import Setting, SettingKeywords

POLL_INTERVAL_S: Final = 0.1
"""Seconds between two updates of the progress."""


@accepts(Setting, omit=("world",))
def simulate_many(
    world: MDP,
    *,
    seeds: Iterable[int],
    threads: int | None = None,
    progress: bool | None = None,
    **setting: Unpack[SettingKeywords],
) -> list[Run]:
    """Play one run for each seed, on several threads.

    Parameters
    ----------
    world, **setting
        See `simulate`.
    seeds : iterable of int
        Seeds of the runs.
    threads : int, optional
        Number of runs at a time; by default the number of processors. Affects no result.
    progress : bool, optional
        Whether to show progress on stderr; by default after two seconds.

    Returns
    -------
    list[Run]
        Runs in the order of `seeds`.

    Raises
    ------
    Interrupted
        On Ctrl-C; holds the finished runs.

    Examples
    --------
    >>> from belated.learner.bases import UCRL2
    >>> from belated.learner.updaters import Active
    >>> from belated.mdp.chain import chain
    >>> learner = {"base": UCRL2(scale=0.1), "updater": Active()}
    >>> [run.seed for run in simulate_many(chain(3), **learner, episodes=50, seeds=range(3))]
    [0, 1, 2]
    """
    checked = Setting(world=world, **setting)
    if not isinstance(seeds, Iterable):
        raise TypeError(f"seeds must be a sequence of seeds such as range(30), got {seeds!r}.")
    seeds = [check_seed(seed) for seed in seeds]
    threads = check_integer("threads", (os.cpu_count() or 1) if threads is None else threads, 1)
    return run_seeds(checked, seeds, threads=threads, progress=progress) if seeds else []


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during several runs; `runs` are the finished ones, in the order of the seeds."""

    def __init__(self, runs: Sequence[Run], total: int) -> None:
        super().__init__(f"Interrupted: {len(runs)} of {total} runs were finished.")
        self.runs = list(runs)


def run_seeds(
    setting: Setting, seeds: Sequence[int], *, threads: int, progress: bool | None
) -> list[Run]:
    """Play a setting under several seeds.

    Parameters
    ----------
    setting : Setting
        What to run.
    seeds : sequence of int
        Seeds of the runs.
    threads : int
        Number of runs at a time.
    progress : bool or None
        Whether to show progress; None means after two seconds.

    Returns
    -------
    list[Run]
        Runs in the order of `seeds`.
    """
    pool = RunPool(setting, seeds)
    title = f"Simulating {setting.updater.name}"
    try:
        try:
            pool.compile()
            total = setting.episodes * len(seeds)
            with Progress(title, total=total, shown=progress) as shown:
                pool.start(threads)
                while not pool.wait(POLL_INTERVAL_S):
                    shown.update(sum(pool.played))
                shown.update(total)
        finally:
            pool.stop()
    except KeyboardInterrupt:
        raise Interrupted(pool.finished(), len(seeds)) from None
    return pool.finished()


class Stop(BaseException):
    """Ends a run from inside; not an Exception, so that no handler on the way catches it."""


class RunPool:
    """Runs of one setting on several threads, which can be stopped.

    Parameters
    ----------
    setting : Setting
        What to run.
    seeds : sequence of int
        Seeds of the runs.
    """

    def __init__(self, setting: Setting, seeds: Sequence[int]) -> None:
        self.setting = setting
        self.seeds = seeds
        self.played = [0] * len(seeds)  # episodes of each run
        self.runs: list[Run | None] = [None] * len(seeds)
        self.futures: list[Future[None]] = []
        self.executor: ThreadPoolExecutor | None = None
        self.stopped = threading.Event()

    def compile(self) -> None:
        """Play a few episodes in this thread: compilation cannot be interrupted in another."""

        def stop_after_first(episodes: int) -> None:
            if episodes > 0:
                raise Stop

        with warnings.catch_warnings(), suppress(Stop):
            warnings.filterwarnings("ignore", "Running the slower reference loop")
            self.setting.run(self.seeds[0], stop_after_first)

    def start(self, threads: int) -> None:
        """Start all runs on `threads` threads."""
        self.executor = ThreadPoolExecutor(threads, thread_name_prefix="belated")
        for i in range(len(self.seeds)):
            self.futures.append(self.executor.submit(self._run, i))

    def _run(self, i: int) -> None:
        def on_progress(episodes: int) -> None:
            if self.stopped.is_set():
                raise Stop
            self.played[i] += episodes

        self.runs[i] = self.setting.run(self.seeds[i], on_progress)

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds` and return whether all runs are finished; re-raises an error."""
        done, pending = wait(self.futures, timeout=seconds, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        return not pending

    def stop(self) -> None:
        """Stop all runs that are not finished."""
        self.stopped.set()
        if self.executor is not None:
            self.executor.shutdown(cancel_futures=True)

    def finished(self) -> list[Run]:
        """Return the finished runs, in the order of the seeds."""
        return [run for run in self.runs if run is not None]
