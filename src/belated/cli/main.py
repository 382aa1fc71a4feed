"""`belated`: entry point of the command line.

Exit codes: 0 for success, 1 for an error in data, a database or a service or a missing package, 2
for wrong usage, and 130 for an interruption by Ctrl-C. Each command imports its dependencies only
when it runs, so that `belated --help` is fast.
"""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import belated
from belated.cli.bounds import bounds
from belated.cli.calibrate import calibrate
from belated.cli.demo import demo
from belated.cli.figures import figures
from belated.cli.lateness import lateness
from belated.cli.ledger import ledger
from belated.cli.reproduce import reproduce
from belated.cli.run import run
from belated.cli.serve import serve
from belated.cli.support.errors import exit_with_message
from belated.cli.support.options import help_from_docstring
from belated.cli.sweep import sweep
from belated.cli.token import token
from belated.cli.worlds import show, worlds


class Commands(TyperGroup):
    """Commands that exit with a message if a package that they import is missing."""

    def invoke(self, context: Any) -> Any:
        """Run the command that is given in `context`, and return its result."""
        try:
            return super().invoke(context)
        except ImportError as error:
            exit_with_message(str(error))


app = typer.Typer(
    name="belated",
    cls=Commands,
    help="Episodic reinforcement learning with delayed feedback.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # rich doubles the time, and shows --version as if it took a value
    pretty_exceptions_enable=False,
)
COMMANDS = (reproduce, run, sweep, figures, calibrate, bounds, worlds, show, lateness, serve, demo)
for command in COMMANDS:
    app.command()(command)
app.add_typer(token)
app.add_typer(ledger)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"belated {belated.__version__}")
        raise typer.Exit


@app.callback()
@help_from_docstring()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Declare the options of `belated` itself.

    Parameters
    ----------
    version
        Show the version and exit.
    """


def main() -> None:
    """Run the command line with the arguments of the process."""
    sys.path.append(os.getcwd())  # so that "module:name" finds modules in this folder
    app(prog_name="belated")
