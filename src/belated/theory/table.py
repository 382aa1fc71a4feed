"""Table 1 of the paper: order of the regret of each base.

There are three orders for each base: with immediate feedback, and with delayed feedback for active
and for lazy updating. All logarithms are omitted, including those of psi and of the number of
epochs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from belated.episode import Shape
from belated.theory.bonus import check_base
from belated.theory.orders import Order
from belated.theory.regret import Regret, multiply
from belated.theory.validation import check_alpha, check_mean_delay

LAZY_DELAY: Final = Order(H=2, S=1, A=1)
"""Factor of E[tau] / ln(1 + 1/alpha) in the order of the regret with lazy updating. The factor is
the same for every base."""


@dataclass(frozen=True)
class TableRow:
    """Row of Table 1: orders of the regret of one base."""

    base: str
    """Name of the base."""
    title: str
    """Name of the base as printed in the paper."""
    C: int
    """Constant C of the bonus of the base, 0 or 1; see `belated.theory.optimism`."""
    immediate: Order
    """Order of the regret with immediate feedback."""
    penalty: bool
    """Whether the leading term of the order with active updating is sqrt(H) times `immediate`. This
    is the case if the constant B_1 of the bonus contains a variance."""
    delay: Order
    """Factor of E[tau] in the order of the regret with active updating."""

    @property
    def active(self) -> str:
        """Order of the regret with active updating, as text."""
        root = "sqrt(H) " if self.penalty else ""
        return f"{root}{self.immediate.text} + {self.delay.text} E[tau]"

    @property
    def lazy(self) -> str:
        """Order of the regret with lazy updating, as text."""
        return f"(1 + 1/alpha) {self.immediate.text} + {LAZY_DELAY.text} E[tau] / ln(1 + 1/alpha)"

    @property
    def latex(self) -> tuple[str, str, str, str, str]:
        """Cells of the row in LaTeX: title, C, and the orders of the regret.

        The orders are those with immediate feedback, active updating and lazy updating.
        """
        root = r"\sqrt{H}\," if self.penalty else ""
        base = self.immediate.latex
        return (
            self.title.replace("chi2", r"$\chi^2$"),
            f"${self.C}$",
            f"${base}$",
            rf"${root}{base} + {self.delay.latex}\,\mathbb{{E}}[\tau]$",
            rf"$\left(1 + \frac{{1}}{{\alpha}}\right){base} + "
            rf"\frac{{{LAZY_DELAY.latex}\,\mathbb{{E}}[\tau]}}{{\log(1 + \frac{{1}}{{\alpha}})}}$",
        )


_H3S2A: Final = Order(H=3, S=2, A=1)
_H2S2A: Final = Order(H=2, S=2, A=1)
_H2S15A: Final = Order(H=2, S=1.5, A=1)
_CHERNOFF: Final = Order(H=1.5, S=0.5, A=0.5, T=0.5)
_BALLS: Final = Order(H=1.5, S=1, A=0.5, T=0.5)

TABLE_1: Final = (
    TableRow("ubev", "UBEV", 1, _CHERNOFF, False, _H3S2A),
    TableRow("ucbvi-ch", "UCBVI-CH", 1, _CHERNOFF, False, _H3S2A),
    TableRow("ucrl2", "UCRL2", 0, _BALLS, False, _H2S15A),
    TableRow("kl-ucrl", "KL-UCRL", 0, _BALLS, False, _H2S15A),
    TableRow("ucrl2b", "UCRL2B", 0, Order(H=1, S=0.5, G=0.5, A=0.5, T=0.5), True, _H2S2A),
    TableRow("chi2-ucrl", "chi2-UCRL", 0, Order(H=1, S=1, A=0.5, T=0.5), True, _H2S2A),
    TableRow("ucbvi-bf", "UCBVI-BF", 1, Order(H=1, S=0.5, A=0.5, T=0.5), True, _H3S2A),
)
"""Rows of Table 1, in the sequence of the paper."""


def find_row(base: str) -> TableRow:
    """Return the row of Table 1 for the base named `base`; raise ValueError if there is none."""
    check_base(base)
    return next(row for row in TABLE_1 if row.base == base)


@dataclass(frozen=True)
class RowNumbers:
    """Numerical values of the regret orders of one base, for a problem of a given size."""

    base: str
    """Name of the base."""
    immediate: Regret
    """Order of the regret with immediate feedback."""
    active: Regret
    """Order of the regret with active updating."""
    lazy: Regret
    """Order of the regret with lazy updating."""


def table_1(
    shape: Shape,
    *,
    episodes: int,
    mean_delay: float,
    alpha: float,
    reachable: int | None = None,
) -> tuple[RowNumbers, ...]:
    """Return the numerical values of the regret orders of Table 1, for every base.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    mean_delay : float
        Mean delay E[tau] in episodes, at least 0; may be infinite.
    alpha : float
        Parameter alpha of lazy updating, at least 1; infinity is active updating.
    reachable : int, optional
        Largest number Gamma of possible successors of any state and action, between 1 and S; it
        occurs in the order of UCRL2B. If None, Gamma is S.

    Returns
    -------
    tuple of RowNumbers
        One entry for each row of `TABLE_1`, in the same sequence.

    Examples
    --------
    >>> chain = Shape(states=30, actions=2, horizon=30)
    >>> last = table_1(chain, episodes=100_000, mean_delay=300, alpha=10)[-1]
    >>> f"{last.immediate.total:.3g} {last.active.total:.3g} {last.lazy.total:.3g}"
    '4.02e+05 1.46e+10 1.7e+08'
    """
    return tuple(
        evaluate_row(row, shape, episodes, mean_delay, alpha, reachable) for row in TABLE_1
    )


def evaluate_row(
    row: TableRow,
    shape: Shape,
    episodes: int,
    mean_delay: float,
    alpha: float,
    reachable: int | None = None,
) -> RowNumbers:
    """Return the numerical values of the regret orders in one row of Table 1.

    Parameters
    ----------
    row : TableRow
        Row to evaluate.
    shape, episodes, mean_delay, alpha, reachable
        As in `table_1`.

    Returns
    -------
    RowNumbers
        Values of the orders in the row.
    """
    mean, slack = check_mean_delay(mean_delay), 1 / check_alpha(alpha)
    max_regret = episodes * shape.horizon
    immediate = row.immediate(shape, episodes=episodes, reachable=reachable)
    root = math.sqrt(shape.horizon) if row.penalty else 1.0
    growth = math.log1p(slack)
    epochs = 1 / growth if growth > 0 else math.inf
    active = multiply(mean, row.delay(shape, episodes=episodes))
    lazy = multiply(mean, LAZY_DELAY(shape, episodes=episodes) * epochs)
    return RowNumbers(
        base=row.base,
        immediate=Regret(immediate, 0.0, max_regret, order=True),
        active=Regret(root * immediate, active, max_regret, order=True),
        lazy=Regret((1 + slack) * immediate, lazy, max_regret, order=True),
    )


def latex(rows: Sequence[TableRow] = TABLE_1) -> str:
    """Return `rows` of Table 1 as a LaTeX tabular environment with booktabs rules."""
    head = r"Base & $C$ & Immediate & Active updating & Lazy updating \\"
    lines = [r"\begin{tabular}{lllll}", r"\toprule", head, r"\midrule"]
    lines += [" & ".join(row.latex) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
