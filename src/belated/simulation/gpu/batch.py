"""Batch of runs on the GPU: runs in one world that share a kernel, played in slices of episodes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from belated.delays.laws import Law, longest_delay
from belated.episode import Floats, Ints
from belated.exact.values import optimal_table
from belated.learner.problem import LearningProblem
from belated.simulation.gpu import records as columns
from belated.simulation.gpu.compiler import host_cuda, launch, on_gpu
from belated.simulation.gpu.kernel import Kind, build_kernel
from belated.simulation.gpu.kinds import kind_of
from belated.simulation.gpu.records import Learner, Runs, Sizes, World, empty_learners
from belated.simulation.run import Run, make_run
from belated.simulation.simulation import Simulation, draw_delays, ignore_progress

LATE: Final = 2**30
"""Delay, in episodes, by which the GPU represents all feedback that never arrives. It is larger
than the number of episodes of a run."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A setting, and the data that all its runs on a GPU share."""

    setting: Simulation

    @cached_property
    def problem(self) -> LearningProblem:
        """Learning problem of the setting."""
        return self.setting.problem(0)

    @cached_property
    def kind(self) -> Kind:
        """Kind of the kernel."""
        return kind_of(self.setting.world, self.problem)

    @cached_property
    def points(self) -> Ints:
        """Checkpoints."""
        return self.setting.checkpoints()

    @cached_property
    def alpha(self) -> float:
        """Alpha of lazy updating; infinity is active updating."""
        alpha = self.problem.updater.lazy_alpha()
        assert isinstance(alpha, float)
        return alpha

    @cached_property
    def group(self) -> tuple[object, ...]:
        """Key that is equal for settings whose runs may be in one batch.

        It consists of the kind of the kernel, whether updating is active or lazy, and the contents
        of the world and the known rewards. Active and lazy runs are not in one batch, because they
        take different times. Contents are compared, since equal worlds may be different objects.
        """
        world = self.setting.world
        arrays = (world.ptr, world.succ, world.prob, world.rewards, world.start_cum)
        contents = [array.tobytes() for array in (*arrays, self.problem.rewards)]
        return self.kind, self.alpha == math.inf, *contents

    def threshold(self, longest: float) -> float:
        """Return the threshold m of explicit exploration for a run; 0 if the run does not use it.

        `longest` is the longest delay of the run, in episodes.
        """
        updater = self.problem.updater.with_longest_delay(longest)
        rate = self.problem.algorithm.epsilon
        return updater.exploration(self.problem.shape, rate).threshold


class Delays:
    """Delays of the episodes of a run, drawn on the host."""

    def __init__(self, law: Law, seed: int, episodes: int) -> None:
        drawn = draw_delays(law, seed, episodes, pieces=1, on_progress=ignore_progress)[:, 0]
        self.longest = longest_delay(drawn)  # in episodes; inf if some feedback never arrives
        self.reach = int(drawn[drawn < episodes].max(initial=0))  # longest that arrives
        self.values = np.minimum(drawn, LATE).astype(np.int32)


@dataclass(eq=False)
class Job:
    """One run on a GPU: a setting, a seed and, after the run, its result."""

    prepared: Prepared
    seed: int
    delays: Delays = field(init=False)
    run: Run | None = None  # result

    @property
    def episodes(self) -> int:
        """Number of episodes K."""
        return self.prepared.setting.episodes

    @property
    def slots(self) -> int:
        """Number of slots for episodes in flight."""
        return self.delays.reach + 2

    @property
    def work(self) -> tuple[bool, int]:
        """Key of the time of the run; long runs start first."""
        sizes = self.prepared.kind.sizes
        return self.prepared.alpha == math.inf, self.episodes * sizes.H * sizes.S

    @property
    def bytes(self) -> int:
        """Memory that the run needs on the GPU, in bytes."""
        sizes = self.prepared.kind.sizes
        slot = 8 + path_type(sizes)().itemsize * (2 * sizes.H + 1)
        own = 8 * (columns.INTS + columns.FLOATS) + 4 * sizes.rows + 12 * self.prepared.points.size
        return learner_bytes(sizes) + own + slot * self.slots + 4 * self.episodes


