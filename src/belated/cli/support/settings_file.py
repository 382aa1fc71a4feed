"""Reading of the options of a command from a TOML file, and of the store's address from a file."""

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final

import typer

STORE_FILE_VARIABLE: Final = "BELATED_STORE_FILE"
"""Environment variable with the name of a file that contains the address of the store."""


def load_settings(context: typer.Context, file: Path | None) -> Path | None:
    """Use the values in the TOML file `file` as defaults of the options of a command.

    Values on the command line and in the environment take precedence. If `file` is None, nothing
    is done. Returns `file`, as the callback of an option must. Exit with a usage error if the file
    cannot be read or has an unknown key.
    """
    if file is None or context.resilient_parsing:
        return file
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}.") from None
    known = {str(param.name): param for param in context.command.params}
    known.pop("settings")
    for key in values:
        if key not in known:
            raise typer.BadParameter(
                f"{file} has the unknown key {key!r}; keys are: {', '.join(known)}."
            )
    context.default_map = {**(context.default_map or {}), **values}
    return file


SettingsOption = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        envvar="BELATED_SETTINGS",
        is_eager=True,
        callback=load_settings,
        help="TOML file with values of these options, such as store = 'sqlite:///belated.db'.",
    ),
]


def read_store(context: typer.Context, param: typer.CallbackParam, store: str) -> str:
    """Return the database address of the store.

    If the environment variable BELATED_STORE_FILE names a file, and the address is given neither on
    the command line nor in BELATED_STORE, return the content of this file; otherwise `store`.
    Exit with a usage error if the file cannot be read or is empty.
    """
    source: Any = context.get_parameter_source(str(param.name))
    file = os.environ.get(STORE_FILE_VARIABLE)
    if not file or source.name not in ("DEFAULT", "DEFAULT_MAP"):
        return store
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{STORE_FILE_VARIABLE}: {error}.") from None
    if not text:
        raise typer.BadParameter(f"{STORE_FILE_VARIABLE}: {file} is empty.")
    return text
