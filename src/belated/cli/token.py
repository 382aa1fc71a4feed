"""`belated token`: who may use the service."""

from typing import TYPE_CHECKING, Annotated

import typer

from belated.cli.failures import failing, refusing
from belated.cli.inputs import sentence

if TYPE_CHECKING:
    from belated.online.ledger import Ledger

token = typer.Typer(
    name="token", help="Make, list and revoke the tokens of a service.", no_args_is_help=True
)

Store = Annotated[
    str, typer.Option(help="The ledger: sqlite:///belated.db, or postgresql://user@host/database.")
]
DEFAULT = "sqlite:///belated.db"


@token.command()
def create(
    scope: Annotated[
        str,
        typer.Option(
            help="What it is good for, with commas: read, decide, feedback, correct, withdraw, "
            "export, metrics; admin is all of them and more."
        ),
    ],
    problem: Annotated[
        str | None, typer.Option(help="The only problem it is good for; all if left out.")
    ] = None,
    store: Store = DEFAULT,
) -> None:
    """Make a token. It is shown once; what is kept cannot be turned back into it."""
    from belated.service.tokens import check_scopes, create_token

    with sentence("--scope"):
        scopes = check_scopes(scope)
    with open_ledger(store) as ledger, failing():
        with sentence("--problem"):
            found = None if problem is None else ledger.problem(problem)
            if problem is not None and found is None:
                raise ValueError(f"There is no problem {problem!r}.")
        made = create_token()
        ledger.tokens.add(
            made.id, made.hash, scopes=scopes, problem=None if found is None else found.id
        )
        if not ledger.problems():
            from belated.cli.serve import hidden

            words = f"{hidden(store)} holds no problem yet; is it the store that is served?"
            typer.echo(f"Note: {words}", err=True)
    typer.echo(f"Token {made.id}, for {', '.join(scopes)}; it is not shown again:", err=True)
    typer.echo(made.text)


@token.command("list")
def list_tokens(store: Store = DEFAULT) -> None:
    """List the tokens, but for their secrets."""
    from rich import box
    from rich.table import Table

    from belated.cli.tables import show

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in ("Token", "Scopes", "Problem", "Created", "Revoked"):
        table.add_column(title)
    with open_ledger(store) as ledger, failing():
        names = {problem.id: problem.name for problem in ledger.problems()}
        for one in ledger.tokens.all():
            name = "all" if one.problem is None else names[one.problem]
            revoked = "" if one.revoked is None else day(one.revoked)
            table.add_row(one.id, ", ".join(one.scopes), name, day(one.created), revoked)
    show(table)


@token.command()
def revoke(
    token: Annotated[str, typer.Argument(help="Its id, as `belated token list` shows it.")],
    store: Store = DEFAULT,
) -> None:
    """Make a token good for nothing, within a second."""
    with open_ledger(store) as ledger, failing(), sentence("TOKEN"):
        if not ledger.tokens.revoke(token):
            raise ValueError(f"There is no token {token[:12]!r} that is good for anything.")
    typer.echo(f"Token {token} is revoked.")


def open_ledger(store: str) -> "Ledger":
    """The ledger at an address, or a sentence about why not."""
    with refusing():
        from belated.online.ledger import Ledger
    with failing(), refusing("--store"):
        return Ledger.open(store)


def day(microseconds: int) -> str:
    """A time as people read it.

    >>> day(0)
    '1970-01-01 00:00'
    """
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC):%Y-%m-%d %H:%M}"
