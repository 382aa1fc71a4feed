"""Failures: what goes wrong leaves with a code and one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer


@contextmanager
def refusing(hint: str | None = None) -> Iterator[None]:
    """What is wrong with an argument leaves with code 2 and one sentence."""
    try:
        yield
    except ConnectionError:  # the database's fault
        raise
    except (ValueError, ImportError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            text = f"{error.filename} cannot be used: {error.strerror}."
        raise typer.BadParameter(text, param_hint=hint and f"'{hint}'") from None


@contextmanager
def failing() -> Iterator[None]:
    """What goes wrong with a database leaves with code 1 and one sentence."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except SQLAlchemyError as error:
        fail(f"The database fails: {getattr(error, 'orig', None) or error}")
    except (ConnectionError, RuntimeError) as error:
        fail(str(error))


def fail(text: str) -> NoReturn:
    """Leave with code 1 and the first line of a text."""
    typer.echo(f"{text.strip().splitlines()[0].rstrip('.')}.", err=True)
    raise typer.Exit(1) from None
