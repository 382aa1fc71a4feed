"""`belated bounds`: regret orders and bounds of the paper, for a problem size and a delay."""

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import typer

from belated.check import check_integer
from belated.cli.support.options import JsonOption, help_from_docstring, parse_option
from belated.cli.support.output import print_table

if TYPE_CHECKING:
    from belated.theory.regret import Regret

MAX_SIZE: Final = 10**9
"""Maximum number of states, actions or steps. With larger numbers, products in the bounds could
overflow a double."""

MAX_EPISODES: Final = 10**18
"""Maximum number of episodes that the functions of `belated.theory` support."""


@help_from_docstring()
def bounds(
    states: int,
    actions: int,
    horizon: int,
    episodes: int,
    mean_delay: float,
    alpha: float = 10.0,
    delta: float = 0.05,
    as_json: JsonOption = False,
) -> None:
    """Compute the regret bounds of the paper, for every base with active and lazy updating.

    Orders are those of the paper's Table 1; they omit constants and logarithms. Bounds are those of
    Theorems 1 and 2, with their constants. Each order and each bound is the sum of a leading term,
    which does not depend on the delay, and a delay term.

    Example: belated bounds --states 30 --actions 2 --horizon 30 --episodes 100000 --mean-delay 300

    Parameters
    ----------
    states
        Number of states S.
    actions
        Number of actions A.
    horizon
        Number of steps H in an episode.
    episodes
        Number of episodes K.
    mean_delay
        Expected delay E[tau], in episodes.
    alpha
        Parameter alpha of lazy updating, at least 1.
    delta
        Probability delta in the bounds; see docs/theory.md for what is proved.
    """
    from belated.episode import Shape
    from belated.theory import best_alpha, psi, table_1, theorem_1, theorem_2
    from belated.theory.bonus import BASES
    from belated.theory.lemmas import check_alpha, check_delta, check_mean_delay

    sizes = {"states": states, "actions": actions, "horizon": horizon}
    for name, value in sizes.items():
        parse_option(f"--{name}", check_size, name, value, MAX_SIZE)
    parse_option("--episodes", check_size, "episodes", episodes, MAX_EPISODES)
    parse_option("--mean-delay", check_mean_delay, mean_delay)
    parse_option("--alpha", check_alpha, alpha)
    parse_option("--delta", check_delta, delta)
    shape = Shape(states, actions, horizon)
    run: dict[str, Any] = {"episodes": episodes, "mean_delay": mean_delay}
    late = {**run, "delta": delta}
    rows = []
    for orders in table_1(shape, **run, alpha=alpha):
        base = orders.base
        active, lazy = theorem_1(base, shape, **late), theorem_2(base, shape, **late, alpha=alpha)
        rows.append(describe_regret(base, "active", orders.active, active))
        rows.append(describe_regret(base, "lazy", orders.lazy, lazy))
    missing = psi(mean_delay, episodes, delta)
    alphas = {base: best_alpha(shape, base=base, **late) for base in BASES}
    if as_json:
        document = {
            "asked": {**sizes, **late, "alpha": alpha},
            "psi": missing,
            "most_regret": episodes * horizon,
            "best_alpha": alphas,
            "promises": rows,
        }
        # JSON has no infinity
        document = json.loads(json.dumps(document), parse_constant=lambda name: "inf")
        typer.echo(json.dumps(document, indent=2))
        return
    print_regrets("order", rows, alpha)
    print_regrets("bound", rows, alpha)
    typer.echo(
        f"At most {missing:,.0f} episodes are missing at a time, "
        f"with probability {100 * (1 - delta / 5):g}% (psi)."
    )
    typer.echo(format_alphas(alphas))
    typer.echo(format_vacuous([row["bound"]["vacuous"] for row in rows], episodes, horizon))


def check_size(name: str, value: int, maximum: int) -> None:
    """Raise ValueError unless `value`, the number called `name`, is between 1 and `maximum`."""
    check_integer(name, value, 1)
    if value > maximum:
        raise ValueError(f"{name} must be at most {maximum:,}, got {value}.")


def describe_regret(base: str, updating: str, order: "Regret", bound: "Regret") -> dict[str, Any]:
    """Return the order of the regret of one base with one updater, and its bound, as JSON object.

    Parameters
    ----------
    base : str
        Name of the base.
    updating : str
        Name of the updater, "active" or "lazy".
    order, bound : Regret
        Order of the regret, and regret bound.

    Returns
    -------
    dict
        The object, with the keys base, updating, order and bound.
    """
    terms = ("leading", "delay", "total", "vacuous")
    regrets = {"order": order, "bound": bound}
    return {
        "base": base,
        "updating": updating,
        **{kind: {term: getattr(one, term) for term in terms} for kind, one in regrets.items()},
    }


def print_regrets(kind: str, rows: Sequence[dict[str, Any]], alpha: float) -> None:
    """Print a table with the terms of the orders or the bounds in `rows`.

    `kind` is "order" or "bound". Bounds above the maximum regret are marked with an asterisk.
    `alpha` is the parameter of lazy updating.
    """
    lines: list[list[str] | None] = []
    for row in rows:
        leading, delay, total, vacuous = row[kind].values()
        mark = "*" if vacuous and kind == "bound" else ""
        updater = row["updating"] if row["updating"] == "active" else f"lazy, alpha {alpha:g}"
        lines.append([row["base"], updater, f"{leading:.2g}", f"{delay:.2g}", f"{total:.2g}{mark}"])
        if row["updating"] == "lazy":
            lines.append(None)
    print_table(
        [f"{kind.capitalize()}s", "", "leading", "delay", "total"], lines, numbers=range(2, 5)
    )


def format_alphas(alphas: dict[str, float]) -> str:
    """Return a sentence with the alpha that minimizes the bound of each base.

    `alphas` is a map from the name of a base to its alpha, which may be infinite.
    """
    listed = ", ".join(f"{base} {alpha:.3g}" for base, alpha in alphas.items())
    active = ""
    if math.inf in alphas.values():
        active = (
            " (inf is active updating: there, the bound of lazy updating, Theorem 2, falls as "
            "alpha grows; the bound of active updating in the table, Theorem 1, is larger)"
        )
    return f"Alpha with the smallest bound: {listed}{active}."


def format_vacuous(vacuous: Sequence[bool], episodes: int, horizon: int) -> str:
    """Return a sentence that says how many bounds exceed the maximum regret K H.

    `vacuous` states for each bound whether it does, and K and H are `episodes` and `horizon`.
    """
    count = sum(vacuous)
    subject, place = f"{count} of {len(vacuous)} bounds are vacuous (*): they are", "above"
    if count == len(vacuous):
        subject = "Every bound is vacuous (*): it is"
    elif not count:
        subject, place = "No bound is vacuous: each is", "below"
    return (
        f"{subject} {place} K H = {episodes * horizon:,}, the maximum reward of {episodes:,} "
        "episodes. Orders are not bounds."
    )
