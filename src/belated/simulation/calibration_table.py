"""`calibrate_table`: calibration of many settings at the same time, with a file of the results.

The file is a JSON array with one line for each setting. A setting that is in the file is not
calibrated again, so that an interrupted command continues where it stopped.
"""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, get_args

from belated.check import check_choice, check_integer
from belated.files import write_atomically
from belated.learner.bases import BASE_NAMES
from belated.learner.bases.base import Base
from belated.simulation.calibrate import (
    FIRST_SEED,
    SEEDS_PER_STEP,
    NotOptimisticError,
    Search,
    Trial,
    check_base,
    clopper_pearson,
    search_scales,
    with_scale,
)
from belated.simulation.many import Device, run_seeds
from belated.simulation.run import Run
from belated.simulation.simulation import (
    OptimismCheck,
    Options,
    Setting,
    Simulation,
    normalize_delay,
)

RUNS_ON_GPU: Final = 20
"""Number of runs of a trial that a GPU computes in a round. Most insufficient scales fail in the
first round, so that few scales need the other runs."""

Part = tuple[Simulation, Sequence[int]]
"""Simulation to run, and the seeds of its runs."""


@dataclass(frozen=True, kw_only=True)
class CalibrationTask(Setting):
    """Setting to calibrate, whose base has no scale, and the requirement on optimism."""

    optimism: OptimismCheck = "start"
    level: float = 0.95
    first_seed: int = FIRST_SEED
    runs: int = 40  # number of runs at each scale
    lowest: float = 1e-4
    tolerance: float = 1.2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("optimism", self.optimism, get_args(OptimismCheck))
        check_integer("episodes", self.episodes, 1)
        check_integer("runs", self.runs, 1)

    def search(self, on_trial: Callable[[Trial], None] | None = None) -> Search:
        """Return the search for the scale of this setting; `on_trial` is as in `calibrate`."""
        return search_scales(
            range(self.first_seed, self.first_seed + self.runs),
            level=self.level,
            lowest=self.lowest,
            tolerance=self.tolerance,
            on_trial=on_trial,
        )

    def build_unscaled(self) -> Simulation:
        """Return the simulation with the published bonus and one checkpoint, at the end."""
        base = check_base(self.parse_base(), self.base)
        return self.build(base=base, optimism=self.optimism, every=self.episodes)


