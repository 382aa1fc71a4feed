"""`belated token`: create, list, roll over and revoke the tokens of the service."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from belated.cli.support.errors import database_errors, usage_errors
from belated.cli.support.options import help_from_docstring, parse_option
from belated.cli.support.output import print_table
from belated.cli.support.stores import (
    DEFAULT_STORE,
    StoreOption,
    hide_password,
    open_existing,
    open_ledger,
)

if TYPE_CHECKING:
    from belated.ledger.ledger import Ledger
    from belated.service.tokens import NewToken

SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
"""Map from each unit of a duration to its length in seconds."""

token = typer.Typer(
    name="token",
    help="Create, list, roll over and revoke the tokens of a service.",
    no_args_is_help=True,
)

ExpiresOption = Annotated[
    str | None,
    typer.Option(help="Time after which the token expires, such as 90d or 12h; by default never."),
]
TokenArgument = Annotated[str, typer.Argument(help="Id of the token, see `belated token list`.")]


@token.command()
@help_from_docstring()
def create(
    scope: str,
    problem: str | None = None,
    expires: ExpiresOption = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Create a token and print it. It cannot be shown again, because only its hash is stored.

    Example: belated token create --scope decide,feedback --problem clinic --expires 90d

    Parameters
    ----------
    scope
        Permissions, separated by commas: read, decide, feedback, correct, withdraw, export,
        metrics; admin has all of them and more.
    problem
        Problem to which the token gives access; by default all.
    """
    from belated.service.tokens import check_scopes

    scopes = parse_option("--scope", check_scopes, scope)
    lifetime_s = None if expires is None else parse_option("--expires", parse_duration, expires)
    with open_ledger(store) as ledger, database_errors():
        with usage_errors("--problem"):
            found = None if problem is None else ledger.problem(problem)
            if problem is not None and found is None:
                raise ValueError(
                    f"There is no problem {problem!r} in {hide_password(store)}; define it first, "
                    "or check --store."
                )
        created = add_token(ledger, scopes, None if found is None else found.id, lifetime_s)
        if not ledger.problems():
            text = f"{hide_password(store)} has no problem yet; check that it is the served store."
            typer.echo(f"Note: {text}", err=True)
    typer.echo(f"Token {created.id} for {', '.join(scopes)}; it is shown only once:", err=True)
    typer.echo(created.text)


@token.command("list")
def list_tokens(store: StoreOption = DEFAULT_STORE) -> None:
    """List the tokens, without their secrets."""
    rows = []
    with open_existing(store) as ledger:
        names = ledger.names()
        for entry in ledger.tokens.all():
            name = "all" if entry.problem is None else names[entry.problem]
            times = (entry.created, entry.used, entry.expires, entry.revoked)
            shown = ("" if time is None else format_time(time) for time in times)
            rows.append([entry.id, ", ".join(entry.scopes), name, *shown])
    print_table(["Token", "Scopes", "Problem", "Created", "Last used", "Expires", "Revoked"], rows)


@token.command()
@help_from_docstring()
def roll(
    token: TokenArgument,
    expires: ExpiresOption = None,
    overlap: str = "7d",
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Create a token to replace another one, and let the old one expire.

    The new token has the same scopes and problem. Both are valid for the time --overlap, in which
    all clients change to the new one.

    Example: belated token roll 3f9a1c20b7de --expires 90d --overlap 7d

    Parameters
    ----------
    overlap
        Time for which the old token stays valid, such as 7d or 12h.
    """
    lifetime_s = None if expires is None else parse_option("--expires", parse_duration, expires)
    overlap_s = parse_option("--overlap", parse_duration, overlap)
    with open_existing(store) as ledger, usage_errors("TOKEN"):
        old = ledger.tokens.expire(token, after_s=overlap_s)
        if old is None or old.expires is None:
            raise ValueError(f"There is no valid token {token[:12]!r}; see `belated token list`.")
        created = add_token(ledger, old.scopes, old.problem, lifetime_s)
    typer.echo(
        f"Token {created.id} replaces {old.id}, which expires at {format_time(old.expires)} UTC; "
        "it is shown only once:",
        err=True,
    )
    typer.echo(created.text)


@token.command()
def revoke(token: TokenArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Revoke a token; a running service rejects it within a second."""
    with open_existing(store) as ledger, usage_errors("TOKEN"):
        if not ledger.tokens.revoke(token):
            raise ValueError(
                f"There is no token {token[:12]!r}, or it is already revoked; "
                "see `belated token list`."
            )
    typer.echo(f"Token {token} is revoked.")


def add_token(
    ledger: "Ledger", scopes: Sequence[str], problem: int | None, lifetime_s: int | None
) -> "NewToken":
    """Create a token, store its hash in `ledger`, and return the token.

    `problem` is the id of the only problem to which it gives access, and `lifetime_s` the time in
    seconds after which it expires; None for all problems and for never.
    """
    from belated.service.tokens import create_token

    created = create_token()
    ledger.tokens.add(
        created.id, created.hash, scopes=scopes, problem=problem, lifetime_s=lifetime_s
    )
    return created


def parse_duration(text: str) -> int:
    """Return the duration `text` in seconds: a number and one of the units m, h, d and w.

    Raises ValueError if `text` has another form, or is longer than a hundred years.

    >>> parse_duration("90d")
    7776000
    """
    found = re.fullmatch(r"([1-9][0-9]{0,5})([mhdw])", text.strip())
    seconds = int(found[1]) * SECONDS[found[2]] if found else 0
    if not 0 < seconds <= 36_525 * 86_400:
        raise ValueError(
            f"A duration must be a number and m, h, d or w, such as 90d; got {text!r}."
        )
    return seconds


def format_time(microseconds: int) -> str:
    """Return a time in UTC as text, to the minute.

    The time is given in microseconds since 1970-01-01 00:00 UTC.

    >>> format_time(0)
    '1970-01-01 00:00'
    """
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC):%Y-%m-%d %H:%M}"
