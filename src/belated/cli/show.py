"""`belated show`: one world in words, numbers and a picture."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from belated.cli.support.options import sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from belated.episode import Bools
    from belated.mdp.model import MDP
    from belated.mdp.worlds import Named

STATES = 20
"""States of a policy that are still read."""

CELLS = 400
"""Cells of a grid that are still read."""

PARTS = 24
"""Stretches of steps of a policy that are still read."""

SIGNS = {"left": "←", "right": "→", "up": "↑", "down": "↓"}


def show(
    world: Annotated[str, typer.Argument(help="The world, such as chain-5; see `belated worlds`.")],
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw it, if it is small, as PDF and PNG.", dir_okay=False),
    ] = None,
) -> None:
    """Show a world: its size, where it starts, its best value and policy, and a picture."""
    from belated.cli.support.tables import show as print_table
    from belated.mdp.worlds import look_up

    with sentence("WORLD"):
        named = look_up(world)
        made = named.make()
    if plot is not None:
        plot = check_plot(plot, named, made)
    typer.echo(heading(named))
    print_table(facts(named, made))
    tell_policy(named, made)
    if plot is not None:
        from belated.figures.worlds import draw_world

        with sentence("--plot"):
            files = draw_world(
                made,
                plot,
                title=named.name,
                command=shlex.join(["belated", "show", named.name, "--plot", str(plot)]),
                layout=named.layout,
                actions=named.kind.actions,
            )
        for file in files:
            typer.echo(file)


def check_plot(path: Path, named: "Named", world: "MDP") -> Path:
    """The path without a suffix, or a sentence about why there will be no picture."""
    from belated.figures.worlds import refusal

    with sentence("--plot"):
        said = refusal(world, named.layout)
        if said is not None:
            raise ValueError(said)
        if path.suffix not in ("", ".pdf", ".png"):
            raise ValueError(f"plot is {str(path)!r}; it must end in .pdf or .png, or in neither.")
        path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_suffix("")


def heading(named: "Named") -> str:
    """What it is, in a line or two."""
    form = named.kind.form
    return f"{named.name}{'' if form == named.name else f' ({form})'}: {named.kind.about}"


def facts(named: "Named", world: "MDP") -> "Table":
    """One row for each thing there is to say."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from belated.exact.values import optimal_value
    from belated.mdp.html import summary

    found = {**summary(world), "V*": f"{optimal_value(world):.6g}", "source": named.kind.source}
    if named.kind.actions:
        found["actions"] = ", ".join(f"{a} {name}" for a, name in enumerate(named.kind.actions))
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    for name, value in found.items():
        table.add_row(name, Text(value))
    return table


def tell_policy(named: "Named", world: "MDP") -> None:
    """Print the optimal policy, or why not."""
    from belated.cli.support.tables import show as print_table
    from belated.exact.best import optimal_actions

    S, H = world.shape.states, world.shape.horizon
    most = CELLS if isinstance(named.layout, tuple) else STATES
    best = None if most < S else optimal_actions(world)
    if best is not None and isinstance(named.layout, tuple):
        typer.echo("Optimal first actions (· where all are as good):\n")
        columns = named.layout[1]
        signs = [sign(best[0, s], named.kind.actions) for s in range(S)]
        for first in range(0, S, columns):
            typer.echo(f"  {' '.join(signs[first : first + columns])}")
    elif best is not None and len(stretches(best)) <= PARTS:
        typer.echo("Optimal actions by step (· where all are as good):")
        print_table(policy_table(best, named.kind.actions))
    else:
        typer.echo(f"The optimal policy is too big to print: {S} states, {H} steps.")


def stretches(best: "Bools") -> list[tuple[int, int]]:
    """Steps over which the optimal actions stay the same, first and last.

    >>> import numpy as np
    >>> stretches(np.array([[[True, False]], [[True, False]], [[True, True]]]))
    [(0, 1), (2, 2)]
    """
    changes = [h for h in range(1, len(best)) if (best[h] != best[h - 1]).any()]
    begins = [0, *changes]
    return list(zip(begins, [h - 1 for h in (*changes, len(best))], strict=True))


def policy_table(best: "Bools", actions: "Sequence[str]") -> "Table":
    """A row for each state, a column for each stretch of steps."""
    from belated.cli.support.tables import numbers

    parts = stretches(best)
    titles = [f"{a + 1}" if a == b else f"{a + 1}-{b + 1}" for a, b in parts]
    table = numbers("State", titles)
    for s in range(best.shape[1]):
        table.add_row(str(s), *(sign(best[first, s], actions) for first, _ in parts))
    return table


def sign(best: "Bools", actions: "Sequence[str]") -> str:
    """The first of the best actions in a letter or two.

    >>> import numpy as np
    >>> sign(np.array([False, True]), ("left", "right")), sign(np.array([True, True]), ())
    ('→', '·')
    """
    a = int(best.argmax())
    if best.size > 1 and best.all():
        return "·"
    return SIGNS.get(actions[a], str(a)) if actions else str(a)