@dataclass(frozen=True, kw_only=True)
class CalibratedScale(CalibrationTask):
    """Setting with its calibrated scale."""

    scale: float | None  # None if no scale up to `MAX_SCALE` was sufficient
    held: int  # number of runs at this scale in which optimism held
    mean_regret: float | None  # mean of the regret after the last episode at this scale
    at_floor: bool  # whether the scale is the lowest one allowed

    @property
    def task(self) -> CalibrationTask:
        """The task of which this is the result: all fields except those of the result."""
        names = [field.name for field in fields(CalibrationTask)]
        return CalibrationTask(**{name: getattr(self, name) for name in names})

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the probability that optimism holds in a run with `scale`."""
        return clopper_pearson(self.held, self.runs)


COLUMNS: Final = (
    *("world", "base", "updater", "delay", "stages", "episodes", "optimism", "level"),
    *("first_seed", "runs", "lowest", "tolerance", "scale", "held", "mean_regret", "at_floor"),
)
"""Keys of a row of the file, in their order."""


def calibrate_table(
    tasks: Iterable[CalibrationTask],
    *,
    path: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    device: Device = "cpu",
    on_row: Callable[[CalibratedScale], None] | None = None,
) -> list[CalibratedScale]:
    """Calibrate many settings, and write their scales to a file.

    Parameters
    ----------
    tasks : iterable of CalibrationTask
        Settings to calibrate.
    path : str or PathLike, optional
        File to write the scales to, after each setting. If it exists, its scales are kept, and its
        settings are not calibrated again.
    jobs : int
        Number of processes, each of which calibrates one setting at a time. The results do not
        depend on it. With 1, this process does the work.
    device : {"cpu", "gpu"}
        "gpu" calibrates the settings that the GPU engine supports on a GPU, all at the same time,
        with identical results. The other settings are calibrated on the CPU afterwards.
    on_row : callable, optional
        Function called with each new `CalibratedScale` when it has been computed. Scales that were
        read from the file are not passed to it.

    Returns
    -------
    list[CalibratedScale]
        Calibrated scales in the order of `tasks`.

    Raises
    ------
    GpuUnavailableError
        If `device` is "gpu" and there is no GPU.

    Examples
    --------
    >>> task = CalibrationTask(world="chain-3", base="ucbvi-ch", episodes=100, runs=20)
    >>> [row] = calibrate_table([task])
    >>> row.held >= 19, row.task == task
    (True, True)
    """
    tasks = list(dict.fromkeys(tasks))
    check_integer("jobs", jobs, 1)
    check_choice("device", device, get_args(Device))
    found: dict[CalibrationTask, CalibratedScale] = {}
    if path is not None and Path(path).exists():
        found = {row.task: row for row in read_table(path)}
    for row in _calibrate_all([task for task in tasks if task not in found], jobs, device):
        found[row.task] = row
        if path is not None:
            order = dict.fromkeys([*(key for key in found if key not in tasks), *tasks])
            write_table(path, [found[key] for key in order if key in found])
        if on_row is not None:
            on_row(row)
    return [found[task] for task in tasks]


def _calibrate_all(
    tasks: Sequence[CalibrationTask], jobs: int, device: Device
) -> Iterator[CalibratedScale]:
    """Yield the calibrated scales of `tasks`, in the order in which they are found.

    `jobs` is the number of processes. With several processes, the settings with the most episodes
    are started first. `device` is as in `calibrate_table`.
    """
    if device == "gpu":
        from belated.simulation.gpu.engine import run_together

        on_gpu, tasks = _split_tasks(tasks)
        yield from _calibrate_together(on_gpu, run_together, RUNS_ON_GPU)
    if jobs == 1 or len(tasks) < 2:
        yield from map(_calibrate_alone, tasks)
        return
    longest_first = sorted(tasks, key=lambda task: -task.episodes)
    # Processes instead of threads: Python code between short runs would wait for a lock.
    context = multiprocessing.get_context("spawn")
    ignore_interrupts = signal.signal, (signal.SIGINT, signal.SIG_IGN)  # this process ends workers
    with context.Pool(min(jobs, len(tasks)), *ignore_interrupts) as pool:
        yield from pool.imap_unordered(_calibrate_alone, longest_first)


def _calibrate_alone(task: CalibrationTask) -> CalibratedScale:
    """Return the calibrated scale of `task`, computed on the CPU with one thread."""

    def compute(parts: Sequence[Part]) -> list[list[Run]]:
        return [run_seeds(each, seeds, threads=1, progress=False) for each, seeds in parts]

    return next(_calibrate_together([task], compute, SEEDS_PER_STEP))


def _calibrate_together(
    tasks: Sequence[CalibrationTask],
    compute: Callable[[Sequence[Part]], list[list[Run]]],
    size: int,
) -> Iterator[CalibratedScale]:
    """Yield the calibrated scales of `tasks`, in the order in which they are found.

    In each round, `compute` gets the next runs of every unfinished search, at most `size` of each,
    and returns the runs of all.
    """
    searches = {task: task.search() for task in tasks}
    simulations = {task: task.build_unscaled() for task in tasks}
    needed = {task: next(search) for task, search in searches.items()}
    while needed:
        parts = [
            (with_scale(simulations[task], scale), seeds[:size])
            for task, (scale, seeds) in needed.items()
        ]
        for task, runs in zip(list(needed), compute(parts), strict=True):
            found: dict[str, Any] = {"scale": None, "mean_regret": None, "at_floor": False}
            try:
                needed[task] = searches[task].send(runs)
                continue
            except StopIteration as end:
                found = {name: getattr(end.value, name) for name in (*found, "held")}
            except NotOptimisticError as error:
                found["held"] = error.tried[-1].held
            del needed[task]
            yield CalibratedScale(**vars(task), **found)


def _split_tasks(
    tasks: Sequence[CalibrationTask],
) -> tuple[list[CalibrationTask], list[CalibrationTask]]:
    """Return the tasks that the GPU engine supports, and the others.

    A message on stderr says why the others cannot run on a GPU. Raise GpuUnavailableError if there
    is no GPU.
    """
    from belated.simulation.gpu.compiler import check_device
    from belated.simulation.gpu.kinds import explain_cpu, why_not_on_gpu

    check_device()
    reasons = {task: why_not_on_gpu(task.build_unscaled()) for task in tasks}
    others = {task: reason for task, reason in reasons.items() if reason is not None}
    explain_cpu(list(others.values()), f"{len(tasks)} settings")
    return [task for task in tasks if task not in others], list(others)


def write_table(path: str | os.PathLike[str], rows: Iterable[CalibratedScale]) -> None:
    """Write calibrated scales to the file `path`, one line for each of `rows`."""
    lines = ",\n".join(json.dumps({name: getattr(row, name) for name in COLUMNS}) for row in rows)
    write_atomically(Path(path), f"[\n{lines}\n]\n".encode())


def read_table(path: str | os.PathLike[str]) -> list[CalibratedScale]:
    """Return the calibrated scales in the file `path`, which `write_table` has written.

    ValueError is raised if the content of the file cannot be that of such a file.
    """
    try:
        rows: list[dict[str, Any]] = json.loads(Path(path).read_bytes())
        return [CalibratedScale(**row) for row in rows]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{path} must be a file written by `belated calibrate --table`, got {error}."
        ) from None


class CalibratedScales:
    """Scale of each base in each world with each delay, from a file of `belated calibrate --table`.

    Parameters
    ----------
    path : str or PathLike
        The file.

    Raises
    ------
    ValueError
        If the file cannot be read, or has two scales for a base in a world with a delay.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._rows: dict[tuple[str, Any, str], CalibratedScale] = {}
        try:
            rows = read_table(path)
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
        for row in rows:
            key = row.world, BASE_NAMES.parse(row.base), normalize_delay(row.delay)
            if key in self._rows:
                raise ValueError(
                    f"{path} has two scales for {row.base} in {row.world} with {row.delay}; keep "
                    "those of one calibration."
                )
            self._rows[key] = row
        self._bases = {base for _, base, _ in self._rows}

    def options(self, world: str, name: str, options: Options, delay: str) -> Options:
        """Return the options of a base, with its scale from the file added.

        The options are returned unchanged if they contain a scale, or if the file has no scale for
        the base in any world.

        Parameters
        ----------
        world : str
            Name of the world.
        name, options : str, tuple
            Name of the base, and its options.
        delay : str
            Name of the delay law.

        Returns
        -------
        tuple
            Names and values of the options, sorted by name.

        Raises
        ------
        ValueError
            If the file has scales for the base, but none for this world and delay.
        """
        base = BASE_NAMES.parse(name, dict(options))
        if not isinstance(base, Base) or "scale" in dict(options) or base not in self._bases:
            return options
        row = self._rows.get((world, base, normalize_delay(delay)))
        if row is None or row.scale is None:
            raise ValueError(f"{self._path} has no scale for {name} in {world} with {delay}.")
        return tuple(sorted((*options, ("scale", row.scale))))
