"""The paper's Table 1: what each base is promised at once, and late, with either way to update.

Orders only: logs are left out, those of psi and of the number of epochs too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from belated.episode import Shape
from belated.theory.classes import check_base
from belated.theory.inputs import check_alpha, check_mean_delay
from belated.theory.orders import Order
from belated.theory.regret import Regret, times

LAZY: Final = Order(H=2, S=1, A=1)
"""What each E[tau] / ln(1 + 1/alpha) costs any base with lazy updating."""


@dataclass(frozen=True)
class Row:
    """A base: its order with immediate feedback, and what each E[tau] costs with active updating.

    Lazy updating costs every base the same, H^2 SA E[tau] / ln(1 + 1/alpha).
    """

    base: str
    title: str
    C: int
    immediate: Order
    penalty: bool
    """Whether active updating multiplies `immediate` by sqrt(H), as it does where B_1 holds a
    variance."""
    delay: Order

    @property
    def active(self) -> str:
        """Active updating's order as text."""
        root = "sqrt(H) " if self.penalty else ""
        return f"{root}{self.immediate.text} + {self.delay.text} E[tau]"

    @property
    def lazy(self) -> str:
        """Lazy updating's order as text."""
        return f"(1 + 1/alpha) {self.immediate.text} + {LAZY.text} E[tau] / ln(1 + 1/alpha)"

    @property
    def latex(self) -> tuple[str, str, str, str, str]:
        """Its cells: title, C, immediate, active and lazy."""
        root = r"\sqrt{H}\," if self.penalty else ""
        base = self.immediate.latex
        return (
            self.title.replace("chi2", r"$\chi^2$"),
            f"${self.C}$",
            f"${base}$",
            rf"${root}{base} + {self.delay.latex}\,\mathbb{{E}}[\tau]$",
            rf"$\left(1 + \frac{{1}}{{\alpha}}\right){base} + "
            rf"\frac{{{LAZY.latex}\,\mathbb{{E}}[\tau]}}{{\log(1 + \frac{{1}}{{\alpha}})}}$",
        )


CHERNOFF: Final = Order(H=1.5, S=0.5, A=0.5, T=0.5)
BALLS: Final = Order(H=1.5, S=1, A=0.5, T=0.5)

TABLE_1: Final = (
    Row("ubev", "UBEV", 1, CHERNOFF, False, Order(H=3, S=2, A=1)),
    Row("ucbvi-ch", "UCBVI-CH", 1, CHERNOFF, False, Order(H=3, S=2, A=1)),
    Row("ucrl2", "UCRL2", 0, BALLS, False, Order(H=2, S=1.5, A=1)),
    Row("kl-ucrl", "KL-UCRL", 0, BALLS, False, Order(H=2, S=1.5, A=1)),
    Row("ucrl2b", "UCRL2B", 0, Order(H=1, S=0.5, G=0.5, A=0.5, T=0.5), True, Order(H=2, S=2, A=1)),
    Row("chi2-ucrl", "chi2-UCRL", 0, Order(H=1, S=1, A=0.5, T=0.5), True, Order(H=2, S=2, A=1)),
    Row("ucbvi-bf", "UCBVI-BF", 1, Order(H=1, S=0.5, A=0.5, T=0.5), True, Order(H=3, S=2, A=1)),
)
"""In the paper's order."""


def row(base: str) -> Row:
    """The row of a base."""
    check_base(base)
    return next(row for row in TABLE_1 if row.base == base)


@dataclass(frozen=True)
class Numbers:
    """A row of the table for a problem of one size."""

    base: str
    immediate: Regret
    active: Regret
    lazy: Regret


def table_1(
    shape: Shape,
    *,
    episodes: int,
    mean_delay: float,
    alpha: float,
    reachable: int | None = None,
) -> tuple[Numbers, ...]:
    """The table in numbers; `reachable` is UCRL2B's Gamma, S unless given.

    >>> chain = Shape(states=30, actions=2, horizon=30)
    >>> last = table_1(chain, episodes=100_000, mean_delay=300, alpha=10)[-1]
    >>> f"{last.immediate.total:.3g} {last.active.total:.3g} {last.lazy.total:.3g}"
    '4.02e+05 1.46e+10 1.7e+08'
    """
    return tuple(
        numbers(
            one, shape, episodes=episodes, mean_delay=mean_delay, alpha=alpha, reachable=reachable
        )
        for one in TABLE_1
    )


def numbers(
    one: Row,
    shape: Shape,
    *,
    episodes: int,
    mean_delay: float,
    alpha: float,
    reachable: int | None = None,
) -> Numbers:
    """One row in numbers."""
    mean, slack = check_mean_delay(mean_delay), 1 / check_alpha(alpha)
    most = episodes * shape.horizon
    immediate = one.immediate(shape, episodes=episodes, reachable=reachable)
    root = math.sqrt(shape.horizon) if one.penalty else 1.0
    growth = math.log1p(slack)
    epochs = 1 / growth if growth > 0 else math.inf
    active = times(mean, one.delay(shape, episodes=episodes))
    lazy = times(mean, LAZY(shape, episodes=episodes) * epochs)
    return Numbers(
        base=one.base,
        immediate=Regret(immediate, 0.0, most, order=True),
        active=Regret(root * immediate, active, most, order=True),
        lazy=Regret((1 + slack) * immediate, lazy, most, order=True),
    )


def latex(rows: Sequence[Row] = TABLE_1) -> str:
    """The table as a LaTeX tabular (booktabs)."""
    head = r"Base & $C$ & Immediate & Active updating & Lazy updating \\"
    lines = [r"\begin{tabular}{lllll}", r"\toprule", head, r"\midrule"]
    lines += [" & ".join(one.latex) + r" \\" for one in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
