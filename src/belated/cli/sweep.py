"""`belated sweep`: run all settings of a study."""

import csv
import errno
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from belated.cli.support.errors import exit_with_message, require_packages, usage_errors
from belated.cli.support.options import Device, OptionalCount, help_from_docstring, parse_option
from belated.cli.support.output import print_table
from belated.cli.support.run_summary import (
    format_mean_count,
    format_optimism,
    format_regret,
    optimism_note,
)
from belated.files import replace_atomically, write_atomically
from belated.sweep.packaged import study_names

if TYPE_CHECKING:
    from belated.sweep.bands import Columns
    from belated.sweep.cell import Cell
    from belated.sweep.results import Results
    from belated.sweep.store import Store

STUDY_HELP = f"Study file (TOML), or the name of a packaged study: {', '.join(study_names())}."


@help_from_docstring()
def sweep(
    study: Annotated[Path, typer.Argument(help=STUDY_HELP)],
    out: Path | None = None,
    threads: OptionalCount = None,
    scheduler: str | None = None,
    device: Device = "cpu",
    shard: str | None = None,
) -> None:
    """Run all settings and seeds of a study.

    The settings are all combinations of the study's worlds, bases, delays and updaters. To resume
    an interrupted sweep, give the same command again. Results are stored as Parquet files.
    `belated.results(FOLDER)` reads the results in Python, and `belated figures FOLDER` draws them.

    Example: belated sweep late-rewards

    Parameters
    ----------
    out
        Folder for the results; by default results/NAME, the study's name.
    """
    require_packages("belated sweep", "sweep", "duckdb")
    from belated.sweep.results import Results
    from belated.sweep.store import Store
    from belated.sweep.study import read_study

    try:
        plan = read_study(study)
        cells = plan.cells()
    except ValueError as error:
        exit_with_message(str(error), 2)
    store = Store(out or Path("results") / plan.name)
    facts = {"study": plan.name, "command": f"belated sweep {study.name}"}
    outcome = run_cells(
        cells, store, facts, shard, threads=threads, scheduler=scheduler, device=device
    )
    if shard is not None:
        typer.echo(f"{outcome}: {store.folder}")
        typer.echo(
            "When all parts are finished, the same command without --shard shows the results."
        )
        return
    results = Results(store.folder)
    rows, unjudged = results.summary(), not_optimistic(results)
    print_summary(rows, unjudged)
    if note := optimism_note(unjudged.values()):
        typer.echo(note)
    summary = store.folder / "summary.csv"
    with (
        usage_errors("--out"),
        replace_atomically(summary) as part,
        part.open("w", encoding="utf-8") as out_file,
    ):
        writer = csv.writer(out_file, lineterminator="\n")
        writer.writerow(rows)
        writer.writerows(zip(*(column.tolist() for column in rows.values()), strict=True))
    typer.echo(f"{outcome}: {store.folder}")
    typer.echo(f"All columns of each setting: {summary}")


def run_cells(
    cells: "Sequence[Cell]", store: "Store", facts: Mapping[str, str], shard: str | None, **how: Any
) -> str:
    """Run a sweep. After an error or Ctrl-C, exit with a message and an exit code other than 0.

    Parameters
    ----------
    cells : sequence of Cell
        Cells to run.
    store : Store
        Folder of the results. Cells that are already finished in this folder are skipped.
    facts : mapping
        Content of the file study.json in this folder.
    shard : str or None
        Value of the option --shard, such as "2/8"; None to run all cells.
    **how
        Arguments of `belated.sweep.sweep.sweep`: threads, scheduler and device.

    Returns
    -------
    str
        Numbers of computed and skipped cells.
    """
    from belated.learner.own_functions import CompilationError
    from belated.simulation.gpu import GpuMismatchError
    from belated.sweep.cost import select_shard
    from belated.sweep.sweep import sweep as run_sweep

    if shard is not None:
        every, cells = cells, parse_option("--shard", select_shard, cells, shard)
        typer.echo(f"Part {shard}: {len(cells)} of {len(every)} cells.", err=True)
    with usage_errors("--out"):
        write_atomically(store.folder / "study.json", json.dumps(facts, indent=1).encode())
    try:
        outcome = run_sweep(cells, store, **how)
    except KeyboardInterrupt:
        done = sum(store.is_finished(cell) for cell in cells)
        exit_with_message(
            f"Interrupted: {done} of {len(cells)} cells are finished and stored in "
            f"{store.folder}; give the same command again to resume.",
            130,
        )
    except (ValueError, CompilationError, GpuMismatchError) as error:
        exit_with_message(str(error), 1 if isinstance(error, GpuMismatchError) else 2)
    except OSError as error:
        full = error.errno == errno.ENOSPC or "No space left" in str(error)
        cause = f"The disk of {store.folder} is full" if full else f"{error}"
        exit_with_message(
            f"{cause}. Finished cells are stored; give the same command again to resume."
        )
    return f"{outcome.computed} cells run, {outcome.skipped} already finished"


def print_summary(rows: "Columns", unjudged: Mapping[str, str]) -> None:
    """Print a table of the settings of a study that fits the width of the terminal.

    Parameters that differ between the settings are columns of the table; values that all settings
    share are printed above it. The last columns of numbers are omitted if the terminal is too
    narrow. `rows` is a result of `Results.summary`. `unjudged`, a result of `not_optimistic`,
    contains the ids of the settings for which the table has no number of runs with optimism.
    """
    from belated.sweep.results import PARTS, varied

    parts = varied(rows) or ["updater"]
    common = [str(rows[name][0]) for name in PARTS[:4] if name not in parts]
    if common:
        typer.echo(f"All settings: {', '.join(common)}.")
    lines = []
    for values in zip(*rows.values(), strict=True):
        row = dict(zip(rows, values, strict=True))
        held = None if row["setting"] in unjudged else row["optimism_held"]
        numbers = (
            format_regret(row["mean_regret"]),
            f"{format_regret(row['low'])} to {format_regret(row['high'])}",
            f"{row['runs']}",
            format_mean_count(row["updates"]),
            format_optimism(held, row["runs"]),
        )
        lines.append([*(str(row[name]) for name in parts), *numbers])
    headings = [name.replace("_", " ").capitalize() for name in parts]
    headings += ["Mean regret", "95% of runs", "Runs", "Updates", "Optimism held"]
    print_table(headings, lines, numbers=range(len(parts), len(headings)), optional=4)


def not_optimistic(results: "Results") -> dict[str, str]:
    """Return the settings in `results` whose base is not designed to be optimistic.

    The result is a dict from the id of each such setting to the name of its base.
    """
    from belated.learner.bases import BASE_NAMES

    found = {}
    for facts in results.provenance.values():
        cell = facts["cell"]
        base = BASE_NAMES.parse(cell["base"], dict(cell["base_options"]))
        if not getattr(base, "optimistic", True):
            found[cell["id"].rpartition("/")[0]] = cell["base"]
    return found
