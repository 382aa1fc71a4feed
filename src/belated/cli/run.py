"""`belated run`: compare learners in one world by simulation."""

import json
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from belated.cli.support.errors import exit_with_message, require_packages, usage_errors
from belated.cli.support.options import (
    Count,
    JsonOption,
    OptionalCount,
    OptionalFile,
    build_study,
    format_base,
    help_from_docstring,
    takes_simulation_options,
)
from belated.cli.support.output import prepare_figure_path, prepare_folder, print_table
from belated.cli.support.run_summary import COLUMNS, Summary, optimism_note, summarize, summary_row
from belated.options import SimulationOptions

if TYPE_CHECKING:
    from belated.figures.panels import PanelFigure
    from belated.simulation.run import Run
    from belated.sweep.cell import Cell
    from belated.sweep.study import Study


@takes_simulation_options
@help_from_docstring()
def run(
    context: typer.Context,
    world: str,
    base: list[str],
    updater: list[str] | None = None,
    delay: list[str] | None = None,
    option: list[str] | None = None,
    episodes: Count = 10_000,
    seeds: Count = 10,
    rewards: Literal["known", "unknown"] = "known",
    threads: OptionalCount = None,
    figure: OptionalFile = None,
    report: OptionalFile = None,
    as_json: JsonOption = False,
    **choices: Any,
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
    choices["rewards"] = rewards
    choices |= {"updaters": updater or ["active"], "delays": delay or ["constant:0"]}
    study = build_study(
        base, option or [], worlds=[world], episodes=episodes, seeds=seeds, **choices
    )
    command = format_command(context, omit=("threads", "figure", "report", "as_json"))
    comparison = Comparison.of(study, command)
    if figure is not None:
        figure = prepare_figure_path("figure", figure)
    if report is not None:
        require_packages("--report", "report", "duckdb", "matplotlib")
        prepare_folder("report", report, ".html", [".html"])
    runs, code, message = simulate(comparison.cells, threads=threads)
    summaries = {name: summarize(comparison.cells[name], found) for name, found in runs.items()}
    if runs:
        print_summaries(comparison, summaries, as_json=as_json)
    if runs and (figure is not None or report is not None):
        from belated.figures.panels import regret_curves

        drawn = regret_curves(runs, title=comparison.title, command=comparison.command)
        written: list[Path] = []
        if figure is not None:
            with usage_errors("--figure"):
                written += drawn.save(figure)
        if report is not None:
            with usage_errors("--report"):
                written.append(write_run_report(comparison, drawn, summaries, report))
        for path in written:
            typer.echo(path, err=as_json)
    if code:
        exit_with_message(message, code)


@dataclass(frozen=True)
class Comparison:
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

    @classmethod
    def of(cls, study: "Study", command: str) -> "Comparison":
        """Return the settings of a study with one world, which `command` runs.

        The label of each base is its name on the command line.
        """
        axes = {
            "Base": [entry.label for entry in study.bases],
            "Updater": list(dict.fromkeys(study.updaters)),
            "Delay": list(dict.fromkeys(study.delays)),
        }
        varied = [axis for axis, values in axes.items() if len(values) > 1] or ["Updater"]
        cells = {}
        for cell in study.settings():
            place = {"Base": cell.label, "Updater": cell.updater, "Delay": cell.delay}
            cells[", ".join(place[axis] for axis in varied)] = replace(cell, label="")
        place["Base"] = format_base(cell.base, dict(cell.base_options))
        notes = {
            "pooled counts": cell.stages == "pooled",
            "late rewards": cell.late_rewards,
            "unknown rewards": cell.rewards == "unknown" and not cell.late_rewards,
            "one delay per step": cell.delay_per == "step",
            f"bonus {cell.reward_bonus}": cell.reward_bonus != SimulationOptions.reward_bonus,
        }
        common = [cell.world, *(text for axis, text in place.items() if axis not in varied)]
        common += [note for note, applies in notes.items() if applies]
        return cls(cells, ", ".join(common), ", ".join(varied), command)

    @property
    def heading(self) -> str:
        """Title, followed by the number of runs of each setting and the number of episodes."""
        cell = next(iter(self.cells.values()))
        runs = "1 run" if len(cell.seeds) == 1 else f"{len(cell.seeds)} runs"
        return f"{self.title}: {runs} of {cell.episodes:,} episodes"


def format_command(context: typer.Context, *, omit: Collection[str]) -> str:
    """Return the command that is run, with the options that differ from their defaults.

    `context` is the context of the command, and `omit` the names of options to leave out.
    """
    words = ["belated", str(context.command.name)]
    for param in context.command.params:
        value = context.params.get(str(param.name))
        if param.name not in omit and value not in (None, param.default):
            values = value if isinstance(value, list | tuple) else [value]
            words += [word for one in values for word in (param.opts[0], str(one))]
    return shlex.join(words)


def simulate(
    cells: "Mapping[str, Cell]", *, threads: int | None
) -> "tuple[dict[str, list[Run]], int, str]":
    """Simulate all settings. Stop at the first error or at Ctrl-C.

    Parameters
    ----------
    cells : mapping
        Map from the name of each setting to its cell.
    threads : int or None
        Number of runs computed at the same time; None for the number of processors.

    Returns
    -------
    tuple
        Dict from the name of each setting to its finished runs, exit code, and error message. The
        message is empty if the code is 0.
    """
    from belated.learner.own_functions import CompilationError
    from belated.simulation import many

    runs: dict[str, list[Run]] = {}
    try:
        for name, cell in cells.items():
            runs[name] = many.run_seeds(cell.build(), cell.seeds, threads=threads, progress=None)
    except many.Interrupted as interrupted:
        if interrupted.runs:
            runs[name] = interrupted.runs
        done = sum(map(len, runs.values()))
        total = len(cells) * len(cell.seeds)
        return runs, 130, f"Interrupted: {done} of {total} runs were finished."
    except (ValueError, CompilationError) as error:
        return runs, 2, f"{name}: {error}" if len(cells) > 1 else str(error)
    return runs, 0, ""


def print_summaries(
    comparison: Comparison, summaries: Mapping[str, Summary], *, as_json: bool
) -> None:
    """Print the summaries of the runs as a table or as JSON.

    Parameters
    ----------
    comparison : Comparison
        The settings that were run.
    summaries : mapping
        Map from the name of each setting to the summary of its runs.
    as_json : bool
        Whether to print a JSON object instead of a table.
    """
    if as_json:
        cell = next(iter(comparison.cells.values()))
        document = {
            "command": comparison.command,
            "world": cell.world,
            "episodes": cell.episodes,
            "stages": cell.stages,
            "settings": list(summaries.values()),
        }
        typer.echo(json.dumps(document, indent=1))
        return
    typer.echo(comparison.heading)
    rows = [[name, *summary_row(summary)] for name, summary in summaries.items()]
    print_table([comparison.column, *COLUMNS], rows, numbers=range(1, 1 + len(COLUMNS)))
    if note := note_of(summaries):
        typer.echo(note)


def note_of(summaries: Mapping[str, Summary]) -> str:
    """Return a note that names the bases in `summaries` that are not designed to be optimistic."""
    return optimism_note(one["base"] for one in summaries.values() if one["optimism_held"] is None)


def write_run_report(
    comparison: Comparison,
    figure: "PanelFigure",
    summaries: Mapping[str, Summary],
    path: Path,
) -> Path:
    """Write an HTML report with the figure, the table and the command.

    Parameters
    ----------
    comparison : Comparison
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
    from belated.figures.report import Section, Table, write_report
    from belated.sweep.store import versions

    table = Table(
        "Regret is the final regret; updates and epochs are means over runs. Missing is the "
        "maximum number of episodes in flight, and ψ its bound with high probability (Howson, "
        f"Pike-Burke and Filippi 2023, Lemma 1). {note_of(summaries)}".rstrip(),
        [comparison.column, *(title.replace("\n", " ") for title in COLUMNS)],
        [[name, *summary_row(summary)] for name, summary in summaries.items()],
    )
    return write_report(
        path,
        title=comparison.heading,
        sections=[
            Section("Figure", figures={"regret": figure}),
            Section("Summary", tables=[table]),
            Section("Provenance", facts={"Command": comparison.command, **versions()}),
        ],
    )
