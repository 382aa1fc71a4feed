"""Batch of runs on the GPU: runs in one world that share a kernel, played in slices of episodes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from belated.delays.laws import Law, longest_delay
from belated.episode import Floats, Ints
from belated.exact.values import optimal_table
from belated.learner.problem import LearningProblem
from belated.learner.status import share_in_flight
from belated.simulation.gpu import kernel as columns
from belated.simulation.gpu.compiler import SIMULATED, cuda, open_stream
from belated.simulation.gpu.delays import (
    LATE,
    MAX_DRAW_THREADS,
    DelayTable,
    delay_kernel,
    join_tables,
)
from belated.simulation.gpu.kernel import Kind, build_kernel
from belated.simulation.run import Run
from belated.simulation.simulation import Simulation, draw_delays, ignore_progress
from belated.theory import psi

DRAW_THREADS: Final = 4 if SIMULATED else MAX_DRAW_THREADS
"""Number of threads of a block in the kernels that process delays."""

MAX_SLICE: Final = 20_000
"""Largest number of episodes of a run in one slice. It limits the memory for their delays."""

Draws = tuple[Law, int, int]
"""Law, seed and number of episodes, which determine the delays of a run."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A setting, and the data that all its runs on a GPU share."""

    setting: Simulation
    problem: LearningProblem
    law: Law
    kind: Kind
    points: Ints  # checkpoints

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

    @cached_property
    def names(self) -> dict[str, Any]:
        """Descriptions of world, base, updater and delay, as keyword arguments of `Run`."""
        return self.setting.part_names()

    def threshold(self, longest: float) -> float:
        """Return the threshold m of explicit exploration for a run; 0 if the run does not use it.

        `longest` is the longest delay of the run, in episodes.
        """
        updater = self.problem.updater.with_longest_delay(longest)
        rate = self.problem.algorithm.exploration_rate
        rule = updater.exploration(self.problem.shape, rate)
        return 0.0 if rule is None else rule.threshold


@dataclass(eq=False)
class Job:
    """One run on a GPU: a setting, a seed and, after the run, its result."""

    prepared: Prepared
    seed: int
    longest: float = 0.0  # longest delay in episodes; inf if some feedback never arrives
    reach: int = 0  # longest delay of feedback that arrives, or more
    drawn: Ints | None = None  # delays drawn by the host
    run: Run | None = None  # result

    @property
    def episodes(self) -> int:
        """Number of episodes K."""
        return self.prepared.setting.episodes

    @property
    def draws(self) -> Draws:
        """Law, seed and number of episodes, which determine the delays of the run."""
        return self.prepared.law, self.seed, self.episodes

    @property
    def ring_size(self) -> int:
        """Number of slots for episodes in flight in the ring buffer of the run."""
        return min(self.reach, self.episodes) + 2

    @property
    def work(self) -> float:
        """Rough estimate of the time of the run, in arbitrary units; long runs start first."""
        alpha, sizes = self.prepared.alpha, self.prepared.kind.sizes
        plans = 1.0 if alpha == math.inf else alpha / (alpha + 2000.0)
        plan = 1.0 + sizes.S * sizes.A / sizes.threads * (1.5 if sizes.stochastic else 1.0)
        return self.episodes * sizes.H * (1.0 + 10.0 * plans * plan)

    def draw(self) -> None:
        """Draw all delays of the run on the host, and set `drawn`, `longest` and `reach`.

        This is used if the law has no table, or if a delay of the run is in doubt: its random
        number is so close to a limit of the table that the table may give another delay than the
        law.
        """
        law, seed = self.prepared.law, self.seed
        delays = draw_delays(law, seed, self.episodes, pieces=1, on_progress=ignore_progress)
        self.drawn = delays[:, 0]
        self.longest = longest_delay(self.drawn)
        self.reach = int(self.drawn[self.drawn < self.episodes].max(initial=0))

    @property
    def bytes(self) -> int:
        """Memory that the run needs on the GPU, in bytes."""
        kind = self.prepared.kind
        slot = 8 + path_type(kind)().itemsize * (2 * kind.sizes.H + 1)
        delays = 4 * min(self.episodes, MAX_SLICE)
        return kind.bytes + self.prepared.points.size * 12 + self.ring_size * slot + delays


def path_type(kind: Kind) -> type[np.integer[Any]]:
    """Return the smallest integer type for the states and actions of episodes in flight.

    `kind` holds the numbers of states and actions.
    """
    largest = max(kind.sizes.S, kind.sizes.A)
    return np.uint8 if largest <= 2**8 else np.int16 if largest <= 2**15 else np.int32


