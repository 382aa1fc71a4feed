"""`belated bounds`: regret bounds of the theory for a problem size and an expected delay."""

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from belated.cli.support.bounds_report import (
    MAX_EPISODES,
    BoundsQuery,
    build_regret_table,
    format_conclusions,
)
from belated.cli.support.errors import require_packages, usage_errors
from belated.cli.support.options import parse_option
from belated.cli.support.tables import print_table

if TYPE_CHECKING:
    from belated.theory.comparison import Guarantee
    from belated.theory.regret import Regret

MAX_SIZE: Final = 10**9
"""Maximum number of states, actions or steps. With larger numbers, products in the bounds could
overflow a double."""


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
    longest_delay: Annotated[
        float | None,
        typer.Option(help="Maximum delay tau_max, in episodes; by default the expected delay."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Write a plot of the bounds to this PDF or PNG file.", dir_okay=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compute the regret bounds of the theory, for every base and updater.

    Orders omit constants and logarithms, and can be compared with each other. Bounds are those of
    the paper's theorems, with their constants. Each order and each bound is the sum of a leading
    term, which does not depend on the delay, and a delay term. The column "delay < leading" has the
    number of episodes K from which the delay term is smaller than the leading term.

    Example: belated bounds --states 30 --actions 2 --horizon 30 --episodes 100000 --mean-delay 300
    """
    from belated.episode import Shape

    for name, value in (("states", states), ("actions", actions), ("horizon", horizon)):
        check_size(name, value, MAX_SIZE)
    shape = Shape(states, actions, horizon)
    query = BoundsQuery(shape, episodes, mean_delay, alpha, delta, longest_delay)
    check_query(query)
    if plot is not None:
        draw_plot(plot, query)
    rows = query.compare()
    if as_json:
        typer.echo(json.dumps(build_document(query, rows), indent=2, allow_nan=False))
        return
    print_table(build_regret_table("order", rows, alpha))
    print_table(build_regret_table("bound", rows, alpha))
    for sentence in format_conclusions(query, rows):
        typer.echo(sentence)
    if plot is not None:
        typer.echo(f"Drew {plot}.")


def check_size(name: str, value: int, maximum: int) -> None:
    """Exit with a usage error unless `value` is between 1 and `maximum`.

    `name` is the name of the option, without hyphens at the start.
    """
    from belated.check import check_integer

    with usage_errors(f"--{name}"):
        check_integer(name, value, 1)
        if value > maximum:
            raise ValueError(f"{name} must be at most {maximum:,}, got {value}.")


def check_query(query: BoundsQuery) -> None:
    """Check all options in `query`. Exit with a usage error if an option is out of range."""
    from belated.theory.validation import (
        check_alpha,
        check_delta,
        check_longest_delay,
        check_mean_delay,
    )

    check_size("episodes", query.episodes, MAX_EPISODES)
    parse_option("--mean-delay", check_mean_delay, query.mean_delay)
    parse_option("--alpha", check_alpha, query.alpha)
    parse_option("--delta", check_delta, query.delta)
    if query.longest_delay is not None:
        parse_option("--longest-delay", check_longest_delay, query.longest_delay)


def draw_plot(path: Path, query: BoundsQuery) -> None:
    """Plot the bounds of `query` against the mean delay and against alpha, in the file `path`."""
    require_packages("--plot", "figures", "matplotlib")
    from belated.figures.bounds import BoundParameters, bound_curves

    with usage_errors("--plot"):
        parameters = BoundParameters(query.shape, **query.arguments, alpha=query.alpha)
        bound_curves(parameters, path, command=f"{query.command} --plot {shlex.quote(str(path))}")


def build_document(query: BoundsQuery, rows: "Sequence[Guarantee]") -> dict[str, Any]:
    """Return a JSON object with the parameters in `query` and the orders and bounds in `rows`.

    Infinity is replaced by the string "inf".
    """
    from belated.theory import lower_bound, psi

    sizes = {name: getattr(query.shape, name) for name in ("states", "actions", "horizon")}
    asked = {**sizes, **asdict(query)}
    del asked["shape"]
    lower = lower_bound(query.shape, episodes=query.episodes)
    return replace_infinity(
        {
            "asked": asked,
            "psi": psi(query.mean_delay, query.episodes, query.delta),
            "most_regret": lower.max_regret,
            "lower_bound_order": lower.total,
            "best_alpha": query.best_alphas(),
            "promises": [
                {
                    "base": row.base,
                    "updating": row.updating,
                    "order": terms_to_dict(row.order, row.order_fades),
                    "bound": terms_to_dict(row.bound, row.bound_fades),
                }
                for row in rows
            ],
        }
    )


def terms_to_dict(regret: "Regret | None", fades: int | None) -> dict[str, Any] | None:
    """Return an order or a bound of the regret as a dict, or None if `regret` is None.

    The dict contains the leading term, the delay term and the total of `regret`, whether the total
    exceeds the maximum regret ("vacuous"), and `fades` under the key "delay_fades_at". `fades` is
    the number of episodes K from which the delay term is below the leading term, or None if there
    is no such K.
    """
    if regret is None:
        return None
    terms = {name: getattr(regret, name) for name in ("leading", "delay", "total", "vacuous")}
    return {**terms, "delay_fades_at": fades}


def replace_infinity(value: Any) -> Any:
    """Return a copy of `value` with the string "inf" in place of infinity, which JSON lacks.

    Nested dicts and lists are converted too.
    """
    if isinstance(value, dict):
        return {key: replace_infinity(item) for key, item in value.items()}
    if isinstance(value, list):
        return [replace_infinity(item) for item in value]
    return "inf" if value == math.inf else value
