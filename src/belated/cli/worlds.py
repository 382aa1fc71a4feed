"""`belated worlds`: the worlds that have names."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from belated.mdp.worlds import Named


def worlds() -> None:
    """List the worlds that have names, one of each kind.

    S states, A actions, H steps; V* is the value of the best policy, and successors are the states
    that may follow a state and an action: all of them, and the most there are in one place.
    """
    from belated.cli.support.tables import show
    from belated.mdp.worlds import KINDS, examples

    show(table(examples()))
    forms = [kind.form for kind in KINDS if kind.form != kind.example]
    typer.echo(f"Other sizes are named alike: {', '.join(forms)}.")
    typer.echo("`belated show NAME` tells more about one of them.")


def table(named: "Sequence[Named]") -> "Table":
    """One row for each world; one that needs an extra says which."""
    from rich.text import Text

    from belated.cli.support.tables import numbers
    from belated.mdp.worlds import MissingExtraError

    rows = numbers("World", ("S", "A", "H", "V*", "Successors", "Most"))
    rows.add_column("From")
    for one in named:
        source = one.kind.source
        try:
            found = row(one)
        except MissingExtraError as error:
            found, source = ["-"] * 6, f"{source}; needs {error.remedy}"
        rows.add_row(one.name, *found, Text(source))  # as text: brackets are no markup
    return rows


def row(named: "Named") -> list[str]:
    """The numbers of a world."""
    import numpy as np

    from belated.exact.values import optimal_value

    world = named.make()
    H, S, A = world.shape.table
    most = np.diff(world.ptr).max()
    counts = (f"{count:,}" for count in (S, A, H))
    return [*counts, f"{optimal_value(world):.4g}", f"{world.succ.size:,}", f"{most:,}"]
