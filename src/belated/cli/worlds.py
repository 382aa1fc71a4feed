"""`belated worlds` lists the named worlds, and `belated show` describes one of them."""

import shlex
from typing import TYPE_CHECKING, Annotated, Final

import typer

from belated.cli.support.errors import require_packages, usage_errors
from belated.cli.support.options import OptionalFile, help_from_docstring
from belated.cli.support.output import prepare_figure_path, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from belated.episode import Bools
    from belated.mdp.model import MDP
    from belated.mdp.worlds import NamedWorld

MAX_POLICY_STATES: Final = 20
"""Maximum number of states for which the optimal policy is printed as a table."""

MAX_GRID_CELLS: Final = 400
"""Maximum number of cells of a grid for which the optimal policy is printed."""

MAX_POLICY_COLUMNS: Final = 24
"""Maximum number of columns of a printed policy. Each column is a range of steps."""

END: Final = "■"
"""Symbol of a terminal state."""

ARROWS: Final = {"left": "←", "right": "→", "up": "↑", "down": "↓"}


def worlds() -> None:
    """List the named worlds, with one example of each kind.

    S, A and H are the numbers of states, actions and steps. V* is the value of the optimal policy.
    The column Successors has the number of possible transitions, and the column Most the largest
    number of successors of one state and action.
    """
    import numpy as np

    from belated.exact.values import optimal_value
    from belated.mdp.worlds import WORLD_FAMILIES, MissingExtraError, example_worlds

    rows = []
    for named in example_worlds():
        source = named.family.source
        try:
            world = named.build()
        except MissingExtraError as error:
            numbers, source = ["-"] * 6, f"{source}; needs {error.install_command}"
        else:
            H, S, A = world.shape.table
            sizes = (S, A, H, world.succ.size, np.diff(world.ptr).max())
            numbers = [f"{size:,}" for size in sizes]
            numbers.insert(3, f"{optimal_value(world):.4g}")
        rows.append([named.name, *numbers, source])
    headings = ["World", "S", "A", "H", "V*", "Successors", "Most", "Source"]
    print_table(headings, rows, numbers=range(1, 7))
    patterns = [family.pattern for family in WORLD_FAMILIES if family.pattern != family.example]
    typer.echo(f"Names of other sizes: {', '.join(patterns)}.")
    typer.echo("`belated show NAME` describes one world.")


@help_from_docstring()
def show(
    world: Annotated[str, typer.Argument()],
    plot: OptionalFile = None,
) -> None:
    """Describe one world and its optimal policy.

    Example: belated show riverswim-6 --plot riverswim.pdf

    Parameters
    ----------
    world
        Name of the world, such as chain-5; see `belated worlds`.
    plot
        Write a drawing of a small world to this file, as PDF and PNG.
    """
    from belated.mdp.worlds import parse_name

    with usage_errors("WORLD"):
        named = parse_name(world)
        mdp = named.build()
    if plot is not None:
        require_packages("--plot", "figures", "matplotlib")
        from belated.figures.worlds import check_drawable, save_world

        with usage_errors("--plot"):
            check_drawable(mdp, named.layout)
        plot = prepare_figure_path("plot", plot)
    pattern, description = named.family.pattern, named.family.description
    typer.echo(f"{named.name}{'' if pattern == named.name else f' ({pattern})'}: {description}")
    print_facts(named, mdp)
    print_policy(named, mdp)
    if plot is not None:
        with usage_errors("--plot"):
            files = save_world(
                mdp,
                plot,
                title=named.name,
                command=shlex.join(["belated", "show", named.name, "--plot", str(plot)]),
                layout=named.layout,
                actions=named.family.action_names,
            )
        for file in files:
            typer.echo(file)


def print_facts(named: "NamedWorld", world: "MDP") -> None:
    """Print the properties of `world`, each with its name.

    `named` is the parsed name of `world`, with its source and the names of its actions.
    """
    from belated.exact.values import optimal_value
    from belated.mdp.summary import summary

    facts = {**summary(world), "V*": f"{optimal_value(world):.6g}", "source": named.family.source}
    if names := named.family.action_names:
        facts["actions"] = ", ".join(f"{a} {name}" for a, name in enumerate(names))
    width = max(map(len, facts))
    lines = [f" {name:{width}}   {value}" for name, value in facts.items()]
    typer.echo("\n".join(["", *lines, ""]))


def print_policy(named: "NamedWorld", world: "MDP") -> None:
    """Print the optimal policy of `world`, or a note if the policy is too large to print.

    `named` is the parsed name of `world`, with its layout and the names of its actions.
    """
    from belated.episode import equal_steps
    from belated.exact.values import optimal_actions

    S, H = world.shape.states, world.shape.horizon
    max_states = MAX_GRID_CELLS if isinstance(named.layout, tuple) else MAX_POLICY_STATES
    optimal = optimal_actions(world) if max_states >= S else None
    playable, names = world.shape.playable, named.family.action_names
    legend = "· where all are equally good"
    if world.shape.terminal:
        legend += f", {END} where the episode ends"
    if optimal is not None and isinstance(named.layout, tuple):
        typer.echo(f"Optimal first actions ({legend}):\n")
        columns = named.layout[1]
        symbols = [action_symbol(optimal[0, s], playable[0, s], names) for s in range(S)]
        for first in range(0, S, columns):
            typer.echo(f"  {' '.join(symbols[first : first + columns])}")
    elif optimal is not None and len(equal_steps(optimal)) <= MAX_POLICY_COLUMNS:
        typer.echo(f"Optimal actions by step ({legend}):")
        steps = equal_steps(optimal)
        rows = [
            [str(s), *(action_symbol(optimal[h, s], playable[h, s], names) for h in steps.values())]
            for s in range(S)
        ]
        print_table(["State", *steps], rows, numbers=range(1, 1 + len(steps)))
    else:
        typer.echo(f"The optimal policy is too large to print: {S} states, {H} steps.")


def action_symbol(optimal: "Bools", playable: "Bools", actions: "Sequence[str]") -> str:
    """Return a symbol for the first optimal action in a state.

    Parameters
    ----------
    optimal, playable : array of bool, shape (A,)
        Whether each action is optimal, and whether it can be played. In a terminal state, no action
        can be played.
    actions : sequence of str
        Names of the actions; empty if the actions have no names.

    Returns
    -------
    str
        An arrow for the names left, right, up and down, otherwise the number of the action; · if
        there are several actions and all are optimal, and `END` in a terminal state.

    Examples
    --------
    >>> import numpy as np
    >>> every = np.array([True, True])
    >>> action_symbol(np.array([False, True]), every, ("left", "right"))
    '→'
    >>> action_symbol(every, every, ()), action_symbol(every, ~every, ())
    ('·', '■')
    """
    if not playable.any():
        return END
    a = int(optimal.argmax())
    if playable.sum() > 1 and optimal[playable].all():
        return "·"
    return ARROWS.get(actions[a], str(a)) if actions else str(a)
