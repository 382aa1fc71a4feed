"""`simulate_many`: one setting under many seeds, on several threads."""

import os
import threading
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Literal

from belated.delays.laws import Law
from belated.episode import check_integer
from belated.learner.bases.base import Base
from belated.learner.plan import Planner
from belated.learner.problem import Late, Stages
from belated.learner.rewards import RewardBonus
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.progress import Progress
from belated.randomness import check_seed
from belated.simulation.run import Run
from belated.simulation.simulate import Engine, Per, Planning, Setting

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
    rewards: Literal["known"] | None = "known",
    late: Late = "everything",
    delay_per: Per = "episode",
    reward_bonus: RewardBonus = "hoeffding",
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
    setting = Setting(
        world=world,
        base=base,
        updater=updater,
        delay=delay,
        episodes=episodes,
        every=every,
        stages=stages,
        rewards=rewards,
        late=late,
        delay_per=delay_per,
        reward_bonus=reward_bonus,
        engine=engine,
        planning=planning,
        trace=trace,
    )
    if not isinstance(seeds, Iterable):
        raise TypeError(f"seeds is {seeds!r}; it must be a sequence of seeds such as range(30).")
    seeds = [check_seed(seed) for seed in seeds]
    threads = check_integer("threads", (os.cpu_count() or 1) if threads is None else threads, 1)
    return play(setting, seeds, threads=threads, progress=progress) if seeds else []


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while runs were played; `runs` are the finished ones, in the order of the seeds."""

    def __init__(self, runs: Sequence[Run], asked: int) -> None:
        super().__init__(f"Interrupted: {len(runs)} of {asked} runs were finished.")
        self.runs = list(runs)


def play(
    setting: Setting, seeds: Sequence[int], *, threads: int, progress: bool | None
) -> list[Run]:
    """The runs under each seed, in their order."""
    party = Party(setting, seeds)
    title = f"Simulating {setting.updater.name}"
    try:
        try:
            party.rehearse()
            total = setting.episodes * len(seeds)
            with Progress(title, total=total, shown=progress) as shown:
                party.begin(threads)
                while not party.over(LOOK):
                    shown.update(sum(party.played))
                shown.update(total)
        finally:
            party.end()
    except KeyboardInterrupt:
        raise Interrupted(party.finished(), len(seeds)) from None
    return party.finished()


class Stop(BaseException):
    """Ends a run from inside; nothing that catches an Exception on the way holds it up."""


class Party:
    """Runs shared out among threads, which can all be told to stop."""

    def __init__(self, setting: Setting, seeds: Sequence[int]) -> None:
        self.setting = setting
        self.seeds = seeds
        self.played = [0] * len(seeds)
        self.runs: list[Run | None] = [None] * len(seeds)
        self.futures: list[Future[None]] = []
        self.pool: ThreadPoolExecutor | None = None
        self.stopped = threading.Event()

    def rehearse(self) -> None:
        """Play a little in this thread: one that compiles could not be stopped in the pool."""

        def enough(episodes: int) -> None:
            if episodes > 0:
                raise Stop

        with warnings.catch_warnings(), suppress(Stop):
            # The runs themselves say so, and once is enough.
            warnings.filterwarnings("ignore", "Running the slower reference loop")
            self.setting.run(self.seeds[0], enough)

    def begin(self, threads: int) -> None:
        """Start to play."""
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="belated")
        for i in range(len(self.seeds)):
            self.futures.append(self.pool.submit(self.run, i))

    def run(self, i: int) -> None:
        """Play one run, in a thread."""

        def heard(episodes: int) -> None:
            if self.stopped.is_set():
                raise Stop
            self.played[i] += episodes

        self.runs[i] = self.setting.run(self.seeds[i], heard)

    def over(self, seconds: float) -> bool:
        """Wait that long at most for all runs, or for the error of one, which is raised."""
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
        return [run for run in self.runs if run is not None]
