"""Driver of the GPU engine: groups runs into batches that fit into memory, and plays them."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np

from belated.delays.laws import Law, longest_delay
from belated.episode import Ints
from belated.simulation.gpu.batch import DRAW_THREADS, Batch, Draws, Job, Prepared
from belated.simulation.gpu.compiler import SIMULATED, check_device, cuda
from belated.simulation.gpu.delays import (
    DelayTable,
    doubt_kernel,
    has_table,
    join_tables,
    make_table,
    range_kernel,
)
from belated.simulation.gpu.kinds import kind_of
from belated.simulation.gpu.selftest import check_backup
from belated.simulation.simulation import Simulation

FIRST_BUDGET: Final = 1000
"""Work allowed for a run in each of the first slices, by which the speed is measured; for its unit
see `Batch.launch`."""

SLICE_S: Final = 1.0
"""Approximate time of a slice, in seconds."""

POLL_INTERVAL_S: Final = 0.001
"""Time in seconds between two checks whether the GPU has finished a slice."""

MEMORY_SHARE: Final = 0.8
"""Share of the free memory of the GPU that batches may use."""

BATCH_SHARE: Final = 0.25
"""Largest share of the GPU that the runs of one batch may occupy together."""

SIMULATED_MEMORY: Final = 2**30
"""Memory of the simulated GPU, in bytes."""

OnSlice = Callable[[Batch, Ints], None]
"""Function called after each slice of a batch. Its arguments are the batch, and an array with the
number of episodes that each run had played before the slice. An exception that it raises stops all
runs."""


def prepare(setting: Simulation) -> Prepared:
    """Return `setting` with the data that all its runs share.

    The data are the learning problem, the delay law, the kind of the kernel and the checkpoints.
    """
    problem = setting.problem(0)
    kind = kind_of(setting.world, problem)
    return Prepared(setting, problem, setting.law, kind, setting.checkpoints())


def make_jobs(setting: Simulation, seeds: Iterable[int]) -> list[Job]:
    """Return one job for each of `seeds`, with the same `setting`."""
    prepared = prepare(setting)
    return [Job(prepared, seed) for seed in seeds]


def run_jobs(jobs: Sequence[Job], on_slice: OnSlice) -> None:
    """Run all `jobs`, and set the attribute `run` of each when its batch is finished.

    Parameters
    ----------
    jobs : sequence of Job
        The runs. Runs of different settings share the GPU.
    on_slice : callable
        Function called after each slice of a batch; see `OnSlice`.

    Raises
    ------
    GpuUnavailableError
        If there is no GPU.
    GpuMismatchError
        If the results of a backup on the GPU and on the CPU differ in any bit.
    """
    if not jobs:
        return
    check_device()
    for prepared in {id(job.prepared): job.prepared for job in jobs}.values():
        check_backup(prepared.kind.backup, prepared.problem)
    tables = draw_all_delays(jobs)
    remaining = sorted(jobs, key=lambda job: job.work, reverse=True)
    while remaining:
        chosen, remaining = take_fitting(remaining, free_memory())
        groups = divide_groups(group_jobs(chosen))
        batches = [Batch(group, tables, rank) for rank, group in enumerate(groups)]
        try:
            play_batches(batches, on_slice)
        finally:
            cuda.synchronize()


def draw_all_delays(jobs: Sequence[Job]) -> dict[Law, DelayTable]:
    """Return a map from each law with a table to its table, and set the longest delay of each job.

    All delays of a job are drawn on the host if its law has no table, or if one of its delays is in
    doubt: the random number is so close to a limit of the table that the table may give another
    delay than the law.
    """
    keys = {(job.seed, job.episodes) for job in jobs}
    ranges = find_ranges(sorted(keys))
    by_law: dict[Law, list[Job]] = {}
    for job in jobs:
        by_law.setdefault(job.prepared.law, []).append(job)
    tables: dict[Law, DelayTable] = {}
    for law, own in by_law.items():
        table = None
        if has_table(law):
            u = np.array([ranges[job.seed, job.episodes] for job in own])
            table = make_table(law, u[:, 1].max(), max(job.episodes for job in own))
        if table is not None:
            tables[law] = table
            longest = law.at(u)
            for job, delays, reach in zip(own, longest, table(u[:, 1]), strict=True):
                job.longest, job.reach = longest_delay(delays), int(reach)
    doubtful = find_doubtful(jobs, tables)
    for job in jobs:
        if job.prepared.law not in tables or job.draws in doubtful:
            job.draw()
    return tables


def find_ranges(
    pairs: Sequence[tuple[int, int]],
) -> dict[tuple[int, int], tuple[float, float]]:
    """Return the smallest and the largest random number used for the delays of each run.

    The longest delay of a run is that of its smallest or its largest random number: the delay
    increases with the number, except that feedback may never arrive if the number is small.

    Parameters
    ----------
    pairs : sequence of tuple[int, int]
        Seed and number of episodes of each run.

    Returns
    -------
    dict[tuple[int, int], tuple[float, float]]
        Map from each of `pairs` to the smallest and the largest random number.
    """
    seeds = cuda.to_device(np.array([seed for seed, _ in pairs], np.uint64))
    episodes = cuda.to_device(np.array([episodes for _, episodes in pairs], np.int64))
    found = cuda.to_device(np.zeros((len(pairs), 2)))
    range_kernel()[len(pairs), DRAW_THREADS](seeds, episodes, found)
    return dict(zip(pairs, map(tuple, found.copy_to_host().tolist()), strict=True))


def find_doubtful(jobs: Sequence[Job], tables: dict[Law, DelayTable]) -> set[Draws]:
    """Return the (law, seed, number of episodes) of all `jobs` in which a delay is in doubt.

    A delay is in doubt if its random number is at most `belated.simulation.gpu.delays.DOUBT` away
    from a limit of the table, so that the table may give another delay than the law. `tables` maps
    each law that has a table to its table. Jobs whose law has no table are ignored.
    """
    index = {law: i for i, law in enumerate(tables)}
    draws = list({job.draws: None for job in jobs if job.prepared.law in tables})
    if not draws:
        return set()
    found = cuda.to_device(np.zeros(len(draws), np.int32))
    doubt_kernel()[len(draws), DRAW_THREADS](
        cuda.to_device(np.array([seed for _, seed, _ in draws], np.uint64)),
        cuda.to_device(np.array([episodes for _, _, episodes in draws], np.int64)),
        cuda.to_device(np.array([index[law] for law, _, _ in draws], np.int32)),
        *map(cuda.to_device, join_tables(list(tables.values()))),
        found,
    )
    return {one for one, doubtful in zip(draws, found.copy_to_host(), strict=True) if doubtful}


def free_memory() -> int:
    """Return the number of bytes that batches may use on the GPU."""
    if SIMULATED:
        return SIMULATED_MEMORY
    free, _ = cuda.current_context().get_memory_info()
    return int(MEMORY_SHARE * free)


def take_fitting(jobs: Sequence[Job], memory: int) -> tuple[list[Job], list[Job]]:
    """Return the first of `jobs`, as many as fit into `memory` bytes together, and the others.

    Raises MemoryError if the first job alone does not fit.
    """
    used = 0
    for i, job in enumerate(jobs):
        used += job.bytes
        if used > memory:
            if i == 0:
                raise MemoryError(
                    f"A run needs {used:,} bytes on the GPU, but only {memory:,} are free."
                )
            return list(jobs[:i]), list(jobs[i:])
    return list(jobs), []


def group_jobs(jobs: Iterable[Job]) -> list[list[Job]]:
    """Return `jobs` grouped by `Prepared.group`; the order within each group is kept."""
    groups: dict[object, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.prepared.group, []).append(job)
    return list(groups.values())


def divide_groups(groups: Iterable[Sequence[Job]]) -> list[Sequence[Job]]:
    """Return the parts into which each of `groups` is divided, as lists of jobs.

    The parts of a group have about the same size and occupy at most `BATCH_SHARE` of the GPU, or
    consist of a single job.
    """
    parts: list[Sequence[Job]] = []
    for group in groups:
        count = math.ceil(len(group) * group[0].prepared.kind.gpu_share / BATCH_SHARE)
        size = math.ceil(len(group) / count)
        parts += [group[first : first + size] for first in range(0, len(group), size)]
    return parts


def play_batches(batches: Sequence[Batch], on_slice: OnSlice) -> None:
    """Play all episodes of `batches`, which share the GPU.

    A batch starts when there is room on the GPU for all of its runs, and keeps this room until it
    is finished. Otherwise, the next slice of a batch with long runs would have to wait until slices
    of other batches end. All batches have the same budget per slice, which is adapted so that a
    slice of the first unfinished batch takes about `SLICE_S`. `on_slice` is called after each
    slice; see `OnSlice`.
    """
    budget = FIRST_BUDGET
    waiting = list(range(len(batches)))
    running: dict[int, float] = {}  # start of the slice by number of the batch

    def start(i: int) -> None:
        running[i] = time.perf_counter()
        batches[i].launch(budget)

    def start_waiting() -> None:
        for i in list(waiting):
            used = sum(batches[j].gpu_share for j in running)
            if not running or used + batches[i].gpu_share <= 1.0:
                waiting.remove(i)
                start(i)

    start_waiting()
    while running:
        first = min(running)
        done = [i for i in running if batches[i].is_idle]
        if not done:
            time.sleep(POLL_INTERVAL_S)
        for i in done:
            batch = batches[i]
            took = time.perf_counter() - running.pop(i)
            if i == first:
                wanted = int(budget * SLICE_S / max(took, 1e-6))
                budget = max(1, budget // 2, min(4 * budget, wanted))
            before = batch.played
            batch.update()
            if batch.finished:
                batch.collect()
            on_slice(batch, before)
            if not batch.finished:
                start(i)
        if done:
            start_waiting()
