"""Driver of the GPU engine: groups runs into batches that fit into memory, and plays them."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from belated.episode import Ints
from belated.simulation.compiled_run import OnProgress
from belated.simulation.gpu.batch import Batch, Delays, Job, Prepared
from belated.simulation.gpu.compiler import SIMULATED, check_device, host_cuda
from belated.simulation.gpu.kinds import why_not_on_gpu
from belated.simulation.gpu.selftest import check_backup
from belated.simulation.run import OnCheckpoint, Run, RunSoFar
from belated.simulation.simulation import Simulation

FIRST_SHARE: Final = 1e-3
"""Share of the episodes of each run in the first slice, by which the speed is measured."""

SLICE_S: Final = 1.0
"""Approximate time of a slice of all runs, in seconds."""

MEMORY_SHARE: Final = 0.8
"""Share of the free memory of the GPU that batches may use."""

SIMULATED_MEMORY: Final = 2**30
"""Memory of the simulated GPU, in bytes."""

OnSlice = Callable[[Batch, Ints], None]
"""Function called after each slice of a batch. Its arguments are the batch, and an array with the
number of episodes that each run had played before the slice. An exception that it raises stops all
runs."""


def make_jobs(setting: Simulation, seeds: Iterable[int]) -> list[Job]:
    """Return one job for each of `seeds`, with the same `setting`."""
    prepared = Prepared(setting)
    return [Job(prepared, seed) for seed in seeds]


def run_on_gpu(
    setting: Simulation,
    seeds: Sequence[int],
    on_progress: OnProgress,
    on_checkpoint: OnCheckpoint | None = None,
) -> list[Run]:
    """Simulate one setting with several seeds on a GPU.

    Parameters
    ----------
    setting : Simulation
        Simulation to run.
    seeds : sequence of int
        Seeds of the runs.
    on_progress : callable
        Function called with the number of episodes played since its last call. An exception that
        it raises stops the runs.
    on_checkpoint : callable, optional
        Function called for each checkpoint of each run, after the slice of episodes that contains
        the checkpoint.

    Returns
    -------
    list[Run]
        Runs in the order of `seeds`.

    Raises
    ------
    ValueError
        If the GPU engine cannot run the setting.
    GpuUnavailableError
        If there is no GPU.
    """
    if reason := why_not_on_gpu(setting):
        raise ValueError(f"engine='gpu' is not possible: {reason}; use 'auto'.")

    def on_slice(batch: Batch, before: Ints) -> None:
        on_progress(int((batch.played - before).sum()))
        if on_checkpoint is not None:
            report(batch, before, on_checkpoint)

    return run_together([(setting, seeds)], on_slice)[0]


def report(batch: Batch, before: Ints, on_checkpoint: OnCheckpoint) -> None:
    """Call `on_checkpoint` for each checkpoint that a run of `batch` reached in the last slice.

    `before` holds the number of episodes that each run had played before the slice.
    """
    regrets = batch.regrets()
    for i, job in enumerate(batch.jobs):
        points = job.prepared.points
        for j in ((points > before[i]) & (points <= batch.played[i])).nonzero()[0]:
            regret = float(regrets[batch.first_point[i] + j])
            on_checkpoint(RunSoFar(job.seed, job.episodes, int(points[j]), regret))


def run_together(
    parts: Sequence[tuple[Simulation, Sequence[int]]],
    on_slice: OnSlice = lambda batch, before: None,
) -> list[list[Run]]:
    """Simulate several settings on a GPU at the same time, each with its own seeds.

    The GPU engine must support all settings. Returns the runs of each, in the order of its seeds.
    `on_slice` is called after each slice of a batch; see `OnSlice`.
    """
    jobs = [make_jobs(simulation, seeds) for simulation, seeds in parts]
    run_jobs([job for own in jobs for job in own], on_slice)
    return [[job.run for job in own if job.run is not None] for own in jobs]


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
    check_device()
    for prepared in dict.fromkeys(job.prepared for job in jobs):
        check_backup(prepared.kind.backup, prepared.problem)
    draw_all_delays(jobs)
    remaining = sorted(jobs, key=lambda job: job.work, reverse=True)
    while remaining:
        chosen, remaining = take_fitting(remaining, free_memory())
        batches = [Batch(group) for group in group_jobs(chosen)]
        try:
            play_batches(batches, on_slice)
        finally:
            host_cuda.synchronize()


def draw_all_delays(jobs: Sequence[Job]) -> None:
    """Draw the delays of all `jobs` on the CPU; runs with the same law and seed share them."""
    draws = [(job.prepared.setting.law, job.seed, job.episodes) for job in jobs]
    with ThreadPoolExecutor() as pool:
        drawn = {each: pool.submit(Delays, *each) for each in dict.fromkeys(draws)}
    for job, each in zip(jobs, draws, strict=True):
        job.delays = drawn[each].result()


def free_memory() -> int:
    """Return the number of bytes that batches may use on the GPU."""
    if SIMULATED:
        return SIMULATED_MEMORY
    free, _ = host_cuda.current_context().get_memory_info()
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


def play_batches(batches: Sequence[Batch], on_slice: OnSlice) -> None:
    """Play all episodes of `batches`, which share the GPU.

    Each slice plays the same share of the episodes of all runs, so that short and long runs end
    together. The share is adapted so that a slice takes about `SLICE_S`. `on_slice` is called for
    each batch after each slice; see `OnSlice`.
    """
    share = FIRST_SHARE
    remaining = list(batches)
    while remaining:
        began = time.perf_counter()
        for batch in remaining:
            batch.launch(share)
        for batch in remaining:
            before = batch.played
            batch.update()
            if batch.finished:
                batch.collect()
            on_slice(batch, before)
        took = time.perf_counter() - began
        share *= min(4.0, SLICE_S / max(took, 1e-6))
        remaining = [batch for batch in remaining if not batch.finished]