@cache
def learner_bytes(sizes: Sizes) -> int:
    """Return the size of the state of a learner, in bytes."""
    return sum(array.nbytes for array in empty_learners(sizes, 1))


def path_type(sizes: Sizes) -> type[np.integer[Any]]:
    """Return the smallest integer type for the states and actions of episodes in flight."""
    largest = max(sizes.S, sizes.A)
    return np.uint8 if largest <= 2**8 else np.int16 if largest <= 2**15 else np.int32


class Batch:
    """Runs in one world that share a kernel, with their memory on the GPU.

    Parameters
    ----------
    jobs : sequence of Job
        The runs, with their delays.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.sizes = jobs[0].prepared.kind.sizes
        self.kernel = build_kernel(jobs[0].prepared.kind)
        self.stream = host_cuda.stream()
        self.episodes = np.array([job.episodes for job in jobs])
        self.played = np.zeros(len(jobs), np.int64)  # episodes of each run played so far
        self.first_point = starts([job.prepared.points.size for job in jobs])
        self.world, self.runs, self.learners = map(on_gpu, batch_arrays(jobs))

    def launch(self, share: float) -> None:
        """Start to play the next slice of each run, without waiting for the result.

        The slice consists of a `share` of the episodes of the run, and one more.
        """
        arguments = (share, self.world, self.runs, self.learners)
        launch(self.kernel, len(self.jobs), self.sizes.threads, self.stream, *arguments)

    def update(self) -> None:
        """Wait for the GPU, and copy the number of episodes played by each run to `played`."""
        self.played = self._copy(self.runs.ints)[:, columns.PLAYED]

    @property
    def finished(self) -> bool:
        """Whether all episodes of all runs have been played."""
        return bool((self.played >= self.episodes).all())

    def regrets(self) -> Floats:
        """Return the cumulative regret at all checkpoints, one run after another, in one array.

        The regret is 0 at checkpoints that have not been reached.
        """
        return self._copy(self.runs.regret)

    def collect(self) -> None:
        """Set the attribute `run` of each job to its result; all episodes must have been played."""
        ints, regrets = self._copy(self.runs.ints), self.regrets()
        dropped, arrived = self._copy(self.runs.dropped), self._copy(self.learners.n)
        for i, job in enumerate(self.jobs):
            part = slice(self.first_point[i], self.first_point[i + 1])
            job.run = result_of(job, ints[i], regrets[part], arrived[i], dropped[i])

    def _copy(self, array: Any) -> NDArray[Any]:
        """Return a copy of an array on the GPU, when its slice has been played."""
        copied: NDArray[Any] = array.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        return copied


def starts(sizes: Sequence[int]) -> Ints:
    """Return the index at which each of several arrays in a row begins, and that of the end."""
    return np.cumsum([0, *sizes])


def result_of(
    job: Job, ints: Ints, regret: Floats, arrived: NDArray[np.int32], dropped: NDArray[np.int32]
) -> Run:
    """Return the result of a run.

    Parameters
    ----------
    job : Job
        The run.
    ints : Ints
        Integers that the kernel stores for the run. `belated.simulation.gpu.records` defines their
        indices, such as `PLANS`.
    regret : Floats
        Cumulative regret at each checkpoint.
    arrived, dropped : NDArray
        (rows) For each row, the number of visits whose feedback has arrived, and the number of
        visits whose feedback arrives after the last episode.

    Returns
    -------
    Run
        The result.
    """
    return make_run(
        job.prepared.setting,
        job.prepared.problem,
        seed=job.seed,
        plans=int(ints[columns.PLANS]),
        arrived=arrived.astype(np.int64),
        dropped=dropped.astype(np.int64),
        regret=regret,
        max_missing=int(ints[columns.MAX_MISSING]),
        optimism_broken=int(ints[columns.OPTIMISM_BROKEN]),
        last_explored=int(ints[columns.LAST_EXPLORED]),
        longest_delay=float(job.delays.longest),
        missing=int(ints[columns.MISSING]),
        mean_delay=int(ints[columns.WAITED]) / job.episodes,
    )


def batch_arrays(jobs: Sequence[Job]) -> tuple[World, Runs, Learner]:
    """Return the arrays of a batch of runs before their first episodes, on the host."""
    prepared = jobs[0].prepared
    return (
        world_arrays(prepared),
        first_runs(jobs),
        empty_learners(prepared.kind.sizes, len(jobs)),
    )


def first_runs(jobs: Sequence[Job]) -> Runs:
    """Return the arrays of runs before their first episodes."""
    sizes = jobs[0].prepared.kind.sizes
    settings = list(dict.fromkeys(job.prepared for job in jobs))
    setting_index = {prepared: i for i, prepared in enumerate(settings)}
    own = [prepared.problem.backup_rule.constants for prepared in settings]
    constants = np.zeros((len(settings), max(each.size for each in own)))
    for i, each in enumerate(own):
        constants[i, : each.size] = each
    drawn = list(dict.fromkeys(job.delays for job in jobs))
    delay_start = dict(zip(drawn, starts([each.values.size for each in drawn]), strict=False))
    slots = [job.slots for job in jobs]
    points = [job.prepared.points for job in jobs]
    ints = np.zeros((len(jobs), columns.INTS), np.int64)
    ints[:, columns.SETTING] = [setting_index[job.prepared] for job in jobs]
    ints[:, columns.EPISODES] = [job.episodes for job in jobs]
    ints[:, columns.SLOTS] = starts(slots)[:-1]
    ints[:, columns.SLOT_COUNT] = slots
    ints[:, columns.NEXT_POINT] = starts([each.size for each in points])[:-1]
    ints[:, columns.DELAYS] = [delay_start[job.delays] for job in jobs]
    floats = np.zeros((len(jobs), columns.FLOATS))
    floats[:, columns.ALPHA] = [job.prepared.alpha for job in jobs]
    if sizes.counts_visits:
        thresholds = [job.prepared.threshold(job.delays.longest) for job in jobs]
        floats[:, columns.THRESHOLD] = thresholds
    rates = [job.prepared.problem.algorithm.epsilon for job in jobs]
    floats[:, columns.EPSILON] = rates
    return Runs(
        seeds=np.array([job.seed for job in jobs], np.uint64),
        ints=ints,
        floats=floats,
        constants=constants,
        delays=np.concatenate([each.values for each in drawn]),
        points=np.concatenate(points).astype(np.int32),
        regret=np.zeros(sum(each.size for each in points)),
        paths=np.zeros((sum(slots), 2 * sizes.H + 1), path_type(sizes)),
        arriving=np.full(sum(slots), -1, np.int32),
        after=np.zeros(sum(slots), np.int32),
        dropped=np.zeros((len(jobs), sizes.rows), np.int32),
    )


def world_arrays(prepared: Prepared) -> World:
    """Return the arrays of the world of `prepared`."""
    world, problem = prepared.setting.world, prepared.problem
    shape = world.shape
    H, S, A = shape.table
    return World(
        ptr=world.ptr,
        succ=world.succ,
        prob=world.prob,
        cum=world.cum,
        rewards=world.rewards,
        start_cum=world.start_cum,
        known=problem.rewards.reshape(H, S * A),
        v_star=optimal_table(world)[0],
        fixed=shape.fixed_values if shape.is_restricted else np.full((H, S * A), np.nan),
        allowed=np.ones((H, S, A), np.bool_) if shape.allowed is None else shape.allowed,
        terminal=shape.is_terminal,
    )
