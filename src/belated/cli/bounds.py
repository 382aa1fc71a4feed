"""`belated bounds`: regret orders and bounds of the paper, for a problem size and a delay."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from belated.cli.support.errors import usage_errors
from belated.cli.support.options import JsonOption, parse_option
from belated.cli.support.output import build_table, print_table

if TYPE_CHECKING:
    from belated.episode import Shape
    from belated.theory.regret import Regret

MAX_SIZE: Final = 10**9
"""Maximum number of states, actions or steps. With larger numbers, products in the bounds could
overflow a double."""

MAX_EPISODES: Final = 10**18
"""Maximum number of episodes that the functions of `belated.theory` support."""


def bounds(
    states: Annotated[int, typer.Option(help="Number of states S.")],
    actions: Annotated[int, typer.Option(help="Number of actions A.")],
    horizon: Annotated[int, typer.Option(help="Number of steps H in an episode.")],
    episodes: Annotated[int, typer.Option(help="Number of episodes K.")],
    mean_delay: Annotated[float, typer.Option(help="Expected delay E[tau], in episodes.")],
    alpha: Annotated[
        float, typer.Option(help="Parameter alpha of lazy updating, at least 1.")
    ] = 10.0,
    delta: Annotated[
        float,
        typer.Option(
            help="Probability delta in the bounds; see docs/theory.md for what is proved."
        ),
    ] = 0.05,
    as_json: JsonOption = False,
) -> None:
    """Compute the regret bounds of the paper, for every base with active and lazy updating.

    Orders are those of the paper's Table 1; they omit constants and logarithms. Bounds are those of
    Theorems 1 and 2, with their constants. Each order and each bound is the sum of a leading term,
    which does not depend on the delay, and a delay term.

    Example: belated bounds --states 30 --actions 2 --horizon 30 --episodes 100000 --mean-delay 300
    """
    from belated.episode import Shape
    from belated.theory import best_alpha, psi
    from belated.theory.bonus import BASES
    from belated.theory.lemmas import check_alpha, check_delta, check_mean_delay

    sizes = {"states": states, "actions": actions, "horizon": horizon}
    for name, value in sizes.items():
        check_size(name, value, MAX_SIZE)
    check_size("episodes", episodes, MAX_EPISODES)
    parse_option("--mean-delay", check_mean_delay, mean_delay)
    parse_option("--alpha", check_alpha, alpha)
    parse_option("--delta", check_delta, delta)
    shape = Shape(states, actions, horizon)
    late: dict[str, Any] = {"episodes": episodes, "mean_delay": mean_delay, "delta": delta}
    rows = evaluate_bounds(shape, alpha, **late)
    missing = psi(mean_delay, episodes, delta)
    alphas = {base: best_alpha(shape, base=base, **late) for base in BASES}
    if as_json:
        document = {
            "asked": {**sizes, **late, "alpha": alpha},
            "psi": missing,
            "most_regret": episodes * horizon,
            "best_alpha": alphas,
            "promises": [row.to_dict() for row in rows],
        }
        typer.echo(json.dumps(replace_infinity(document), indent=2, allow_nan=False))
        return
    print_regrets("Orders", rows, [row.order for row in rows], alpha)
    print_regrets("Bounds", rows, [row.bound for row in rows], alpha)
    typer.echo(
        f"At most {missing:,.0f} episodes are missing at a time, "
        f"with probability {100 * (1 - delta / 5):g}% (psi)."
    )
    typer.echo(format_alphas(alphas))
    typer.echo(format_vacuous(rows, episodes))


def check_size(name: str, value: int, maximum: int) -> None:
    """Exit with a usage error unless `value` is between 1 and `maximum`.

    `name` is the name of the option, without hyphens at the start.
    """
    from belated.check import check_integer

    with usage_errors(f"--{name}"):
        check_integer(name, value, 1)
        if value > maximum:
            raise ValueError(f"{name} must be at most {maximum:,}, got {value}.")


@dataclass(frozen=True)
class BoundsRow:
    """Order of the regret of one base with one updater, and its regret bound."""

    base: str
    updating: str
    """Name of the updater, "active" or "lazy"."""
    order: "Regret"
    bound: "Regret"

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        terms = ("leading", "delay", "total", "vacuous")
        return {
            "base": self.base,
            "updating": self.updating,
            "order": {name: getattr(self.order, name) for name in terms},
            "bound": {name: getattr(self.bound, name) for name in terms},
        }


def evaluate_bounds(
    shape: "Shape", alpha: float, *, episodes: int, mean_delay: float, delta: float
) -> list[BoundsRow]:
    """Return the order of Table 1 and the bound of Theorem 1 or 2, for each base and updater.

    The parameters are those of the functions of `belated.theory`.
    """
    from belated.theory import table_1, theorem_1, theorem_2

    late: dict[str, Any] = {"episodes": episodes, "mean_delay": mean_delay}
    rows = []
    for orders in table_1(shape, **late, alpha=alpha):
        active = theorem_1(orders.base, shape, **late, delta=delta)
        lazy = theorem_2(orders.base, shape, **late, alpha=alpha, delta=delta)
        rows += [
            BoundsRow(orders.base, "active", orders.active, active),
            BoundsRow(orders.base, "lazy", orders.lazy, lazy),
        ]
    return rows


def print_regrets(
    title: str, rows: Sequence[BoundsRow], regrets: "Sequence[Regret]", alpha: float
) -> None:
    """Print a table with the terms of an order or a bound for each of `rows`.

    Bounds above the maximum regret are marked with an asterisk. `alpha` is the parameter of lazy
    updating.
    """
    table = build_table([title, ""], ("leading", "delay", "total"))
    for row, regret in zip(rows, regrets, strict=True):
        mark = "*" if regret.vacuous and not regret.order else ""
        table.add_row(
            row.base,
            row.updating if row.updating == "active" else f"lazy, alpha {alpha:g}",
            f"{regret.leading:.2g}",
            f"{regret.delay:.2g}",
            f"{regret.total:.2g}{mark}",
            end_section=row.updating == "lazy",
        )
    print_table(table)


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


def format_vacuous(rows: Sequence[BoundsRow], episodes: int) -> str:
    """Return a sentence that says how many bounds exceed the maximum regret K H."""
    vacuous = sum(row.bound.vacuous for row in rows)
    limit = f"K H = {rows[0].bound.max_regret:,}, the maximum reward of {episodes:,} episodes"
    if vacuous == len(rows):
        return f"Every bound is vacuous (*): it is above {limit}. Orders are not bounds."
    if vacuous:
        return (
            f"{vacuous} of {len(rows)} bounds are vacuous (*): they are above {limit}. Orders are "
            "not bounds."
        )
    return f"No bound is vacuous: each is below {limit}. Orders are not bounds."


def replace_infinity(value: Any) -> Any:
    """Return a copy of `value` with the string "inf" in place of infinity, which JSON lacks.

    Nested dicts and lists are converted too.
    """
    if isinstance(value, dict):
        return {key: replace_infinity(item) for key, item in value.items()}
    if isinstance(value, list):
        return [replace_infinity(item) for item in value]
    return "inf" if value == math.inf else value
