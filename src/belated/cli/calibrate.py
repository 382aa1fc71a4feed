"""`belated calibrate`: find the smallest scale of the bonus at which a base is optimistic."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from belated.check import check_choice
from belated.cli.support.calibration_output import build_trial_table, format_result, write_table
from belated.cli.support.errors import exit_with_message, usage_errors
from belated.cli.support.options import (
    BaseOptions,
    DeviceOption,
    EpisodesOption,
    StagesOption,
    ThreadsOption,
    check_choices,
    format_value,
    join_options,
    parse_base_options,
    parse_option,
)
from belated.cli.support.tables import print_table

if TYPE_CHECKING:
    from belated.simulation.calibrate import Calibration, Trial
    from belated.simulation.calibration_table import CalibrationTask

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
    base: Annotated[
        list[str],
        typer.Option(
            help="Base: a name such as ucrl2, or module:name for your own. May be repeated."
        ),
    ],
    preset: Annotated[
        str | None, typer.Option(help="Preset of the base; short for --option preset=PRESET.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="Option of the bases as key=value, or of one of them as base.key=value. May be "
            "repeated."
        ),
    ] = None,
    updater: Annotated[
        str, typer.Option(help="Updater: active, lazy:ALPHA, explicit or multi.")
    ] = "active",
    delay: Annotated[
        list[str] | None,
        typer.Option(
            help="Delay law, such as geometric:100; by default no delay. May be repeated."
        ),
    ] = None,
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
        typer.Option(help="Study file to write the scale to, new or existing.", dir_okay=False),
    ] = None,
) -> None:
    """Find the smallest scale at which optimism holds.

    The scale multiplies the bonus of a base. Optimism holds in a run if V~_1 >= V*_1 in every
    episode. With the published constants (scale 1), a base is more optimistic than necessary and
    learns slowly. A scale is valid for its world and its delay.

    Example: belated calibrate --world chain-10 --base ucbvi-ch --delay geometric:100
    """
    parse_option("--optimism", check_choice, "optimism", optimism, ("start", "everywhere"))
    settings = [
        CalibrationSetting(
            world=one_world,
            base=name,
            options=options,
            updater=updater,
            delay=one_delay,
            stages=stages,
            episodes=episodes,
            seeds=seeds,
            first_seed=first_seed,
            optimism=optimism,
        )
        for one_world, (name, options), one_delay in product(
            world, parse_options(base, preset, option or []), delay or ["constant:0"]
        )
    ]
    if table is not None:
        if write is not None:
            raise typer.BadParameter("--write is for one setting and cannot be used with --table.")
        tasks = [setting.task(level, lowest) for setting in settings]
        write_table(tasks, table, jobs=jobs, device=device)
        return
    if device != "cpu":
        raise typer.BadParameter("--device gpu is for many settings: add --table FILE.")
    arguments, *others = [setting.arguments() for setting in settings]
    if others:
        raise typer.BadParameter(
            f"--table FILE is needed for {len(settings)} settings; give one world, base and delay, "
            "or add --table."
        )
    setting = settings[0]
    if write is not None:
        check_study_file(write, setting)
    found = search(arguments, level=level, lowest=lowest, threads=threads)
    print_table(build_trial_table(found.tried, found.scale))
    typer.echo(format_result(found, level))
    if write is None:
        typer.echo(format_advice(setting, found.scale))
    else:
        write_scale(write, setting, found.scale)


@dataclass(frozen=True)
class CalibrationSetting:
    """Setting to calibrate, with values as given on the command line."""

    world: str
    base: str
    options: BaseOptions  # without the scale
    updater: str
    delay: str
    stages: str
    episodes: int
    seeds: int
    first_seed: int
    optimism: str

    def arguments(self) -> dict[str, Any]:
        """Return the setting as keyword arguments of `simulation.calibrate`.

        Exit with a usage error if an option is invalid.
        """
        from belated.delays import parse as parse_delay
        from belated.learner.bases import BASE_NAMES
        from belated.learner.updaters import UPDATER_NAMES
        from belated.mdp.worlds import world as parse_world
        from belated.simulation.calibrate import check_base

        check_choices(stages=self.stages)
        base = parse_option("--base", BASE_NAMES.parse, self.base, self.options)
        return {
            "world": parse_option("--world", parse_world, self.world),
            "base": parse_option("--base", check_base, base, self.base),
            "updater": parse_option("--updater", UPDATER_NAMES.parse, self.updater),
            "delay": parse_option("--delay", parse_delay, self.delay),
            "stages": self.stages,
            "episodes": self.episodes,
            "seeds": range(self.first_seed, self.first_seed + self.seeds),
            "optimism": self.optimism,
        }

    def task(self, level: float, lowest: float) -> "CalibrationTask":
        """Return the setting as a `CalibrationTask`.

        `level` is the required share of runs in which optimism holds, and `lowest` the smallest
        scale to try.

        Exit with a usage error if an option is invalid.
        """
        from belated.simulation.calibration_table import CalibrationTask

        self.arguments()
        options = ",".join(f"{key}={format_value(value)}" for key, value in self.options.items())
        return CalibrationTask(
            world=self.world,
            base=":".join([self.base, *([options] if options else [])]),
            updater=self.updater,
            delay=self.delay,
            stages=self.stages,  # type: ignore[arg-type]
            episodes=self.episodes,
            optimism=self.optimism,  # type: ignore[arg-type]
            level=level,
            first_seed=self.first_seed,
            runs=self.seeds,
            lowest=lowest,
        )

    def with_scale(self, scale: float) -> "CalibrationSetting":
        """Return a copy of the setting, with `scale` as an option of the base."""
        return replace(self, options={**self.options, "scale": scale})


def parse_options(
    bases: Sequence[str], preset: str | None, texts: Sequence[str]
) -> list[tuple[str, BaseOptions]]:
    """Return the bases to calibrate and their options. Exit with a usage error if one is invalid.

    Parameters
    ----------
    bases : sequence of str
        Names of the bases, with or without options.
    preset : str or None
        Value of --preset; None if it was not given.
    texts : sequence of str
        Values of --option. None of them may set the scale.

    Returns
    -------
    list of tuple
        Pair for each base: its name without options, and a dict from option names to values.
    """
    from belated.learner.bases import BASE_NAMES

    found = []
    for base in bases:
        named = parse_option("--base", BASE_NAMES.find, base)
        with usage_errors("--option"):
            options = join_options(parse_base_options(texts, bases)[base], named.options)
            if preset is not None:
                options = join_options({"preset": preset}, options)
            if "scale" in options:
                raise ValueError("option scale must not be given: this command searches for it.")
        found.append((named.name, options))
    return found


def search(
    arguments: Mapping[str, Any], *, level: float, lowest: float, threads: int | None
) -> "Calibration":
    """Search for the smallest scale at which optimism holds.

    If the search fails or is interrupted, print the scales tried so far, and exit.

    Parameters
    ----------
    arguments : mapping
        Keyword arguments of `simulation.calibrate` that describe the setting.
    level : float
        Required share of runs in which optimism holds.
    lowest : float
        Smallest scale to try.
    threads : int or None
        Number of runs computed at the same time; None for the number of processors.

    Returns
    -------
    Calibration
        The scale found, and all scales tried.
    """
    from belated.learner.compile_errors import CompilationError
    from belated.simulation.calibrate import calibrate as find_scale
    from belated.simulation.many import Interrupted

    tried: list[Trial] = []
    try:
        return find_scale(
            **arguments, level=level, lowest=lowest, threads=threads, on_trial=tried.append
        )
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
    typer.echo(message, err=True)
    raise typer.Exit(code)


def check_study_file(path: Path, setting: CalibrationSetting) -> None:
    """Exit with a usage error if a scale for `setting` could not be written to the file `path`.

    The folder of a new file is created.
    """
    from belated.cli.support.study_files import read_study_text, set_scale

    with usage_errors("--write"):
        if path.exists():
            set_scale(read_study_text(path), setting.base, setting.options, 1.0)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)


def write_scale(path: Path, setting: CalibrationSetting, scale: float) -> None:
    """Write a scale to a study file. Exit with a usage error if this fails.

    Parameters
    ----------
    path : Path
        New file, or an existing study file that contains the base of `setting`.
    setting : CalibrationSetting
        The calibrated setting.
    scale : float
        The scale found.
    """
    from belated.cli.support.study_files import format_study, read_study_text, set_scale
    from belated.files import write_atomically

    with usage_errors("--write"):
        if path.exists():
            text = set_scale(read_study_text(path), setting.base, setting.options, scale)
        else:
            keys = asdict(setting.with_scale(scale))
            del keys["first_seed"], keys["optimism"]  # seeds of a study are counted from 0
            text = format_study(path.stem, **keys)
            typer.echo(f"\n{indent(text.rstrip(), '  ')}")
        write_atomically(path, text.encode())
    typer.echo(f"\nWrote scale = {scale} to {path}.")


def format_advice(setting: CalibrationSetting, scale: float) -> str:
    """Return advice on using `scale` in `setting`: a command, and a section of a study file."""
    from belated.cli.support.study_files import format_base_section

    options = setting.with_scale(scale).options
    words = ["belated", "run", "--world", setting.world, "--base", setting.base]
    for key, value in options.items():
        words += ["--option", f"{key}={format_value(value)}"]
    words += ["--updater", setting.updater, "--delay", setting.delay]
    if setting.stages != "each":
        words += ["--stages", setting.stages]
    words += ["--episodes", str(setting.episodes)]
    section = indent(format_base_section(setting.base, options), "  ")
    return f"\nTo use it:\n  {shlex.join(words)}\nor in a study file:\n{section}"
