"""`belated`: the command line.

Exit codes: 0 done, 1 something is wrong with what was found, 2 wrong usage, 130 stopped by
Ctrl-C. Commands import what they need when they run, so that `belated --help` is quick.
"""

import os
import sys
from typing import Annotated

import typer

import belated
from belated.cli.bounds import bounds
from belated.cli.calibrate import calibrate
from belated.cli.demo import demo
from belated.cli.figures import figures
from belated.cli.ledger import ledger
from belated.cli.reproduce import reproduce
from belated.cli.run import run
from belated.cli.serve import serve
from belated.cli.show import show
from belated.cli.sweep import sweep
from belated.cli.token import token
from belated.cli.worlds import worlds

app = typer.Typer(
    name="belated",
    help="Episodic reinforcement learning when feedback comes back late.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # half the time, and it does not say that --version takes a value
    pretty_exceptions_enable=False,
)
for command in (reproduce, run, sweep, figures, calibrate, bounds, worlds, show, serve, demo):
    app.command()(command)
app.add_typer(token)
app.add_typer(ledger)


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"belated {belated.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Options of `belated` itself; the help above stands for this text."""


def main() -> None:
    """The entry point."""
    sys.path.append(os.getcwd())  # where a base of your own, module:Class, may stand
    app(prog_name="belated")
