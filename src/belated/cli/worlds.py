"""`belated worlds`: list the named worlds."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from belated.mdp.worlds import NamedWorld


def worlds() -> None:
    """List the named worlds, with one example of each kind.

    S, A and H are the numbers of states, actions and steps. V* is the value of the optimal policy.
    The column Successors has the number of possible transitions, and the column Most the largest
    number of successors of one state and action.
    """
    from rich.text import Text

    from belated.cli.support.output import build_table, print_table
    from belated.mdp.worlds import WORLD_FAMILIES, MissingExtraError, example_worlds

    table = build_table(["World"], ("S", "A", "H", "V*", "Successors", "Most"))
    table.add_column("Source")
    for named in example_worlds():
        source = named.family.source
        try:
            numbers = format_numbers(named)
        except MissingExtraError as error:
            numbers, source = ["-"] * 6, f"{source}; needs {error.install_command}"
        table.add_row(named.name, *numbers, Text(source))  # Text: brackets are not markup
    print_table(table)
    patterns = [family.pattern for family in WORLD_FAMILIES if family.pattern != family.example]
    typer.echo(f"Names of other sizes: {', '.join(patterns)}.")
    typer.echo("`belated show NAME` describes one world.")


def format_numbers(named: "NamedWorld") -> list[str]:
    """Return the numbers in the table row of one world, as text.

    They are S, A, H, the optimal value V*, the number of possible transitions, and the largest
    number of successors of one state and action. `named` is the parsed name of the world.
    """
    import numpy as np

    from belated.exact.values import optimal_value

    world = named.build()
    H, S, A = world.shape.table
    most = np.diff(world.ptr).max()
    counts = (f"{count:,}" for count in (S, A, H))
    return [*counts, f"{optimal_value(world):.4g}", f"{world.succ.size:,}", f"{most:,}"]
