"""`simulate_many`: one setting under many seeds, on several threads."""

import os
import threading
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress

from belated.delays.laws import Law
from belated.episode import check_integer
from belated.learner.bases.base import Base
from belated.learner.plan import Planner
from belated.learner.problem import Stages
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.randomness import check_seed
from belated.simulation.progress import Progress
from belated.simulation.run import Run
from belated.simulation.simulate import Engine, Planning, Setting

LOOK = 0.1
"""Seconds between two looks at how far the threads are."""


def simulate_many(
    world: MDP,
    *,
    base: Base | Planner,
    updater: Updater,
    delay: Law | None = None,
    episodes: int,
    seeds: Iterable[int],
    every: int | None = None,
    stages: Stages = "each",
    engine: Engine = "auto",
    planning: Planning = "incremental",
    trace: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
) -> list[Run]:
    """The runs of `simulate` under each of `seeds`, in their order.

    - `threads`: how many runs are played at a time; by default as many as there are processors.
      It changes no result.
    - `progress`: whether to show on stderr how far it is; by default only if it takes long.

    Ctrl-C raises `Interrupted`, which holds the runs that were finished.

    >>> from belated.learner.bases import UCRL2
    >>> from belated.learner.updaters import Active
    >>> from belated.mdp.chain import chain
    >>> learner = {"base": UCRL2(scale=0.1), "updater": Active()}
    >>> [run.seed for run in simulate_many(chain(3), **learner, episodes=50, seeds=range(3))]
    [0, 1, 2]
    """
    setting = Setting(world, base, updater, delay, episodes, every, stages, engine, planning, trace)
    if not isinstance(seeds, Iterable):
        raise TypeError(f"seeds is {seeds!r}; it must be a sequence of seeds such as range(30).")
    jobs = [(setting, check_seed(seed)) for seed in seeds]
    return play(jobs, threads=threads, progress=progress)


Job = tuple[Setting, int]
"""A setting and a seed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while runs were played; `runs` are the finished ones, in the order asked for."""

    def __init__(self, runs: Sequence[Run], asked: int) -> None:
        super().__init__(f"Interrupted: {len(runs)} of {asked} runs were finished.")
        self.runs = list(runs)


def play(jobs: Sequence[Job], *, threads: int | None, progress: bool | None) -> list[Run]:
    """The runs of all jobs, in their order."""
    threads = check_integer("threads", (os.cpu_count() or 1) if threads is None else threads, 1)
    if not jobs:
        return []
    total = sum(setting.episodes for setting, _ in jobs)
    party = Party(jobs)
    try:
        try:
            party.rehearse()
            with Progress("Simulating", total=total, shown=progress) as shown:
                party.begin(threads)
                while not party.over(LOOK):
                    shown.update(sum(party.played))
                shown.update(sum(party.played))
        finally:
            party.end()
    except KeyboardInterrupt:
        raise Interrupted(party.finished(), len(jobs)) from None
    return party.finished()


class Stop(BaseException):
    """Ends a run from inside; nothing that catches an Exception on the way holds it up."""


class Party:
    """Jobs shared out among threads, which can all be told to stop."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.played = [0] * len(jobs)
        self.futures: list[Future[Run]] = []
        self.pool: ThreadPoolExecutor | None = None
        self.stopped = threading.Event()

    def rehearse(self) -> None:
        """Play a little of each setting here: a thread that compiles could not be stopped."""

        def enough(episodes: int) -> None:
            raise Stop

        for setting, seed in {id(job[0]): job for job in self.jobs}.values():
            with warnings.catch_warnings(), suppress(Stop):
                # Whoever plays for real says so, and once is enough.
                warnings.filterwarnings("ignore", "Running the slower reference loop")
                setting.run(seed, enough)

    def begin(self, threads: int) -> None:
        """Start to play."""
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="belated")
        for job in range(len(self.jobs)):
            self.futures.append(self.pool.submit(self.run, job))

    def run(self, job: int) -> Run:
        """Play one job, in a thread."""
        setting, seed = self.jobs[job]

        def heard(episodes: int) -> None:
            if self.stopped.is_set():
                raise Stop
            self.played[job] += episodes

        return setting.run(seed, heard)

    def over(self, seconds: float) -> bool:
        """Wait that long at most for everything to be finished, or for an error, and raise that."""
        done, pending = wait(self.futures, timeout=seconds, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        return not pending

    def end(self) -> None:
        """Stop whatever still plays."""
        self.stopped.set()
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def finished(self) -> list[Run]:
        """The runs that were played to the end."""
        return [
            future.result()
            for future in self.futures
            if future.done() and not future.cancelled() and future.exception() is None
        ]
