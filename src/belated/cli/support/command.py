"""Help texts of options and arguments, which are read from the docstring of a command."""

import inspect
import re
from collections.abc import Callable
from copy import copy
from typing import Annotated, Any, Final, TypeVar, get_origin

import typer

from belated.cli.support.options import SharedOptions

Command = TypeVar("Command", bound=Callable[..., None])

SECTION: Final = re.compile(r"\n\nParameters\n-+\n")
"""Regular expression for the heading of the section of a docstring with the parameters."""

ENTRY: Final = re.compile(r"^(\w+)(?: : .*)?\n((?: .*\n?)+)", re.MULTILINE)
"""Regular expression for the name and the text of a parameter in this section."""


def help_from_docstring(*, envvar_prefix: str = "") -> Callable[[Command], Command]:
    """Return a decorator that gives the options of a command their help texts.

    The texts are those of the section "Parameters" of its docstring, or else of `SharedOptions`.
    The text before this section is the help text of the command itself. Parameters without an entry
    keep their declaration.

    Parameters
    ----------
    envvar_prefix : str
        Prefix of the environment variable of each option, such as "BELATED_"; empty for none.

    Returns
    -------
    callable
        Decorator.
    """

    def describe(parameter: inspect.Parameter, help: str) -> inspect.Parameter:
        declared: Any = parameter.annotation
        is_declared = get_origin(declared) is Annotated
        info = copy(declared.__metadata__[0]) if is_declared else typer.Option()
        info.help = help
        if envvar_prefix:
            info.envvar = envvar_prefix + parameter.name.upper()
        kind = declared.__origin__ if is_declared else declared
        return parameter.replace(annotation=Annotated[kind, info])

    def decorate(command: Command) -> Command:
        text, section = SECTION.split(inspect.getdoc(command) or "")
        shared = inspect.getdoc(SharedOptions) or ""
        entries = ENTRY.findall(f"{SECTION.split(shared)[1]}\n{section}")  # own entries come last
        helps = {name: " ".join(entry.split()) for name, entry in entries}
        signature = inspect.signature(command)
        parameters = [
            describe(parameter, helps[name]) if name in helps else parameter
            for name, parameter in signature.parameters.items()
        ]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__doc__ = text
        return command

    return decorate
