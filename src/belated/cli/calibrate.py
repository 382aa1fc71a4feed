"""`belated calibrate`: find the smallest scale of the bonus at which a base is optimistic."""

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from belated.check import check_choice
from belated.cli.support.errors import exit_with_message, usage_errors
from belated.cli.support.options import (
    BaseOptionsOption,
    BasesOption,
    DelaysOption,
    DeviceOption,
    EpisodesOption,
    StagesOption,
    ThreadsOption,
    build_study,
    format_value,
    parse_bases,
    parse_option,
)
from belated.cli.support.output import build_table, print_table

if TYPE_CHECKING:
    from rich.table import Table

    from belated.simulation.calibrate import Calibration, Trial
    from belated.simulation.calibration_table import CalibratedScale, CalibrationTask
    from belated.simulation.many import Device

FIRST_SEED: Final = 1_000_000
"""Default of --first-seed. It is a copy of `simulation.calibrate.FIRST_SEED`, because that module
is slow to import."""


def calibrate(
    world: Annotated[
        list[str],
        typer.Option(
            help="Name of the world, such as chain-30; see `belated worlds`. May be repeated."
        ),
    ],
    base: BasesOption,
    preset: Annotated[
        str | None, typer.Option(help="Preset of the base; short for --option preset=PRESET.")
    ] = None,
    option: BaseOptionsOption = None,
    updater: Annotated[
        str, typer.Option(help="Updater: active, lazy:ALPHA, explicit or multi.")
    ] = "active",
    delay: DelaysOption = None,
    stages: StagesOption = "each",
    episodes: EpisodesOption = 10_000,
    seeds: Annotated[int, typer.Option(help="Number of runs at each scale.", min=1)] = 40,
    first_seed: Annotated[
        int,
        typer.Option(
            help="First seed. The default is above the seeds of studies and reproductions, so "
            "that a scale is not chosen by the runs in which it is used.",
            min=0,
        ),
    ] = FIRST_SEED,
    optimism: Annotated[
        str,
        typer.Option(
            help="Where optimism must hold in every episode: 'start' (first state), or "
            "'everywhere' (every step and state)."
        ),
    ] = "start",
    level: Annotated[
        float, typer.Option(help="Required share of runs in which optimism holds.")
    ] = 0.95,
    lowest: Annotated[float, typer.Option(help="Smallest scale to try.")] = 1e-4,
    threads: ThreadsOption = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="Calibrate all combinations of worlds, bases and delays, and write the scales to "
            "this file (JSON). Settings in the file are not calibrated again.",
            dir_okay=False,
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(help="With --table, number of processes. Does not affect results.", min=1)
    ] = 1,
    device: DeviceOption = "cpu",
    write: Annotated[
        Path | None,
        typer.Option(help="New study file with the setting and its scale.", dir_okay=False),
    ] = None,
) -> None:
    """Find the smallest scale at which optimism holds.

    The scale multiplies the bonus of a base. Optimism holds in a run if V~_1 >= V*_1 in every
    episode. With the published constants (scale 1), a base is more optimistic than necessary and
    learns slowly. A scale is valid for its world and its delay.

    Example: belated calibrate --world chain-10 --base ucbvi-ch --delay geometric:100
    """
    from belated.simulation.calibration_table import CalibrationTask

    parse_option("--optimism", check_choice, "optimism", optimism, ("start", "everywhere"))
    options = [*([] if preset is None else [f"preset={preset}"]), *(option or [])]
    bases = parse_bases(base, options)
    delays = delay or ["constant:0"]
    build_study(
        worlds=world,
        bases=list(bases.values()),
        updaters=[updater],
        delays=delays,
        episodes=episodes,
        seeds=seeds,
        stages=stages,
    )
    tasks = [
        CalibrationTask(
            world=one_world,
            base=base_text(section),
            updater=updater,
            delay=one_delay,
            stages=stages,  # type: ignore[arg-type]
            episodes=episodes,
            optimism=optimism,  # type: ignore[arg-type]
            level=level,
            first_seed=first_seed,
            runs=seeds,
            lowest=lowest,
        )
        for one_world, section, one_delay in product(world, bases.values(), delays)
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
    found = find_scale(tasks[0], threads=threads)
    print_table(build_trial_table(found.tried, found.scale))
    typer.echo(format_result(found, level))
    [section] = bases.values()
    section = {**section, "scale": found.scale}
    typer.echo(format_advice(tasks[0], section))
    if write is not None:
        with usage_errors("--write"):
            write_study(write, tasks[0], section)


def base_text(section: Mapping[str, Any]) -> str:
    """Return the text that names a base with its options. Exit with a usage error if it is invalid.

    `section` is a section [[bases]] of a study, without a scale.
    """
    from belated.learner.bases import BASE_NAMES
    from belated.simulation.calibrate import check_base

    with usage_errors("--option"):
        if "scale" in section:
            raise ValueError("option scale must not be given: this command searches for it.")
    name = str(section["name"])
    options = {key: value for key, value in section.items() if key != "name"}
    with usage_errors("--base"):
        check_base(BASE_NAMES.parse(name, options), name)
    listed = ",".join(f"{key}={format_value(value)}" for key, value in options.items())
    return f"{name}:{listed}" if listed else name


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
        exit_with_message(str(error), 2)
    except Interrupted:
        code, message = 130, "Interrupted before a scale was found."
    except ValueError as error:
        if not tried:
            raise typer.BadParameter(str(error)) from None
        code, message = 1, str(error)
    if tried:
        print_table(build_trial_table(tried))
    return exit_with_message(message, code)


def write_table(tasks: "Sequence[CalibrationTask]", path: Path, *, jobs: int, device: str) -> None:
    """Calibrate several settings, print their scales and write them to a file.

    Parameters
    ----------
    tasks : sequence of CalibrationTask
        Settings to calibrate.
    path : Path
        File with the calibrated scales, new or existing.
    jobs : int
        Number of processes.
    device : str
        "cpu", or "gpu" to calibrate on a GPU what it supports; exit with a message if it is
        neither.
    """
    from belated.simulation.calibration_table import calibrate_table
    from belated.simulation.gpu import GpuMismatchError

    started = time.perf_counter()

    def report(row: "CalibratedScale") -> None:
        scale = "none" if row.scale is None else f"{row.scale:g}"
        typer.echo(
            f"{time.perf_counter() - started:8.1f} s  {row.world}  {row.base}  {row.delay}: scale "
            f"{scale}, {row.held} of {row.runs} runs"
        )

    try:
        with usage_errors("--table"):
            rows = calibrate_table(
                tasks, path=path, jobs=jobs, device=cast("Device", device), on_row=report
            )
    except GpuMismatchError as error:
        exit_with_message(str(error))
    except KeyboardInterrupt:
        exit_with_message(f"Interrupted. {path} has the scales found so far.", 130)
    print_table(build_scale_table(rows))
    typer.echo(f"\nWrote {len(rows)} scales to {path}.")


def write_study(path: Path, task: "CalibrationTask", section: Mapping[str, Any]) -> None:
    """Write a study file with the setting of `task` and the base of `section`."""
    from belated.files import write_atomically

    keys: dict[str, Any] = {
        "name": path.stem,
        "episodes": task.episodes,
        "seeds": task.runs,  # those of a study are counted from 0
        "worlds": [task.world],
        "updaters": [task.updater],
        "delays": [task.delay],
    }
    if task.stages != "each":
        keys["stages"] = task.stages
    text = f"{format_toml(keys)}\n{format_section(section)}"
    write_atomically(path, text.encode())
    typer.echo(f"\n{indent(text.rstrip(), '  ')}\n\nWrote scale = {section['scale']} to {path}.")


def format_toml(keys: Mapping[str, Any]) -> str:
    """Return numbers, texts, truth values and lists of them as lines of a TOML file."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


def format_section(section: Mapping[str, Any]) -> str:
    """Return the section [[bases]] of a study file.

    >>> print(format_section({"name": "ucbvi-bf", "preset": "two_term", "scale": 0.03}), end="")
    [[bases]]
    name = "ucbvi-bf"
    preset = "two_term"
    scale = 0.03
    """
    return f"[[bases]]\n{format_toml(section)}"


def format_advice(task: "CalibrationTask", section: Mapping[str, Any]) -> str:
    """Return advice on using the scale in `section`: a command, and a section of a study file."""
    words = ["belated", "run", "--world", task.world, "--base", str(section["name"])]
    for key, value in section.items():
        if key != "name":
            words += ["--option", f"{key}={format_value(value)}"]
    words += ["--updater", task.updater, "--delay", task.delay]
    if task.stages != "each":
        words += ["--stages", task.stages]
    words += ["--episodes", str(task.episodes)]
    listed = indent(format_section(section).rstrip(), "  ")
    return f"\nTo use it:\n  {shlex.join(words)}\nor in a study file:\n{listed}"


def build_scale_table(rows: "Sequence[CalibratedScale]") -> "Table":
    """Return a table with the calibrated scale of each setting in `rows`."""
    columns = ("Scale", "Optimism held", "95% interval", "Mean final regret")
    table = build_table(["World", "Base", "Delay"], columns)
    for row in rows:
        scale = "none" if row.scale is None else f"{'at most ' * row.at_floor}{row.scale:g}"
        regret = "" if row.mean_regret is None else f"{row.mean_regret:,.1f}"
        held = f"{row.held} of {row.runs}"
        table.add_row(
            row.world, row.base, row.delay, scale, held, format_interval(row.interval), regret
        )
    return table


def build_trial_table(tried: "Sequence[Trial]", chosen: float | None = None) -> "Table":
    """Return a table of the trials `tried`, in ascending order of the scale.

    The scale `chosen`, if given, is marked in an additional column.
    """
    table = build_table(["Scale"], ("Optimism held", "95% interval", "Mean final regret"))
    if chosen is not None:
        table.add_column()
    for trial in sorted(tried, key=lambda trial: trial.scale):
        table.add_row(
            f"{trial.scale:g}",
            f"{trial.held} of {trial.runs}",
            format_interval(trial.interval),
            f"{trial.mean_regret:,.1f}",
            *(["chosen" if trial.scale == chosen else ""] if chosen is not None else []),
        )
    return table


def format_result(found: "Calibration", level: float) -> str:
    """Return sentences about the result `found` of a calibration.

    `level` is the required share of runs in which optimism holds.
    """
    held = (
        f"{found.held} of {found.runs} runs (95% interval {format_interval(found.interval)}), "
        f"with a mean final regret of {found.mean_regret:,.1f}"
    )
    if found.at_floor:
        return (
            f"Even at scale {found.scale:g}, the lowest tried, optimism held throughout in {held}. "
            "A smaller scale may be enough: see --lowest."
        )
    return (
        f"Scale {found.scale:g} is the smallest found at which optimism holds throughout in at "
        f"least {100 * level:g}% of runs: it did in {held}."
    )


def format_interval(interval: tuple[float, float]) -> str:
    """Return `interval`, a confidence interval of a probability, as text in percent."""
    low, high = interval
    return f"{100 * low:.1f}% to {100 * high:.1f}%"
