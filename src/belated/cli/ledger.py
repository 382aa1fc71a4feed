"""`belated ledger`: verify, back up, restore, copy and export a ledger; archive problems.

Exit codes: 0 for success, 1 for a fault in the ledger or the database, 2 for wrong usage.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from belated.cli.support.errors import usage_errors
from belated.cli.support.options import help_from_docstring
from belated.cli.support.stores import (
    DEFAULT_STORE,
    StoreOption,
    hide_password,
    open_existing,
    sqlite_url,
)

if TYPE_CHECKING:
    from belated.cli.support.existing_ledger import ExistingLedger
    from belated.ledger.kinds import Action

ledger = typer.Typer(
    name="ledger",
    help="Verify, back up, restore, copy and export a ledger; archive problems.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE")]
ProblemArgument = Annotated[str, typer.Argument(metavar="PROBLEM", help="Name of the problem.")]
ProblemOption = Annotated[
    str | None, typer.Option(help="Name of a single problem; by default all problems.")
]


FORMATS: Final = {
    ".parquet": "parquet",
    **dict.fromkeys(("", ".ndjson", ".jsonl", ".json"), "ndjson"),
}
"""Map from the suffix of an exported file to its format."""


@ledger.command()
def verify(store: StoreOption = DEFAULT_STORE, problem: ProblemOption = None) -> None:
    """Recompute all stored results from the events, and compare them with the stored ones.

    Faults are printed. The exit code is 0 if the ledger has no faults, and 1 otherwise.

    Example: belated ledger verify --store sqlite:///belated.db
    """
    with open_existing(store) as found:
        from belated.cli.support.existing_ledger import verify_ledger

        result = verify_ledger(found, problem=find_problem(found, problem))
    faults = list(result.faults)
    for verdict in result.verdicts:
        outcome = "sound" if verdict.sound else "not sound"
        typer.echo(f"{verdict.problem}: {verdict.events:,} events, {outcome}.")
        for note in verdict.unsettled:
            typer.echo(f"{verdict.problem}: {note}")
        faults += [f"{verdict.problem}: {fault}" for fault in verdict.faults]
    typer.echo(f"Digest of all events: {result.digest}.")
    exit_with_faults(faults)


@ledger.command()
@help_from_docstring()
def backup(file: FileArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Copy a ledger to a new SQLite file, and compare the copy with the ledger.

    The ledger may be in use. The backup contains all personal data of the ledger: protect it
    equally well.

    Example: belated ledger backup backup.db --store sqlite:///belated.db

    Parameters
    ----------
    file
        New file for the backup, a SQLite ledger.
    """
    with open_existing(store) as found:
        copy_existing(found, sqlite_url(file), "FILE", shown=f"{file}")


@ledger.command()
@help_from_docstring()
def restore(file: FileArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Copy a backup to a database that has no ledger yet, and compare the copy with the backup.

    The backup does not contain later withdrawals and revocations of tokens: repeat them before you
    start the service.

    Example: belated ledger restore backup.db --store sqlite:///belated.db

    Parameters
    ----------
    file
        Backup made by `belated ledger backup`.
    """
    with open_existing(sqlite_url(file), "FILE") as found:
        copy_existing(found, store, "--store")


@ledger.command()
@help_from_docstring()
def copy(
    source: Annotated[str, typer.Option("--from")], target: Annotated[str, typer.Option("--to")]
) -> None:
    """Copy a ledger to another database, and compare the copy with the ledger.

    Use it, for example, to move from SQLite to PostgreSQL. Stop the service first: the copy does
    not contain requests that arrive during copying.

    Example: belated ledger copy --from sqlite:///belated.db --to postgresql://user@host/database

    Parameters
    ----------
    source
        Address of the ledger to copy.
    target
        Address of a database that has no ledger yet.
    """
    with open_existing(source, "--from") as found:
        copy_existing(found, target, "--to")


@ledger.command()
def archive(problem: ProblemArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Archive a problem: no episodes can be opened, and lists omit it. Feedback is still accepted.

    Example: belated ledger archive clinic
    """
    control_problem(store, problem, "archive")


@ledger.command()
def unarchive(problem: ProblemArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Unarchive a problem: episodes can be opened again, and lists include the problem.

    Example: belated ledger unarchive clinic
    """
    control_problem(store, problem, "unarchive")


@ledger.command()
@help_from_docstring()
def export(
    file: FileArgument,
    format: Literal["ndjson", "parquet"] | None = None,
    store: StoreOption = DEFAULT_STORE,
    problem: ProblemOption = None,
) -> None:
    """Write the events to a new file, as lines of JSON or as Parquet.

    By default, the suffix of the file selects the format. Withdrawn events are included without
    their content.

    Example: belated ledger export events.parquet --problem clinic

    Parameters
    ----------
    file
        New file for the events.
    format
        Lines of JSON or Parquet; by default according to FILE's suffix.
    """
    with usage_errors("FILE"):
        chosen = format or FORMATS.get(file.suffix.lower())
        if chosen is None:
            raise ValueError(
                f"{file} must end in .ndjson or .parquet, got {file.suffix}; or use --format."
            )
    with open_existing(store) as found:
        from belated.cli.support.existing_ledger import export_events

        id = find_problem(found, problem)
        with usage_errors("FILE"):
            count = export_events(found, file, problem=id, parquet=chosen == "parquet")
    typer.echo(f"Wrote {count:,} events to {file}, as {chosen}.")


def copy_existing(
    source: "ExistingLedger", url: str, option: str, *, shown: str | None = None
) -> None:
    """Copy a ledger, and print the number of rows. Exit with code 1 if the copy has faults.

    Parameters
    ----------
    source : ExistingLedger
        Ledger to copy.
    url : str
        Database address of the copy.
    option : str
        Option or argument that contains `url`, for error messages.
    shown : str or None
        Address to print; None to print `url` without its password.
    """
    from belated.cli.support.existing_ledger import copy_to

    with usage_errors(option):
        result = copy_to(source, url)
    rows = ", ".join(f"{count:,} {name}" for name, count in result.rows.items())
    typer.echo(f"{shown or hide_password(url)} has the same rows: {rows}.")
    typer.echo(f"Digest of all events: {result.digest}, the same in both.")
    exit_with_faults(result.faults)


def find_problem(found: "ExistingLedger", name: str | None, hint: str = "--problem") -> int | None:
    """Return the id of the problem called `name` in the ledger `found`.

    Return None if `name` is None. Exit with a usage error if there is no such problem. The error
    message contains `hint`, the command-line parameter with the name.
    """
    ids = {problem: id for id, problem in found.names().items()}
    if name is not None and name not in ids:
        known = ", ".join(ids) or "none"
        raise typer.BadParameter(
            f"There is no problem {name!r}; problems are: {known}.", param_hint=f"'{hint}'"
        )
    return None if name is None else ids[name]


def control_problem(store: str, problem: str, action: "Action") -> None:
    """Change the status of the problem called `problem` in the ledger at the address `store`.

    `action` is the change, such as "archive" or "unarchive"; see `belated.ledger.events.Action`.
    """
    with open_existing(store) as found:
        id = find_problem(found, problem, "PROBLEM")
        assert id is not None
        found.control(id, action)
    typer.echo(f"Problem {problem} is {action}d.")


def exit_with_faults(faults: list[str]) -> None:
    """Print `faults` on stderr and exit with code 1. If there are no faults, do nothing."""
    for fault in faults:
        typer.echo(fault, err=True)
    if faults:
        raise typer.Exit(1)
