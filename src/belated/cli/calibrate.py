"""`belated calibrate`: find the smallest scale of the bonus at which a base is optimistic."""

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from belated.cli.support.errors import exit_with_message, usage_errors
from belated.cli.support.options import (
    Count,
    Device,
    OptionalCount,
    OptionalFile,
    build_study,
    format_options,
    help_from_docstring,
)
from belated.cli.support.output import print_table
from belated.files import write_atomically
from belated.options import Stages

if TYPE_CHECKING:
    from belated.simulation.calibrate import Calibration, Trial
    from belated.simulation.calibration_table import CalibratedScale, CalibrationTask
    from belated.sweep.study import BaseEntry

FIRST_SEED: Final = 1_000_000
"""Default of --first-seed. It is a copy of `simulation.calibrate.FIRST_SEED`, because that module
is slow to import."""

COLUMNS: Final = ("Optimism held", "95% interval", "Mean final regret")
"""Headings of the columns with the result of the runs at one scale."""


@help_from_docstring()
def calibrate(
    world: list[str],
    base: list[str],
    preset: str | None = None,
    option: list[str] | None = None,
    updater: str = "active",
    delay: list[str] | None = None,
    stages: Stages = "each",
    episodes: Count = 10_000,
    seeds: Count = 40,
    first_seed: Annotated[int, typer.Option(min=0)] = FIRST_SEED,
    optimism: Literal["start", "everywhere"] = "start",
    level: float = 0.95,
    lowest: float = 1e-4,
    threads: OptionalCount = None,
    table: OptionalFile = None,
    jobs: Count = 1,
    device: Device = "cpu",
    write: OptionalFile = None,
) -> None:
    """Find the smallest scale at which optimism holds.

    The scale multiplies the bonus of a base. Optimism holds in a run if V~_1 >= V*_1 in every
    episode. With the published constants (scale 1), a base is more optimistic than necessary and
    learns slowly. A scale is valid for its world and its delay.

    Example: belated calibrate --world chain-10 --base ucbvi-ch --delay geometric:100

    Parameters
    ----------
    world
        Name of the world, such as chain-30; see `belated worlds`. May be repeated.
    preset
        Preset of the base; short for --option preset=PRESET.
    updater
        Updater: active, lazy:ALPHA, explicit or multi.
    stages
        Counts: 'each' keeps one table per step, 'pooled' sums over steps.
    seeds
        Number of runs at each scale.
    first_seed
        First seed. The default is above the seeds of studies and reproductions, so that a scale is
        not chosen by the runs in which it is used.
    optimism
        Where optimism must hold in every episode: 'start' (first state), or 'everywhere' (every
        step and state).
    level
        Required share of runs in which optimism holds.
    lowest
        Smallest scale to try.
    table
        Calibrate all combinations of worlds, bases and delays, and write the scales to this file
        (JSON). Settings in the file are not calibrated again.
    jobs
        With --table, number of processes. Does not affect results.
    write
        New study file with the setting and its scale.
    """
    from belated.simulation.calibration_table import CalibrationTask

    options = [*([] if preset is None else [f"preset={preset}"]), *(option or [])]
    laws = delay or ["constant:0"]
    setting: dict[str, Any] = {"stages": stages, "episodes": episodes}
    study = build_study(
        base, options, worlds=world, updaters=[updater], delays=laws, seeds=seeds, **setting
    )
    search: dict[str, Any] = {"optimism": optimism, "level": level, "lowest": lowest}
    search |= {"updater": updater, "first_seed": first_seed, "runs": seeds, **setting}
    tasks = [
        CalibrationTask(world=one_world, base=base_text(entry), delay=law, **search)
        for one_world, entry, law in product(study.worlds, study.bases, study.delays)
    ]
    if table is not None:
        if write is not None:
            raise typer.BadParameter("--write is for one setting and cannot be used with --table.")
        write_table(tasks, table, jobs=jobs, device=device)
        return
    if device != "cpu":
        raise typer.BadParameter("--device gpu is for many settings: add --table FILE.")
    if len(tasks) > 1:
        raise typer.BadParameter(
            f"--table FILE is needed for {len(tasks)} settings; give one world, base and delay, or "
            "add --table."
        )
    if write is not None:
        with usage_errors("--write"):
            if write.exists():
                raise ValueError(f"{write} already exists; choose a new file.")
            write.parent.mkdir(parents=True, exist_ok=True)
    [task], [entry] = tasks, study.bases
    found = find_scale(task, threads=threads)
    print_trials(found.tried, found.scale)
    typer.echo(format_result(found, level))
    section = {"name": entry.name, **dict(entry.options), "scale": found.scale}
    typer.echo(format_advice(task, section))
    if write is not None:
        names = ("episodes", "seeds", "worlds", "updaters", "delays", "stages")
        keys = {"name": write.stem, **{name: getattr(study, name) for name in names}}
        text = f"{format_toml(keys)}\n[[bases]]\n{format_toml(section)}"
        with usage_errors("--write"):
            write_atomically(write, text.encode())
        typer.echo(f"\n{indent(text, '  ')}\nWrote scale = {found.scale} to {write}.")


def base_text(entry: "BaseEntry") -> str:
    """Return the text that names a base of a study with its options.

    Exit with a usage error if it cannot be calibrated.
    """
    from belated.learner.bases import BASE_NAMES
    from belated.simulation.calibrate import check_base

    options = dict(entry.options)
    with usage_errors("--option"):
        if "scale" in options:
            raise ValueError("option scale must not be given: this command searches for it.")
    with usage_errors("--base"):
        check_base(BASE_NAMES.parse(entry.name, options), entry.name)
    return ":".join([entry.name, ",".join(format_options(options))] if options else [entry.name])


