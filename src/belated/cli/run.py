"""`belated run`: compare a few learners in one world, and say what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from belated.cli.support.options import options_of, sentence
from belated.cli.support.run_settings import COLUMNS, Comparison, Summary, compare, heading, summary
from belated.cli.support.tables import numbers, show

if TYPE_CHECKING:
    from rich.table import Table

    from belated.simulation.run import Run

LINE = 60
"""Characters of a figure's title on a line."""


def run(
    world: Annotated[str, typer.Option(help="The world, such as chain-10.")],
    base: Annotated[
        list[str], typer.Option(help="A name such as ucrl2, or module:Class; may be repeated.")
    ],
    updater: Annotated[
        list[str] | None,
        typer.Option(help="active (default), lazy:ALPHA, explicit or multi; may be repeated."),
    ] = None,
    delay: Annotated[
        list[str] | None,
        typer.Option(help="Such as geometric:100, default constant:0; may be repeated."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="key=value for every base, or BASE.key=value; may be repeated."),
    ] = None,
    episodes: Annotated[int, typer.Option(help="Episodes of each run.", min=1)] = 10_000,
    seeds: Annotated[int, typer.Option(help="Runs of each setting.", min=1)] = 10,
    stages: Annotated[str, typer.Option(help="Count each step apart, or pooled.")] = "each",
    rewards: Annotated[str, typer.Option(help="known to the learner, or unknown.")] = "known",
    late: Annotated[str, typer.Option(help="What is late: everything, or rewards.")] = "everything",
    delay_per: Annotated[
        str, typer.Option(help="A delay for each episode, or for each step.")
    ] = "episode",
    threads: Annotated[
        int | None, typer.Option(help="Runs at a time; changes no result.", min=1)
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw the regret curves, as PDF and PNG.", dir_okay=False),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML report.", dir_okay=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Run a few learners in one world and print what came of it.

    Every base is run with every updater under every delay, each under the same seeds.
    """
    with sentence("--option"):
        options = options_of(option or [], base)
    asked = compare(
        world=world,
        options=options,
        updaters=updater or ["active"],
        delays=delay or ["constant:0"],
        episodes=episodes,
        seeds=seeds,
        stages=stages,
        rewards=rewards,
        late=late,
        delay_per=delay_per,
        given=option or [],
    )
    if figure is not None:
        figure = check_figure(figure)
    if report is not None:
        check_report(report)
    groups, code, said = play(asked, threads=threads)
    if groups:
        found = {name: summary(asked.cells[name], runs) for name, runs in groups.items()}
        tell(asked, found, as_json=as_json)
        written: list[Path] = []
        with sentence("--figure"):
            if figure is not None:
                written += draw(asked, groups, figure)
        with sentence("--report"):
            if report is not None:
                written.append(publish(asked, groups, found, report))
        for path in written:
            typer.echo(path, err=as_json)
    if code:
        typer.echo(said, err=True)
        raise typer.Exit(code)


def check_figure(path: Path) -> Path:
    """The path without a suffix: a figure is written as PDF and as PNG."""
    with sentence("--figure"):
        if path.suffix not in ("", ".pdf", ".png"):
            raise ValueError(
                f"figure is {str(path)!r}; it must end in .pdf or .png, or in neither."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_suffix("")


def check_report(path: Path) -> None:
    """Refuse a report that could not be written, before anything is run."""
    from belated.figures.charts import altair

    with sentence("--report"):
        try:
            altair()
        except ImportError as error:
            raise ValueError(str(error)) from None
        path.parent.mkdir(parents=True, exist_ok=True)


def play(asked: Comparison, *, threads: int | None) -> "tuple[dict[str, list[Run]], int, str]":
    """The runs of each setting, as far as they came, an exit code and what went wrong."""
    import os

    from belated.simulation import many

    groups: dict[str, list[Run]] = {}
    try:
        for name, cell in asked.cells.items():
            setting = cell.build()
            groups[name] = many.play(
                setting, cell.seeds, threads=threads or os.cpu_count() or 1, progress=None
            )
    except many.Interrupted as interrupted:
        if interrupted.runs:
            groups[name] = interrupted.runs
        done = sum(map(len, groups.values()))
        total = sum(len(cell.seeds) for cell in asked.cells.values())
        return groups, 130, f"Interrupted: {done} of {total} runs were finished."
    except ValueError as error:
        return groups, 2, f"{name}: {error}" if len(asked.cells) > 1 else str(error)
    return groups, 0, ""


def tell(asked: Comparison, found: Mapping[str, Summary], *, as_json: bool) -> None:
    """Print the summaries."""
    import json

    if as_json:
        typer.echo(json.dumps(document(asked, found), indent=1))
        return
    typer.echo(heading(asked))
    show(table(asked, found))


def document(asked: Comparison, found: Mapping[str, Summary]) -> dict[str, Any]:
    """The summaries as JSON has them."""
    cell = next(iter(asked.cells.values()))
    return {
        "command": asked.command,
        "world": cell.world,
        "episodes": cell.episodes,
        "stages": cell.stages,
        "settings": [asdict(one) for one in found.values()],
    }


def table(asked: Comparison, found: Mapping[str, Summary]) -> "Table":
    """One row for each setting."""
    rows = numbers(asked.column, COLUMNS)
    for name, one in found.items():
        rows.add_row(name, *one.row())
    return rows


def draw(asked: Comparison, groups: "Mapping[str, Sequence[Run]]", path: Path) -> list[Path]:
    """The regret curves."""
    import textwrap

    from belated.figures.curves import regret_curves

    title = textwrap.fill(asked.title, LINE)
    return regret_curves(groups, path, title=title, command=asked.command)


def publish(
    asked: Comparison,
    groups: "Mapping[str, Sequence[Run]]",
    found: Mapping[str, Summary],
    path: Path,
) -> Path:
    """The report."""
    from belated.figures.report import (
        Section,
        Table,
        citation,
        comparison,
        provenance,
        write_report,
    )
    from belated.sweep.store import versions

    figure, _ = comparison(groups, title=asked.title, command=asked.command)
    rows = [[name, *one.row()] for name, one in found.items()]
    summaries = Table(
        "Regret is that at the end; updates and epochs are means over runs. Missing is the most "
        "episodes ever in flight, and ψ its bound with high probability (Howson, Pike-Burke and "
        "Filippi 2023, Lemma 1).",
        [asked.column, *(title.replace("\n", " ") for title in COLUMNS)],
        rows,
    )
    return write_report(
        path,
        title=heading(asked),
        sections=[
            figure,
            Section("Summary", tables=[summaries]),
            provenance({"Command": asked.command, **versions()}),
            citation(),
        ],
    )
