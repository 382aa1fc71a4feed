"""`belated figures`: draw what a folder of results holds, without running anything."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from belated.sweep.results import Results

PANELS = 4
"""Panels in one figure of a study."""


def figures(
    folder: Annotated[Path, typer.Argument(help="A folder that `sweep` or `reproduce` has made.")],
) -> None:
    """Draw the figures of a folder of results again, without running anything.

    The folder of a paper gets its figures, numbers, claims and report; that of a study one figure
    for each world and base, with a panel for each delay.
    """
    from belated.sweep.results import Results

    try:
        facts = json.loads((folder / "study.json").read_text())
        results = Results(folder)
    except (OSError, ValueError) as error:
        typer.echo(f"{folder} holds no results that can be drawn: {error}", err=True)
        raise typer.Exit(2) from None
    if "paper" in facts:
        finish_paper(folder, facts["variant"], facts["command"])
    else:
        for path in draw_study(results, folder / "figures", facts["command"]):
            typer.echo(path)


def finish_paper(folder: Path, variant: str, command: str) -> None:
    """Everything that follows from a paper's results."""
    from rich.console import Console
    from rich.progress import track

    from belated.cli.paper import claims_on_terminal, judged, numbers_page
    from belated.papers.howson2021.grid import figures as paper_figures
    from belated.sweep.results import Results

    console = Console()
    results = Results(folder)
    paper, verdicts = judged(results, variant, command)
    work = track(
        paper_figures(),
        "Drawing",
        console=Console(stderr=True),
        transient=True,
        disable=not console.is_terminal,
    )
    for figure in work:
        paper.draw(figure, folder / "figures")
    (folder / "numbers.md").write_text(numbers_page(paper, verdicts), encoding="utf-8")
    try:
        report = paper.report(folder / "report.html", verdicts)
    except ImportError as error:
        typer.echo(str(error), err=True)
        report = None
    console.print(claims_on_terminal(verdicts))
    console.print(paper.verdict(), soft_wrap=True)
    typer.echo(f"Figures: {folder / 'figures'}")
    typer.echo(f"Numbers: {folder / 'numbers.md'}")
    if report is not None:
        typer.echo(f"Report: {report}")


def draw_study(results: "Results", folder: Path, command: str) -> list[Path]:
    """Cumulative regret for each world and base: a panel for each delay."""
    import numpy as np

    from belated.figures.columns import curve_band
    from belated.figures.panels import regret_panels

    runs = results.runs()
    paths = []
    for world, base in sorted({*zip(runs["world"], runs["base"], strict=True)}):
        here = (runs["world"] == world) & (runs["base"] == base)
        panels = {}
        for delay in dict.fromkeys(runs["delay"][here]):
            settings = np.unique(runs["setting"][here & (runs["delay"] == delay)].astype(str))
            panels[str(delay)] = {
                setting.split("/")[-1]: curve_band(results.curves(setting)) for setting in settings
            }
        names = list(panels)
        for first in range(0, len(names), PANELS):
            part = {name: panels[name] for name in names[first : first + PANELS]}
            suffix = f"-{first // PANELS + 1}" if len(names) > PANELS else ""
            path = folder / f"{world}-{base}{suffix}"
            paths += regret_panels(part, path, title=f"{world}, {base}", command=command)
    return paths
