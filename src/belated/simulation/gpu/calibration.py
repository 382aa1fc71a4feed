"""Calibration of many settings on a GPU: all settings try their current scales at the same time."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from belated.episode import Ints
from belated.learner.bases import BASE_NAMES
from belated.mdp.worlds import world as parse_world
from belated.simulation.calibrate import ScaleSearch, check_base
from belated.simulation.calibration_table import CalibratedScale, CalibrationTask
from belated.simulation.gpu.batch import Batch
from belated.simulation.gpu.compiler import check_device
from belated.simulation.gpu.engine import make_jobs, run_jobs
from belated.simulation.gpu.kinds import why_not_on_gpu
from belated.simulation.setting import Setting

FIRST_RUNS: Final = 20
"""Number of runs of a trial in its first round. Most insufficient scales fail in them, so that the
other runs, which are computed in a second round, are needed for few scales."""


def make_setting(task: CalibrationTask, scale: float) -> Setting:
    """Return the setting of `task` with the bonus scale `scale` and one checkpoint, at the end."""
    base = check_base(BASE_NAMES.parse(task.base), task.base)
    return Setting(
        world=parse_world(task.world),
        base=replace(base, scale=scale),
        updater=task.updater,
        delay=task.delay,
        stages=task.stages,
        episodes=task.episodes,
        optimism=task.optimism,
        every=task.episodes,
    )


def split_tasks(
    tasks: Sequence[CalibrationTask],
) -> tuple[list[CalibrationTask], list[CalibrationTask]]:
    """Return the tasks that the GPU engine supports, and the others.

    A message on stderr says why the others cannot run on a GPU. Raise GpuUnavailableError if there
    is no GPU.
    """
    check_device()
    reasons = {task: why_not_on_gpu(make_setting(task, 1.0)) for task in tasks}
    counts = Counter(reason for reason in reasons.values() if reason is not None)
    if counts:
        listed = "; ".join(f"{reason} ({count})" for reason, count in counts.most_common())
        message = f"{counts.total()} of {len(tasks)} settings run on the CPU: {listed}."
        print(message, file=sys.stderr, flush=True)
    on_gpu = [task for task, reason in reasons.items() if reason is None]
    return on_gpu, [task for task, reason in reasons.items() if reason is not None]


def calibrate_together(tasks: Sequence[CalibrationTask]) -> Iterator[CalibratedScale]:
    """Yield the calibrated scales of `tasks`, in the order in which they are found.

    The GPU engine must support all `tasks`. In each round, every unfinished search contributes the
    next runs of its current trial, and the GPU computes the runs of all searches at the same time.
    """
    searches = {
        task: ScaleSearch(
            task.seeds, level=task.level, lowest=task.lowest, tolerance=task.tolerance
        )
        for task in tasks
    }
    while searches:
        jobs = {}
        for task, search in searches.items():
            is_new = len(search.remaining) == task.runs
            seeds = search.remaining[: FIRST_RUNS if is_new else None]
            jobs[task] = make_jobs(make_setting(task, search.scale), seeds)
        run_jobs([job for own in jobs.values() for job in own], ignore_slice)
        for task, own in jobs.items():
            search = searches[task]
            search.add([job.run for job in own if job.run is not None])
            if not search.remaining:
                del searches[task]
                yield task.row(search.result)


def ignore_slice(batch: Batch, before: Ints) -> None:
    """Do nothing after a slice of `batch`; `before` is ignored, see `OnSlice`."""
