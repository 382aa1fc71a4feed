"""`belated sweep`: run a study from a file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from belated.sweep.cell import Cell
    from belated.sweep.results import Results
    from belated.sweep.store import Store
    from belated.sweep.sweep import Outcome


def sweep(
    study: Annotated[Path, typer.Argument(help="A TOML file, see docs/studies.md.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder for results; by default results/NAME.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Runs at a time.", min=1)] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="'local:N' for N processes, or the address of a Dask scheduler."),
    ] = None,
) -> None:
    """Run a study: every world, base, delay, updater and seed of a TOML file.

    Stop it, or lose the machine, and give the same command again: it goes on where it was. The
    results are plain Parquet files; `belated.results(FOLDER)` reads them, `belated figures FOLDER`
    draws them.
    """
    from belated.cli.support.tables import show
    from belated.sweep.results import Results
    from belated.sweep.store import Store, write
    from belated.sweep.study import read_study

    try:
        plan = read_study(study)
        cells = plan.cells()
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    store = Store(out or Path("results") / plan.name)
    facts = {"study": plan.name, "command": f"belated sweep {study.name}"}
    write(store.folder / "study.json", json.dumps(facts, indent=1).encode())
    outcome = play(cells, store, threads=threads, scheduler=scheduler)
    show(summary(Results(store.folder)))
    typer.echo(f"{outcome.played} cells played, {outcome.kept} kept from before: {store.folder}")


def play(
    cells: "Sequence[Cell]", store: "Store", *, threads: int | None, scheduler: str | None
) -> "Outcome":
    """Play a sweep from the command line: sentences and exit codes instead of tracebacks."""
    import errno

    from belated.sweep.sweep import sweep as play_cells

    try:
        return play_cells(cells, store, threads=threads, scheduler=scheduler)
    except KeyboardInterrupt:
        done = sum(store.finished(cell) for cell in cells)
        typer.echo(
            f"Stopped: {done} of {len(cells)} cells are finished and kept in {store.folder}; "
            "the same command goes on from there.",
            err=True,
        )
        raise typer.Exit(130) from None
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except OSError as error:
        full = error.errno == errno.ENOSPC or "No space left" in str(error)
        what = f"The disk of {store.folder} is full" if full else f"{error}"
        typer.echo(f"{what}. What was finished is kept; the same command goes on.", err=True)
        raise typer.Exit(1) from None


def summary(results: "Results") -> "Table":
    """One row for each setting."""
    from belated.cli.support.tables import numbers

    titles = ("Seeds", "Mean final regret", "Central 95% of runs", "Mean updates", "Optimism held")
    table = numbers("Setting", titles)
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
