"""`belated figures`: draw what a folder of results holds, without running anything."""

import json
from pathlib import Path
from typing import Annotated

import typer


def figures(
    folder: Annotated[Path, typer.Argument(help="A folder that `sweep` or `reproduce` has made.")],
) -> None:
    """Draw the figures of a folder of results again, without running anything.

    The folder of a paper gets its figures, numbers, claims and report; that of a study, for each
    world and base, one of regret over episodes with a panel for each delay, and one of final
    regret against the expected delay.
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
        from belated.figures.studies import draw_study

        folder /= "figures"
        for path in draw_study(results.runs(), results.curves, folder, command=facts["command"]):
            typer.echo(path)


def finish_paper(folder: Path, variant: str, command: str) -> None:
    """Everything that follows from a paper's results."""
    from rich.console import Console
    from rich.progress import track

    from belated.papers.howson2021.grid import figures as paper_figures
    from belated.papers.howson2021.report import claims_on_terminal, judged, numbers_page
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
