"""Table 1 of the paper: orders of regret of each base, without delay and for two updaters.

Logarithms are left out, including those of psi and of the number of epochs.
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
"""Factor of E[tau] / ln(1 + 1/alpha) in the order of lazy updating, the same for every base."""


@dataclass(frozen=True)
class TableRow:
    """Orders of one base."""

    base: str
    """Name of the base."""
    title: str
    """Name as printed in the paper."""
    C: int
    """1 where lower-order terms must compensate for a tighter bonus, else 0."""
    immediate: Order
    """Order with immediate feedback."""
    penalty: bool
    """Whether active updating multiplies `immediate` by sqrt(H), as it does where B_1 contains a
    variance."""
    delay: Order
    """Factor of E[tau] in the order of active updating."""

    @property
    def active(self) -> str:
        """Order of active updating as text."""
        root = "sqrt(H) " if self.penalty else ""
        return f"{root}{self.immediate.text} + {self.delay.text} E[tau]"

    @property
    def lazy(self) -> str:
        """Order of lazy updating as text."""
        return f"(1 + 1/alpha) {self.immediate.text} + {LAZY_DELAY.text} E[tau] / ln(1 + 1/alpha)"

    @property
    def latex(self) -> tuple[str, str, str, str, str]:
        """LaTeX cells: title, C, immediate, active and lazy."""
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
"""Rows in the order of the paper."""


def find_row(base: str) -> TableRow:
    """Return the row of Table 1 for `base`; raise ValueError if there is none."""
    check_base(base)
    return next(row for row in TABLE_1 if row.base == base)


@dataclass(frozen=True)
class RowNumbers:
    """Orders of one base in numbers, for a problem of one size."""

    base: str
    """Name of the base."""
    immediate: Regret
    """Order with immediate feedback."""
    active: Regret
    """Order of active updating."""
    lazy: Regret
    """Order of lazy updating."""


def table_1(
    shape: Shape,
    *,
    episodes: int,
    mean_delay: float,
    alpha: float,
    reachable: int | None = None,
) -> tuple[RowNumbers, ...]:
    """Return the orders of Table 1 in numbers, for every base.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    mean_delay : float
        E[tau] in episodes, at least 0; may be infinite.
    alpha : float
        Activity of lazy updating, at least 1; infinity is active updating.
    reachable : int, optional
        Gamma of UCRL2B, between 1 and S; S if not given.

    Returns
    -------
    tuple of RowNumbers
        One entry for each row of `TABLE_1`, in the same order.

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
    """Return one row of Table 1 in numbers.

    Parameters
    ----------
    row : TableRow
        The row.
    shape, episodes, mean_delay, alpha, reachable
        As in `table_1`.

    Returns
    -------
    RowNumbers
        The orders of the row.
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
    """Return `rows` as a LaTeX tabular with booktabs rules."""
    head = r"Base & $C$ & Immediate & Active updating & Lazy updating \\"
    lines = [r"\begin{tabular}{lllll}", r"\toprule", head, r"\midrule"]
    lines += [" & ".join(row.latex) + r" \\" for row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
