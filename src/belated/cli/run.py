"""`belated run`: compare learners in one world by simulation."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from belated.cli.support.command import help_from_docstring
from belated.cli.support.errors import exit_with_message, require_packages, usage_errors
from belated.cli.support.options import (
    DEFAULTS,
    BaseOptionsOption,
    BasesOption,
    DelaysOption,
    EpisodesOption,
    JsonOption,
    ThreadsOption,
    build_study,
    format_base,
    parse_bases,
    takes_simulation_options,
)
from belated.cli.support.output import build_table, prepare_figure_path, print_table
from belated.cli.support.run_summary import COLUMNS, Summary, optimism_note, summarize

if TYPE_CHECKING:
    from belated.figures.panels import PanelFigure
    from belated.simulation.run import Run
    from belated.sweep.cell import Cell
    from belated.sweep.study import Study


@takes_simulation_options
@help_from_docstring()
def run(
    world: str,
    base: BasesOption,
    updater: list[str] | None = None,
    delay: DelaysOption = None,
    option: BaseOptionsOption = None,
    episodes: EpisodesOption = 10_000,
    seeds: Annotated[int, typer.Option(min=1)] = 10,
    rewards: str = "known",
    threads: ThreadsOption = None,
    figure: Annotated[Path | None, typer.Option(dir_okay=False)] = None,
    report: Annotated[Path | None, typer.Option(dir_okay=False)] = None,
    as_json: JsonOption = False,
    **choices: str,
) -> None:
    """Compare learners in one world.

    Prints a table of the regret of each learner. Every base is combined with every updater and
    every delay. All settings use the same seeds.

    Example: belated run --world chain-10 --base ucrl2 --updater active --updater lazy:10
    --delay geometric:100 --option scale=0.03

    Parameters
    ----------
    world
        Name of the world, such as chain-10; see `belated worlds`.
    updater
        active (default), lazy:ALPHA, explicit or multi. May be repeated.
    seeds
        Number of runs of each setting; seeds are 0, 1, ...
    rewards
        Mean rewards are 'known' to the learner, or 'unknown'.
    figure
        Write the regret curves to this file, as PDF and PNG.
    report
        Write an HTML report to this file.
    """
    bases = parse_bases(base, option or [])
    choices["rewards"] = rewards
    with usage_errors("--late"):
        if choices["late"] == "rewards" and rewards == "known":
            raise ValueError("rewards that are late cannot be known; add --rewards unknown.")
    study = build_study(
        worlds=[world],
        bases=list(bases.values()),
        updaters=updater or ["active"],
        delays=delay or ["constant:0"],
        episodes=episodes,
        seeds=seeds,
        **choices,
    )
    settings = name_settings(study, list(bases), option or [], choices)
    if figure is not None:
        figure = prepare_figure_path("figure", figure)
    if report is not None:
        check_report(report)
    runs, code, message = simulate(settings, threads=threads)
    if runs:
        summaries = {name: summarize(settings.cells[name], found) for name, found in runs.items()}
        print_summaries(settings, summaries, as_json=as_json)
        written: list[Path] = []
        if figure is not None or report is not None:
            from belated.figures.panels import regret_curves

            drawn = regret_curves(runs, title=settings.title, command=settings.command)
        with usage_errors("--figure"):
            if figure is not None:
                written += drawn.save(figure)
        with usage_errors("--report"):
            if report is not None:
                written.append(write_run_report(settings, drawn, summaries, report))
        for path in written:
            typer.echo(path, err=as_json)
    if code:
        exit_with_message(message, code)


@dataclass(frozen=True)
class RunSettings:
    """Settings to run in one world, with their names in tables and figures."""

    cells: "Mapping[str, Cell]"
    """Map from the name of each setting to its cell (setting and seeds). A name contains only the
    values that differ between the settings."""
    title: str
    """Values that all settings have in common, as text."""
    column: str
    """Heading of the table column with the names, such as "Updater, Delay"."""
    command: str
    """Command that runs the same settings again."""

    @property
    def heading(self) -> str:
        """Title, followed by the number of runs of each setting and the number of episodes."""
        cell = next(iter(self.cells.values()))
        runs = "1 run" if len(cell.seeds) == 1 else f"{len(cell.seeds)} runs"
        return f"{self.title}: {runs} of {cell.episodes:,} episodes"


def name_settings(
    study: "Study", bases: Sequence[str], options: Sequence[str], choices: Mapping[str, str]
) -> RunSettings:
    """Return the settings of a study with their names.

    Parameters
    ----------
    study : Study
        Study with one world.
    bases, options : sequence of str
        Values of --base and --option, as given on the command line.
    choices : mapping
        Values of `rewards` and of the options of a simulation.

    Returns
    -------
    RunSettings
        The settings.
    """
    updaters, laws = list(dict.fromkeys(study.updaters)), list(dict.fromkeys(study.delays))
    axes = {"Base": bases, "Updater": updaters, "Delay": laws}
    varied = [axis for axis, values in axes.items() if len(values) > 1] or ["Updater"]
    cells = {}
    places = product(bases, laws, updaters)
    for (base, law, updater), cell in zip(places, study.settings(), strict=True):
        place = {"Base": base, "Updater": updater, "Delay": law}
        cells[", ".join(place[axis] for axis in varied)] = replace(cell, label="")
    axes["Base"] = [format_base(entry.name, dict(entry.options)) for entry in study.bases]
    common = [*study.worlds, *(values[0] for axis, values in axes.items() if axis not in varied)]
    late = choices["late"] == "rewards"
    notes = {
        "pooled counts": choices["stages"] == "pooled",
        "late rewards": late,
        "unknown rewards": choices["rewards"] == "unknown" and not late,
        "one delay per step": choices["delay_per"] == "step",
        f"bonus {choices['reward_bonus']}": choices["reward_bonus"] != DEFAULTS["reward_bonus"],
    }
    common += [note for note, applies in notes.items() if applies]
    words = ["belated", "run", "--world", *study.worlds]
    repeated = {
        "base": bases,
        "option": options,
        "updater": updaters,
        "delay": laws,
        "episodes": [str(study.episodes)],
        "seeds": [str(study.seeds)],
    }
    for name, values in repeated.items():
        words += [word for value in values for word in (f"--{name}", value)]
    for name in DEFAULTS:
        value = choices[name]
        words += [f"--{name.replace('_', '-')}", value] if value != DEFAULTS[name] else []
    return RunSettings(cells, ", ".join(common), ", ".join(varied), shlex.join(words))


def check_report(path: Path) -> None:
    """Exit with a usage error if a report cannot be written to the file `path`.

    The folder of the file is created.
    """
    require_packages("--report", "report", "duckdb", "matplotlib")
    from belated.figures.report import load_templates

    with usage_errors("--report"):
        if path.suffix != ".html":
            raise ValueError(f"report must end in .html, got {str(path)!r}.")
        load_templates()
        path.parent.mkdir(parents=True, exist_ok=True)


def simulate(
    settings: RunSettings, *, threads: int | None
) -> "tuple[dict[str, list[Run]], int, str]":
    """Simulate all settings. Stop at the first error or at Ctrl-C.

    Parameters
    ----------
    settings : RunSettings
        Settings to simulate.
    threads : int or None
        Number of runs computed at the same time; None for the number of processors.

    Returns
    -------
    tuple
        Dict from the name of each setting to its finished runs, exit code, and error message. The
        message is empty if the code is 0.
    """
    from belated.learner.compile_errors import CompilationError
    from belated.simulation import many

    runs: dict[str, list[Run]] = {}
    try:
        for name, cell in settings.cells.items():
            setting = cell.build()
            runs[name] = many.run_seeds(setting, cell.seeds, threads=threads, progress=None)
    except many.Interrupted as interrupted:
        if interrupted.runs:
            runs[name] = interrupted.runs
        done = sum(map(len, runs.values()))
        total = sum(len(cell.seeds) for cell in settings.cells.values())
        return runs, 130, f"Interrupted: {done} of {total} runs were finished."
    except (ValueError, CompilationError) as error:
        return runs, 2, f"{name}: {error}" if len(settings.cells) > 1 else str(error)
    return runs, 0, ""


def print_summaries(
    settings: RunSettings, summaries: Mapping[str, Summary], *, as_json: bool
) -> None:
    """Print the summaries of the runs as a table or as JSON.

    Parameters
    ----------
    settings : RunSettings
        The settings that were run.
    summaries : mapping
        Map from the name of each setting to the summary of its runs.
    as_json : bool
        Whether to print a JSON object instead of a table.
    """
    import json

    if as_json:
        cell = next(iter(settings.cells.values()))
        document = {
            "command": settings.command,
            "world": cell.world,
            "episodes": cell.episodes,
            "stages": cell.stages,
            "settings": [asdict(summary) for summary in summaries.values()],
        }
        typer.echo(json.dumps(document, indent=1))
        return
    typer.echo(settings.heading)
    table = build_table([settings.column], COLUMNS)
    for name, summary in summaries.items():
        table.add_row(name, *summary.row())
    print_table(table)
    if note := note_of(summaries):
        typer.echo(note)


def note_of(summaries: Mapping[str, Summary]) -> str:
    """Return a note that names the bases in `summaries` that are not designed to be optimistic."""
    return optimism_note(one.base for one in summaries.values() if one.optimism_held is None)


def write_run_report(
    settings: RunSettings,
    figure: "PanelFigure",
    summaries: Mapping[str, Summary],
    path: Path,
) -> Path:
    """Write an HTML report with the figure, the table and the command.

    Parameters
    ----------
    settings : RunSettings
        The settings that were run.
    figure : PanelFigure
        Figure of the regret of all settings.
    summaries : mapping
        Map from the name of each setting to the summary of its runs.
    path : Path
        File to write.

    Returns
    -------
    Path
        The file written.
    """
    from belated.figures.report import Section, Table, citation, write_report
    from belated.sweep.store import versions

    table = Table(
        "Regret is the final regret; updates and epochs are means over runs. Missing is the "
        "maximum number of episodes in flight, and ψ its bound with high probability (Howson, "
        f"Pike-Burke and Filippi 2023, Lemma 1). {note_of(summaries)}".rstrip(),
        [settings.column, *(title.replace("\n", " ") for title in COLUMNS)],
        [[name, *summary.row()] for name, summary in summaries.items()],
    )
    return write_report(
        path,
        title=settings.heading,
        sections=[
            Section("Figure", figures={"regret": figure}),
            Section("Summary", tables=[table]),
            Section("Provenance", facts={"Command": settings.command, **versions()}),
            citation(),
        ],
    )
