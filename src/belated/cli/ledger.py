"""`belated ledger`: whether it is sound, and how to keep it safe.

Exit codes: 0 done and sound, 1 something is wrong with the ledger or the database, 2 wrong usage.
"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from belated.cli.failures import failing, refusing
from belated.cli.serve import hidden
from belated.cli.token import DEFAULT, Store

if TYPE_CHECKING:
    from belated.cli.ledger_check import Checked
    from belated.cli.ledger_copy import Copied
    from belated.cli.watched import Watched

ledger = typer.Typer(
    name="ledger",
    help="Verify, back up, restore, copy and export a ledger.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Problem = Annotated[str | None, typer.Option(help="One problem alone; all if left out.")]


class Format(StrEnum):
    """What an export is written as."""

    NDJSON = "ndjson"
    PARQUET = "parquet"


@ledger.command()
def verify(store: Store = DEFAULT, problem: Problem = None) -> None:
    """Compute everything from the events anew, and compare it with what is stored.

    Leaves with 0 if the ledger is sound, and with 1 and a sentence for each fault if it is not.
    """
    with opened(store, "--store") as found, failing():
        from belated.cli.ledger_check import check

        tell(check(found, found.names(), problem=id_of(found, problem)))


@ledger.command()
def backup(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A new file; it will be a ledger in SQLite.")
    ],
    store: Store = DEFAULT,
) -> None:
    """Copy a ledger to a new file, while it is in use or not, and compare the two.

    It holds all that the ledger holds of people: keep it as safe.
    """
    with opened(store, "--store") as found:
        say(copied(found, url_of(file), "FILE"), f"{file}")


@ledger.command()
def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `belated ledger backup` made.")
    ],
    store: Store = DEFAULT,
) -> None:
    """Copy a backup to a database in which there is no ledger yet, and compare the two.

    What was withdrawn and which tokens were revoked since the backup was made, it does not know:
    do that again before the service is started.
    """
    with opened(url_of(file), "FILE") as found:
        say(copied(found, store, "--store"), hidden(store))


@ledger.command()
def copy(
    source: Annotated[str, typer.Option("--from", help="The ledger to copy.")],
    target: Annotated[str, typer.Option("--to", help="A database in which there is none yet.")],
) -> None:
    """Copy a ledger to another database, such as from SQLite to PostgreSQL, and compare the two.

    Stop the service first: what comes in meanwhile is not in the copy.
    """
    with opened(source, "--from") as found:
        say(copied(found, target, "--to"), hidden(target))


@ledger.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    format: Annotated[
        Format | None, typer.Option(help="Lines of JSON, or Parquet; by default as FILE ends.")
    ] = None,
    store: Store = DEFAULT,
    problem: Problem = None,
) -> None:
    """Write the events to a new file: lines of JSON, or Parquet if its name ends in .parquet.

    Of what was withdrawn it is told only that it was there.
    """
    with refusing("FILE"):
        format = format or format_of(file)
    with opened(store, "--store") as found, failing():
        with refusing():
            from belated.cli.ledger_export import export as write
        id = id_of(found, problem)
        with refusing("FILE"):
            count = write(found, file, problem=id, parquet=format is Format.PARQUET)
    typer.echo(f"Wrote {count:,} events to {file}, as {format.value}.")


def format_of(file: Path) -> Format:
    """What a name promises.

    >>> format_of(Path("events.parquet")).value
    'parquet'
    """
    endings = {".parquet": Format.PARQUET, "": Format.NDJSON}
    endings |= dict.fromkeys((".ndjson", ".jsonl", ".json"), Format.NDJSON)
    if file.suffix.lower() not in endings:
        raise ValueError(
            f"{file} ends in {file.suffix}; it must end in .ndjson or .parquet, or give --format."
        )
    return endings[file.suffix.lower()]


def opened(url: str, hint: str) -> "Watched":
    """The ledger that is there, or a sentence about why not."""
    require()
    from belated.cli.watched import open_existing

    with failing(), refusing(hint):
        return open_existing(url)


def require() -> None:
    """Leave if what ledgers need is not installed, with the sentence that tells how to."""
    with refusing():
        import belated.ledger  # noqa: F401


def copied(source: "Watched", url: str, hint: str) -> "Copied":
    """A copy, or a sentence about why not."""
    from belated.cli.ledger_copy import copy_to

    with failing(), refusing(hint):
        return copy_to(source, url)


def id_of(found: "Watched", problem: str | None) -> int | None:
    """The id of the problem of this name."""
    names = found.names()
    for id, name in names.items():
        if name == problem:
            return id
    if problem is not None:
        there = ", ".join(names.values()) or "none"
        raise typer.BadParameter(
            f"problem is {problem!r}; there is {there}.", param_hint="'--problem'"
        )
    return None


def tell(found: "Checked") -> None:
    """Say what was found; leave with 1 if something is wrong."""
    faults = list(found.faults)
    for verdict in found.verdicts:
        what = "sound" if verdict.sound else "not sound"
        typer.echo(f"{verdict.problem}: {verdict.events:,} events, {what}.")
        for sentence in verdict.unsettled:
            typer.echo(f"{verdict.problem}: {sentence}")
        faults += [f"{verdict.problem}: {fault}" for fault in verdict.faults]
    typer.echo(f"The digest of all events is {found.digest}.")
    complain(faults)


def say(found: "Copied", where: str) -> None:
    """Say what was copied; leave with 1 if something was wrong with it before."""
    rows = ", ".join(f"{count:,} {name}" for name, count in found.rows.items())
    typer.echo(f"{where} has the same rows: {rows}.")
    typer.echo(f"The digest of all events is {found.digest}, as it was.")
    complain(found.faults)


def complain(faults: list[str]) -> None:
    """Leave with 1 if there are any."""
    for fault in faults:
        typer.echo(fault, err=True)
    if faults:
        raise typer.Exit(1)


def url_of(file: Path) -> str:
    """The address of a backup."""
    require()
    from belated.cli.ledger_copy import sqlite

    return sqlite(file)
