"""`belated bounds`: what the theory promises for a problem of some size and some delay."""

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from belated.cli.support.bounds_report import LONG, bound_table, order_table, sentences
from belated.cli.support.options import sentence
from belated.cli.support.tables import show

if TYPE_CHECKING:
    from belated.episode import Shape
    from belated.theory.comparison import Promise
    from belated.theory.regret import Regret

LARGE = 10**9
"""States, actions or steps: beyond this, numbers leave the range of a double."""


def bounds(
    states: Annotated[int, typer.Option(help="S.")],
    actions: Annotated[int, typer.Option(help="A.")],
    horizon: Annotated[int, typer.Option(help="H, the steps of an episode.")],
    episodes: Annotated[int, typer.Option(help="K.")],
    mean_delay: Annotated[float, typer.Option(help="E[tau], in episodes.")],
    alpha: Annotated[float, typer.Option(help="The activity of lazy updating.")] = 10.0,
    delta: Annotated[float, typer.Option(help="Bounds hold with probability 1 - delta.")] = 0.05,
    longest_delay: Annotated[
        float | None, typer.Option(help="tau_max; unless given, the mean delay stands in.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the bounds into this PDF or PNG.", dir_okay=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what delay costs, with which base and which way to update.

    Orders leave out constants and logs, and can be compared; bounds are the paper's theorems with
    their constants, and hold. Either has a leading term, which is there without delay, and a term
    that delay adds.
    """
    shape = checked(states, actions, horizon)
    asked = Asked(shape, episodes, mean_delay, alpha, delta, longest_delay)
    asked.check()
    if plot is not None:
        draw(plot, asked)
    promises = asked.promises()
    if as_json:
        typer.echo(json.dumps(as_object(asked, promises), indent=2, allow_nan=False))
        return
    show(order_table(promises, alpha))
    show(bound_table(promises, alpha))
    for line in sentences(asked, promises):
        typer.echo(line)
    if plot is not None:
        typer.echo(f"Drew {plot}.")


def checked(states: int, actions: int, horizon: int) -> "Shape":
    """The shape, or a sentence at the option that is wrong."""
    from belated.episode import Shape

    for name, value in (("states", states), ("actions", actions), ("horizon", horizon)):
        check_size(name, value, LARGE)
    return Shape(states, actions, horizon)


def check_size(name: str, value: int, most: int) -> None:
    """Refuse a number of nothing, and one too large to compute with."""
    from belated.episode import check_integer

    with sentence(f"--{name}"):
        check_integer(name, value, 1)
        if value > most:
            raise ValueError(f"{name} is {value}; it must be at most {most:,}.")


@dataclass(frozen=True)
class Asked:
    """The problem."""

    shape: "Shape"
    episodes: int
    mean_delay: float
    alpha: float
    delta: float
    longest_delay: float | None

    def check(self) -> None:
        """Refuse what makes no sense, at the option it came from."""
        from belated.theory.competitors import check_longest_delay
        from belated.theory.inputs import check_alpha, check_delta, check_mean_delay

        check_size("episodes", self.episodes, LONG)
        with sentence("--mean-delay"):
            check_mean_delay(self.mean_delay)
        with sentence("--alpha"):
            check_alpha(self.alpha)
        with sentence("--delta"):
            check_delta(self.delta)
        if self.longest_delay is not None:
            with sentence("--longest-delay"):
                check_longest_delay(self.longest_delay)

    @property
    def late(self) -> dict[str, Any]:
        """The arguments that every bound takes."""
        return {"episodes": self.episodes, "mean_delay": self.mean_delay, "delta": self.delta}

    def promises(self) -> "Sequence[Promise]":
        """What the theory says."""
        from belated.theory.comparison import compare

        longest = self.longest_delay
        return compare(self.shape, **self.late, alpha=self.alpha, longest_delay=longest)

    def best_alphas(self) -> dict[str, float]:
        """The alpha with the least bound, for each base."""
        from belated.theory import best_alpha
        from belated.theory.classes import BASES

        return {base: best_alpha(self.shape, base=base, **self.late) for base in BASES}

    @property
    def command(self) -> str:
        """What asks the same again."""
        H, S, A = self.shape.table
        words = (
            f"belated bounds --states {S} --actions {A} --horizon {H} --episodes {self.episodes}"
        )
        words += f" --mean-delay {self.mean_delay:g} --alpha {self.alpha:g} --delta {self.delta:g}"
        if self.longest_delay is not None:
            words += f" --longest-delay {self.longest_delay:g}"
        return words


def draw(path: Path, asked: Asked) -> None:
    """The picture."""
    from belated.figures.bounds import Problem, bound_curves

    with sentence("--plot"):
        problem = Problem(asked.shape, **asked.late, alpha=asked.alpha)
        bound_curves(problem, path, command=f"{asked.command} --plot {shlex.quote(str(path))}")


def as_object(asked: Asked, promises: "Sequence[Promise]") -> dict[str, Any]:
    """Everything, for programs; infinite numbers are the text "inf"."""
    from belated.theory import lower_bound, psi

    given = {**asdict(asked.shape), **asdict(asked)}
    del given["shape"]
    unbeaten = lower_bound(asked.shape, episodes=asked.episodes)
    return finite(
        {
            "asked": given,
            "psi": psi(asked.mean_delay, asked.episodes, asked.delta),
            "most_regret": unbeaten.most,
            "lower_bound_order": unbeaten.total,
            "best_alpha": asked.best_alphas(),
            "promises": [
                {
                    "base": promise.base,
                    "updating": promise.updating,
                    "order": terms(promise.order, promise.order_fades),
                    "bound": terms(promise.bound, promise.bound_fades),
                }
                for promise in promises
            ],
        }
    )


def terms(regret: "Regret | None", fades: int | None) -> dict[str, Any] | None:
    """A promise's numbers by name."""
    if regret is None:
        return None
    return {
        "leading": regret.leading,
        "delay": regret.delay,
        "total": regret.total,
        "vacuous": regret.vacuous,
        "delay_fades_at": fades,
    }


def finite(value: Any) -> Any:
    """The same with "inf" for infinite numbers, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return "inf" if value == math.inf else value