def find_scale(task: "CalibrationTask", *, threads: int | None) -> "Calibration":
    """Search for the smallest scale of `task` at which optimism holds.

    If the search fails or is interrupted, print the scales tried so far, and exit. `threads` is the
    number of runs computed at the same time; None for the number of processors.
    """
    from belated.learner.own_functions import CompilationError
    from belated.simulation.calibrate import run_search
    from belated.simulation.many import Interrupted

    tried: list[Trial] = []
    try:
        search = task.search(tried.append)
        return run_search(search, task.build_unscaled(), threads=threads)
    except CompilationError as error:
        code, message = 2, str(error)
    except Interrupted:
        code, message = 130, "Interrupted before a scale was found."
    except ValueError as error:
        if not tried:
            raise typer.BadParameter(str(error)) from None
        code, message = 1, str(error)
    if tried:
        print_trials(tried)
    return exit_with_message(message, code)


def write_table(tasks: "Sequence[CalibrationTask]", path: Path, **options: Any) -> None:
    """Calibrate several settings, print their scales and write them to a file.

    Parameters
    ----------
    tasks : sequence of CalibrationTask
        Settings to calibrate.
    path : Path
        File with the calibrated scales, new or existing.
    **options
        Further arguments of `calibrate_table`: jobs and device.
    """
    from belated.simulation.calibration_table import calibrate_table
    from belated.simulation.gpu import GpuMismatchError

    started = time.perf_counter()

    def report(row: "CalibratedScale") -> None:
        seconds, scale = time.perf_counter() - started, format_scale(row.scale)
        setting = f"{row.world}  {row.base}  {row.delay}"
        typer.echo(f"{seconds:8.1f} s  {setting}: scale {scale}, {row.held} of {row.runs} runs")

    try:
        with usage_errors("--table"):
            found = calibrate_table(tasks, path=path, on_row=report, **options)
    except GpuMismatchError as error:
        exit_with_message(str(error))
    except KeyboardInterrupt:
        exit_with_message(f"Interrupted. {path} has the scales found so far.", 130)
    rows = []
    for row in found:
        scale = "at most " * row.at_floor + format_scale(row.scale)
        rows.append([row.world, row.base, row.delay, scale, *format_trial(row)])
    print_table(["World", "Base", "Delay", "Scale", *COLUMNS], rows, numbers=range(3, 7))
    typer.echo(f"\nWrote {len(rows)} scales to {path}.")


def format_toml(keys: Mapping[str, Any]) -> str:
    """Return numbers, texts, truth values and lists of them as lines of a TOML file.

    >>> print(format_toml({"name": "ucbvi-bf", "preset": "two_term", "scale": 0.03}), end="")
    name = "ucbvi-bf"
    preset = "two_term"
    scale = 0.03
    """
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


def format_advice(task: "CalibrationTask", section: Mapping[str, Any]) -> str:
    """Return advice on using the scale in `section`: a command, and a section of a study file."""
    options = {**section}
    words = ["belated", "run", "--world", task.world, "--base", options.pop("name")]
    words += [word for text in format_options(options) for word in ("--option", text)]
    words += ["--updater", task.updater, "--delay", task.delay, "--stages", task.stages]
    words += ["--episodes", str(task.episodes)]
    listed = indent(f"[[bases]]\n{format_toml(section)}".rstrip(), "  ")
    return f"\nTo use it:\n  {shlex.join(words)}\nor in a study file:\n{listed}"


def print_trials(tried: "Sequence[Trial]", chosen: float | None = None) -> None:
    """Print a table of the trials `tried`, in ascending order of the scale.

    The scale `chosen`, if given, is marked in the last column.
    """
    rows = [
        [f"{one.scale:g}", *format_trial(one), "chosen" if one.scale == chosen else ""]
        for one in sorted(tried, key=lambda trial: trial.scale)
    ]
    print_table(["Scale", *COLUMNS, ""], rows, numbers=range(1, 4))


def format_scale(scale: float | None) -> str:
    """Return a calibrated scale as text; "none" if no scale is sufficient."""
    return "none" if scale is None else f"{scale:g}"


def format_trial(trial: "Trial | CalibratedScale") -> list[str]:
    """Return the result of the runs at one scale as text, in the order of `COLUMNS`."""
    low, high = trial.interval
    regret = "" if trial.mean_regret is None else f"{trial.mean_regret:,.1f}"
    return [f"{trial.held} of {trial.runs}", f"{100 * low:.1f}% to {100 * high:.1f}%", regret]


def format_result(found: "Calibration", level: float) -> str:
    """Return sentences about the result `found` of a calibration.

    `level` is the required share of runs in which optimism holds.
    """
    runs, interval, regret = format_trial(found)
    held = f"{runs} runs (95% interval {interval}), with a mean final regret of {regret}"
    if found.at_floor:
        return (
            f"Even at scale {found.scale:g}, the lowest tried, optimism held throughout in {held}. "
            "A smaller scale may be enough: see --lowest."
        )
    return (
        f"Scale {found.scale:g} is the smallest found at which optimism holds throughout in at "
        f"least {100 * level:g}% of runs: it did in {held}."
    )
