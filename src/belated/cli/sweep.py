"""`belated sweep`: run all settings of a study."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from belated.cli.support.errors import exit_with_message
from belated.cli.support.options import SchedulerOption, ThreadsOption
from belated.sweep.packaged import study_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from belated.sweep.cell import Cell
    from belated.sweep.results import Results
    from belated.sweep.store import Store
    from belated.sweep.sweep import SweepResult

STUDY_HELP = f"Study file (TOML), or the name of a packaged study: {', '.join(study_names())}."


def sweep(
    study: Annotated[Path, typer.Argument(help=STUDY_HELP)],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results; by default results/NAME, the study's name."),
    ] = None,
    threads: ThreadsOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Run all settings and seeds of a study.

    The settings are all combinations of the study's worlds, bases, delays and updaters. To resume
    an interrupted sweep, give the same command again. Results are stored as Parquet files.
    `belated.results(FOLDER)` reads the results in Python, and `belated figures FOLDER` draws them.

    Example: belated sweep late-rewards
    """
    from belated.cli.support.tables import print_table
    from belated.sweep.results import Results
    from belated.sweep.store import Store, write_atomically
    from belated.sweep.study import read_study

    try:
        plan = read_study(study)
        cells = plan.cells()
    except ValueError as error:
        exit_with_message(str(error), 2)
    store = Store(out or Path("results") / plan.name)
    facts = {"study": plan.name, "command": f"belated sweep {study.name}"}
    write_atomically(store.folder / "study.json", json.dumps(facts, indent=1).encode())
    outcome = run_cells(cells, store, threads=threads, scheduler=scheduler)
    print_table(build_summary_table(Results(store.folder)))
    typer.echo(f"{format_outcome(outcome)}: {store.folder}")


def run_cells(
    cells: "Sequence[Cell]", store: "Store", *, threads: int | None, scheduler: str | None
) -> "SweepResult":
    """Run a sweep. After an error or Ctrl-C, exit with a message and an exit code other than 0.

    Parameters
    ----------
    cells : sequence of Cell
        Cells to run.
    store : Store
        Folder of the results. Cells that are already finished in this folder are skipped.
    threads : int or None
        Number of cells computed at the same time; None for the number of processors.
    scheduler : str or None
        "local:N" for N processes, or the address of a Dask scheduler; None for threads.

    Returns
    -------
    SweepResult
        Number of cells computed, number of cells skipped, and duration.
    """
    import errno

    from belated.sweep.sweep import sweep as run_sweep

    try:
        return run_sweep(cells, store, threads=threads, scheduler=scheduler)
    except KeyboardInterrupt:
        done = sum(store.is_finished(cell) for cell in cells)
        exit_with_message(
            f"Interrupted: {done} of {len(cells)} cells are finished and stored in "
            f"{store.folder}; give the same command again to resume.",
            130,
        )
    except ValueError as error:
        exit_with_message(str(error), 2)
    except OSError as error:
        full = error.errno == errno.ENOSPC or "No space left" in str(error)
        cause = f"The disk of {store.folder} is full" if full else f"{error}"
        exit_with_message(
            f"{cause}. Finished cells are stored; give the same command again to resume."
        )


def format_outcome(outcome: "SweepResult") -> str:
    """Return the numbers of computed and skipped cells in `outcome` as text."""
    return f"{outcome.computed} cells run, {outcome.skipped} already finished"


def build_summary_table(results: "Results") -> "Table":
    """Return a table that summarises the runs in `results`, with one row for each setting."""
    from belated.cli.support.tables import build_table

    table = build_table(
        ["Setting"],
        ("Seeds", "Mean final regret", "Central 95% of runs", "Mean updates", "Optimism held"),
    )
    rows = results.sql(
        """
        SELECT setting, count(*) AS seeds, avg(total_regret) AS mean,
               quantile_cont(total_regret, 0.025) AS low,
               quantile_cont(total_regret, 0.975) AS high,
               avg(updates) AS updates, sum((optimism_broken = 0)::int) AS held
        FROM runs GROUP BY setting ORDER BY setting
        """
    )
    for i, setting in enumerate(rows["setting"]):
        table.add_row(
            str(setting),
            f"{rows['seeds'][i]}",
            f"{rows['mean'][i]:,.1f}",
            f"{rows['low'][i]:,.1f} to {rows['high'][i]:,.1f}",
            f"{rows['updates'][i]:,.0f}",
            f"{rows['held'][i]:.0f} of {rows['seeds'][i]}",
        )
    return table
