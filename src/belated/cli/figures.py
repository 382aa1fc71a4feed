"""`belated figures`: draw the figures of a results folder."""

import json
from pathlib import Path
from typing import Annotated

import typer

from belated.cli.support.errors import (
    exit_with_message,
    os_error_reason,
    require_packages,
    usage_errors,
)
from belated.cli.support.options import help_from_docstring
from belated.cli.support.output import print_table


@help_from_docstring()
def figures(folder: Annotated[Path, typer.Argument()]) -> None:
    """Draw the figures of a results folder.

    The stored results are used; nothing is simulated. For a reproduced paper, this command writes
    its figures, numbers and report, and prints the outcomes of its claims. For a study, it draws
    regret over episodes, with a panel for each delay, and final regret against the expected delay.
    Updaters are compared for each base, and bases for each updater.

    Example: belated figures results/late-rewards

    Parameters
    ----------
    folder
        Results folder of `belated sweep` or `belated reproduce`.
    """
    require_packages("belated figures", "report", "duckdb", "matplotlib")
    from belated.sweep.results import FOLDER_HINT, Results

    try:
        facts = read_facts(folder)
        results = Results(folder)
    except ValueError as error:
        reason = str(error).removesuffix(FOLDER_HINT).rstrip(" .")
        exit_with_message(f"{folder} has no results that can be drawn: {reason}. {FOLDER_HINT}", 2)
    with usage_errors("FOLDER"):
        if "paper" in facts:
            write_paper(folder, facts["variant"], facts["command"])
        else:
            from belated.figures.studies import rename_bases, study_figures

            runs = rename_bases(results.runs(), results.base_names())
            for name, figure in study_figures(runs, results.curves, command=facts["command"]):
                for path in figure.save(folder / "figures" / name):
                    typer.echo(path)


def read_facts(folder: Path) -> dict[str, str]:
    """Return the content of study.json in the results folder `folder`.

    The key "command" has the command that computed the results. The results of a reproduced paper
    also have the keys "paper" and "variant". Raises ValueError if the file cannot be read or is
    damaged.
    """
    file = folder / "study.json"
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{file} cannot be used: {os_error_reason(error)}") from None
    except ValueError as error:
        raise ValueError(f"{file} is damaged: {error}") from None
    given = facts.keys() if isinstance(facts, dict) else set()
    needed = ["command", "variant"] if "paper" in given else ["command"]
    if not given >= set(needed):
        raise ValueError(f"{file} is damaged: it needs the keys {' and '.join(needed)}")
    return dict(facts)


def write_paper(folder: Path, variant: str, command: str) -> None:
    """Write the figures and the report of a reproduced paper, and print the outcomes of its claims.

    The numerical results are written to numbers.md, and the verdicts on the claims to claims.json.

    Parameters
    ----------
    folder : Path
        Results folder, to which all files are written.
    variant : str
        Name of the variant of the paper's base algorithm whose results are in the folder:
        "figures" (constants fitted to the published figures), "calibrated" (smallest scale at which
        optimism holds without delay), "calibrated-with-delay" (smallest scale for each delay) or
        "literal" (constants as published).
    command : str
        Command that reproduces the results, printed below the figures.
    """
    from belated.papers.howson2021 import grid
    from belated.papers.howson2021.report import PaperReport
    from belated.papers.howson2021.tables import format_claims, format_numbers_page
    from belated.progress import Progress
    from belated.sweep.results import Results

    report = PaperReport.from_results(Results(folder), variant, command)
    drawn = grid.figures()
    with Progress("Drawing", total=len(drawn), unit="figures") as progress:
        for figure in progress.track(drawn):
            report.draw(figure, folder / "figures")
    page = format_numbers_page(report.agreement(), report.comparisons, report.verdicts, variant)
    (folder / "numbers.md").write_text(page, encoding="utf-8")
    (folder / "claims.json").write_text(format_claims(report.verdicts), encoding="utf-8")
    print_table(["Claim", "Outcome"], [[each.claim, each.outcome] for each in report.verdicts])
    typer.echo(report.agreement())
    names = {"Figures": "figures", "Numbers": "numbers.md", "Claims": "claims.json"}
    for title, name in names.items():
        typer.echo(f"{title}: {folder / name}")
    typer.echo(f"Report: {report.write(folder / 'report.html')}")