class Batch:
    """Runs in one world that share a kernel, with their memory on the GPU.

    Parameters
    ----------
    jobs : sequence of Job
        The runs, longest first.
    tables : dict
        Map from each delay law that has a table to its table.
    rank : int
        Priority of the batch on the GPU; 0 is the highest. Batches with longer runs have a lower
        rank.
    """

    def __init__(self, jobs: Sequence[Job], tables: dict[Law, DelayTable], rank: int = 0) -> None:
        self.jobs = jobs
        self.kind = jobs[0].prepared.kind
        self.kernel = build_kernel(self.kind)
        self.stream = open_stream(rank)
        self.episodes = np.array([job.episodes for job in jobs])
        self.played = np.zeros(len(jobs), np.int64)  # episodes of each run played so far
        self._upload(tables)
        # Memory is not allocated for each slice, because freeing it waits for the whole GPU.
        self.delays = cuda.device_array(
            (len(jobs), min(int(self.episodes.max()), MAX_SLICE)), np.int32
        )

    def _upload(self, tables: dict[Law, DelayTable]) -> None:
        jobs, kind, runs = self.jobs, self.kind, len(self.jobs)
        settings = list({id(job.prepared): job.prepared for job in jobs}.values())
        setting_index = {id(prepared): i for i, prepared in enumerate(settings)}
        width = max(prepared.problem.backup_rule.constants.size for prepared in settings)
        constants = np.zeros((len(settings), width))
        for i, prepared in enumerate(settings):
            own = prepared.problem.backup_rule.constants
            constants[i, : own.size] = own
        ints = np.zeros((runs, columns.INTS), np.int64)
        ring_sizes = np.array([job.ring_size for job in jobs], np.int64)
        sizes = np.array([job.prepared.points.size for job in jobs], np.int64)
        self.first_point = np.concatenate([[0], np.cumsum(sizes)])
        ints[:, columns.SETTING] = [setting_index[id(job.prepared)] for job in jobs]
        ints[:, columns.EPISODES] = [job.episodes for job in jobs]
        ints[:, columns.RING] = np.cumsum(ring_sizes) - ring_sizes
        ints[:, columns.RING_SIZE] = ring_sizes
        ints[:, columns.NEXT_POINT] = self.first_point[:-1]
        floats = np.zeros((runs, columns.FLOATS))
        floats[:, columns.ALPHA] = [job.prepared.alpha for job in jobs]
        if kind.sizes.counts_visits:
            floats[:, columns.THRESHOLD] = [job.prepared.threshold(job.longest) for job in jobs]
        rates = [job.prepared.problem.algorithm.exploration_rate for job in jobs]
        floats[:, columns.EPSILON] = rates
        slots = int(ring_sizes.sum())
        self.seeds = send(np.array([job.seed for job in jobs], np.uint64))
        self.ints = send(ints)
        self.floats = send(floats)
        self.constants = send(constants)
        self.points = send(np.concatenate([job.prepared.points for job in jobs]).astype(np.int32))
        self.regret = send(np.zeros(int(sizes.sum())))
        self.world = tuple(send(array) for array in world_arrays(settings[0]))
        self.state = [
            send(np.zeros((runs, 2, kind.sizes.S))),
            cuda.device_array((slots, 2 * kind.sizes.H + 1), path_type(kind)),
            send(np.full(slots, -1, np.int32)),
            cuda.device_array(slots, np.int32),
            zeros((runs, kind.count_rows), np.int32),
        ]
        for name, (length, dtype) in kind.learner_shapes().items():
            value = np.inf if name == "q" else 0
            self.state.append(zeros((runs, length), dtype, value))
        rows = 1 if kind.rows_are_shared else kind.scratch_shapes()["q"][0]
        self.state.append(cuda.device_array((runs, rows), np.float64))
        self._upload_tables(tables)

    def _upload_tables(self, tables: dict[Law, DelayTable]) -> None:
        laws = list({job.prepared.law: None for job in self.jobs if job.drawn is None})
        index = {law: i for i, law in enumerate(laws)}
        used = [tables[law] for law in laws]
        self.host_drawn = [i for i, job in enumerate(self.jobs) if job.drawn is not None]
        table = [-1 if job.drawn is not None else index[job.prepared.law] for job in self.jobs]
        self.tables = [
            send(np.array(table, np.int32)),
            *(send(array) for array in join_tables(used)),
        ]

    def launch(self, budget: int) -> None:
        """Start to play the next slice of each run, without waiting for the result.

        The slice of a run ends when the work of the run reaches `budget`. An episode is 1 unit of
        work, and a plan is another `PLAN_WORK` units.
        """
        runs = len(self.jobs)
        for i in self.host_drawn:
            drawn = self.jobs[i].drawn
            assert drawn is not None
            first = int(self.played[i])
            own = np.minimum(drawn[first : first + self.delays.shape[1]], LATE).astype(np.int32)
            if own.size:
                self.delays[i, : own.size].copy_to_device(own, stream=self.stream)
        if len(self.host_drawn) < runs:
            draw = delay_kernel()[runs, DRAW_THREADS, self.stream]
            draw(self.ints, self.seeds, *self.tables, self.delays)
        self.kernel[runs, self.kind.sizes.threads, self.stream](
            budget,
            self.seeds,
            self.ints,
            self.floats,
            self.constants,
            self.delays,
            self.points,
            self.regret,
            *self.world,
            *self.state,
        )
        self.done = cuda.event()
        self.done.record(self.stream)

    @property
    def gpu_share(self) -> float:
        """Share of the GPU that is occupied if all runs of the batch are played at the same time.

        1 is the whole GPU.
        """
        return len(self.jobs) * self.kind.gpu_share

    @property
    def is_idle(self) -> bool:
        """Whether the slice started by the last call of `launch` has been played."""
        return SIMULATED or bool(self.done.query())

    def update(self) -> None:
        """Wait for the GPU, and copy the number of episodes played by each run to `played`."""
        ints = self.ints.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        self.played = ints[:, columns.PLAYED]

    @property
    def finished(self) -> bool:
        """Whether all episodes of all runs have been played."""
        return bool((self.played >= self.episodes).all())

    def regrets(self) -> Floats:
        """Return the cumulative regret at all checkpoints, one run after another, in one array.

        The regret is 0 at checkpoints that have not been reached.
        """
        regrets: Floats = self.regret.copy_to_host(stream=self.stream)
        self.stream.synchronize()
        return regrets

    def collect(self) -> None:
        """Set the attribute `run` of each job to its result; all episodes must have been played."""
        self.stream.synchronize()
        ints = self.ints.copy_to_host()
        regrets = self.regret.copy_to_host()
        dropped, arrived = self.state[4].copy_to_host(), self.state[5].copy_to_host()
        for i, job in enumerate(self.jobs):
            part = slice(self.first_point[i], self.first_point[i + 1])
            job.run = make_run(job, ints[i], regrets[part], arrived[i], dropped[i])


