"""Error handling of commands: a message on stderr and an exit code instead of a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NoReturn

import typer

from belated.extras import missing_extra


@contextmanager
def usage_errors(option: str | None = None) -> Iterator[None]:
    """Convert errors inside the block to usage errors (exit code 2).

    ValueError, TypeError, ImportError and OSError are converted, except ConnectionError, which is a
    subclass of OSError. `option` is the name of the option or argument at fault; None if no
    single option is at fault.
    """
    try:
        yield
    except ConnectionError:
        raise
    except (ValueError, TypeError, ImportError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            text = f"{error.filename} cannot be used: {os_error_reason(error)}."
        raise typer.BadParameter(text, param_hint=option and f"'{option}'") from None


def require_packages(subject: str, extra: str, *packages: str) -> None:
    """Exit with code 1 and a message if one of the `packages` of an extra is not installed.

    Commands call this function before they compute anything. `subject` is the command or option
    that needs the packages, and `extra` the extra of belated that installs them.
    """
    if missing := [name for name in packages if find_spec(name) is None]:
        exit_with_message(missing_extra(subject, " and ".join(missing), extra))


def os_error_reason(error: OSError) -> str:
    """Return a text that says why `error` occurred for a file or folder, and how to fix it.

    >>> os_error_reason(PermissionError(13, "Permission denied", "a.db"))
    'permission is denied; change its permissions or choose another path'
    """
    reasons: dict[type[OSError], str] = {
        FileNotFoundError: "there is no such file or folder",
        FileExistsError: "it exists and is not a folder; choose another path",
        NotADirectoryError: "its folder is a file; choose another path",
        IsADirectoryError: "it is a folder, but must be a file",
        PermissionError: "permission is denied; change its permissions or choose another path",
    }
    return reasons.get(type(error), f"{error.strerror}")


@contextmanager
def database_errors() -> Iterator[None]:
    """Convert database errors inside the block to exit code 1 and a one-line message."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except (SQLAlchemyError, ConnectionError, RuntimeError) as error:
        text = str(error)
        if isinstance(error, SQLAlchemyError):
            text = f"Database error: {getattr(error, 'orig', None) or error}"
        exit_with_message(f"{text.strip().splitlines()[0].rstrip('.')}.")


def exit_with_message(message: str, code: int = 1) -> NoReturn:
    """Print `message` on stderr and exit with `code`."""
    typer.echo(message, err=True)
    raise typer.Exit(code) from None
