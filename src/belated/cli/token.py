"""`belated token`: create, list and revoke the tokens of the service."""

from typing import Annotated

import typer

from belated.cli.support.errors import database_errors, usage_errors
from belated.cli.support.stores import DEFAULT_STORE, StoreOption, hide_password, open_ledger

token = typer.Typer(
    name="token", help="Create, list and revoke the tokens of a service.", no_args_is_help=True
)


@token.command()
def create(
    scope: Annotated[
        str,
        typer.Option(
            help="Permissions, separated by commas: read, decide, feedback, correct, withdraw, "
            "export, metrics; admin has all of them and more."
        ),
    ],
    problem: Annotated[
        str | None, typer.Option(help="Problem to which the token gives access; by default all.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Create a token and print it. It cannot be shown again, because only its hash is stored.

    Example: belated token create --scope decide,feedback --problem clinic
    """
    from belated.service.tokens import check_scopes, create_token

    with usage_errors("--scope"):
        scopes = check_scopes(scope)
    with open_ledger(store) as ledger, database_errors():
        with usage_errors("--problem"):
            found = None if problem is None else ledger.problem(problem)
            if problem is not None and found is None:
                raise ValueError(
                    f"There is no problem {problem!r} in {hide_password(store)}; define it first, "
                    "or check --store."
                )
        created = create_token()
        ledger.tokens.add(
            created.id, created.hash, scopes=scopes, problem=None if found is None else found.id
        )
        if not ledger.problems():
            text = f"{hide_password(store)} has no problem yet; check that it is the served store."
            typer.echo(f"Note: {text}", err=True)
    typer.echo(f"Token {created.id} for {', '.join(scopes)}; it is shown only once:", err=True)
    typer.echo(created.text)


@token.command("list")
def list_tokens(store: StoreOption = DEFAULT_STORE) -> None:
    """List the tokens, without their secrets."""
    from belated.cli.support.tables import build_table, print_table

    table = build_table(("Token", "Scopes", "Problem", "Created", "Revoked"))
    with open_ledger(store) as ledger, database_errors():
        names = {problem.id: problem.name for problem in ledger.problems()}
        for entry in ledger.tokens.all():
            name = "all" if entry.problem is None else names[entry.problem]
            revoked = "" if entry.revoked is None else format_time(entry.revoked)
            created = format_time(entry.created)
            table.add_row(entry.id, ", ".join(entry.scopes), name, created, revoked)
    print_table(table)


@token.command()
def revoke(
    token: Annotated[str, typer.Argument(help="Id of the token, see `belated token list`.")],
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Revoke a token; a running service rejects it within a second."""
    with open_ledger(store) as ledger, database_errors(), usage_errors("TOKEN"):
        if not ledger.tokens.revoke(token):
            raise ValueError(
                f"There is no token {token[:12]!r}, or it is already revoked; "
                "see `belated token list`."
            )
    typer.echo(f"Token {token} is revoked.")


def format_time(microseconds: int) -> str:
    """Return a time in UTC as text, to the minute.

    The time is given in microseconds since 1970-01-01 00:00 UTC.

    >>> format_time(0)
    '1970-01-01 00:00'
    """
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC):%Y-%m-%d %H:%M}"
