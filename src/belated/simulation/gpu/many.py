"""Runs on a GPU: of one setting, with progress and checkpoints, or of several settings."""

import sys
from collections import Counter
from collections.abc import Sequence

from belated.episode import Ints
from belated.simulation.compiled_run import OnProgress
from belated.simulation.gpu.batch import Batch
from belated.simulation.gpu.engine import make_jobs, run_jobs
from belated.simulation.gpu.kinds import why_not_on_gpu
from belated.simulation.reporting import OnCheckpoint, RunSoFar
from belated.simulation.run import Run
from belated.simulation.simulation import Simulation


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
    jobs = make_jobs(setting, seeds)

    def on_slice(batch: Batch, before: Ints) -> None:
        on_progress(int((batch.played - before).sum()))
        if on_checkpoint is not None:
            report(batch, before, on_checkpoint)

    run_jobs(jobs, on_slice)
    return [job.run for job in jobs if job.run is not None]


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


def run_together(parts: Sequence[tuple[Simulation, Sequence[int]]]) -> list[list[Run]]:
    """Simulate several settings on a GPU at the same time, each with its own seeds.

    The GPU engine must support all settings. Returns the runs of each, in the order of its seeds.
    """
    jobs = [make_jobs(simulation, seeds) for simulation, seeds in parts]
    run_jobs([job for own in jobs for job in own], lambda batch, before: None)
    return [[job.run for job in own if job.run is not None] for own in jobs]


def explain_cpu(reasons: Sequence[str], total: str) -> None:
    """Print a message on stderr if some computations run on the CPU instead of a GPU.

    `reasons` says why, for each of these computations; `total` is the number of all, such as "9
    cells".
    """
    if reasons:
        counts = Counter(reasons).most_common()
        listed = "; ".join(f"{reason} ({count})" for reason, count in counts)
        message = f"{len(reasons)} of {total} run on the CPU: {listed}."
        print(message, file=sys.stderr, flush=True)