def make_run(
    job: Job, ints: Ints, regret: Floats, arrived: NDArray[np.int32], dropped: NDArray[np.int32]
) -> Run:
    """Return the result of a run.

    Parameters
    ----------
    job : Job
        The run.
    ints : Ints
        Integers that the kernel stores for the run. `belated.simulation.gpu.kernel` defines their
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
    problem, episodes = job.prepared.problem, job.episodes
    mean_delay = int(ints[columns.WAITED]) / episodes
    return Run(
        seed=job.seed,
        episodes=episodes,
        episode=job.prepared.points,
        regret=regret,
        updates=int(ints[columns.PLANS]) - 1,
        epochs=int(ints[columns.PLANS]),
        max_missing=int(ints[columns.MAX_MISSING]),
        optimism_broken=int(ints[columns.OPTIMISM_BROKEN]),
        last_explored=int(ints[columns.LAST_EXPLORED]),
        longest_delay=float(job.longest),
        missing=int(ints[columns.MISSING]),
        mean_delay=mean_delay,
        psi=psi(mean_delay, episodes, problem.algorithm.failure_probability),
        in_flight=share_in_flight(dropped.astype(np.int64), arrived.astype(np.int64)).reshape(
            -1, problem.shape.states, problem.shape.actions
        ),
        **job.prepared.names,
    )


def world_arrays(prepared: Prepared) -> tuple[NDArray[Any], ...]:
    """Return the arrays of the world of `prepared`, in the order of the fields of `World`."""
    world, problem = prepared.setting.world, prepared.problem
    H, S, A = world.shape.table
    known = problem.rewards.reshape(H, S * A)
    fixed = world.shape.fixed_values if world.shape.is_restricted else np.zeros((1, 1))
    return (
        world.ptr.astype(np.uint32),
        world.succ.astype(np.uint32),
        np.array(world.prob),
        np.array(world.cum),
        world.rewards.reshape(-1, S * A).copy(),
        np.ascontiguousarray(known if prepared.kind.sizes.known_per_step else known[:1]),
        np.array(world.start_cum),
        optimal_table(world)[0].copy(),
        np.array(fixed),
    )


def send(array: NDArray[Any]) -> Any:
    """Return a copy of `array` in the memory of the GPU."""
    return cuda.to_device(np.ascontiguousarray(array))


def zeros(shape: tuple[int, ...], dtype: Any, value: float = 0) -> Any:
    """Return an array in the memory of the GPU whose entries are all `value`.

    `shape` and `dtype` are the shape and the type of the array.
    """
    return cuda.to_device(np.full(shape, value, dtype))
