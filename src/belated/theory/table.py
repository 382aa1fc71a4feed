"""Table 1 of the paper: order of the regret of each base.

There are three orders for each base: with immediate feedback, and with delayed feedback for active
and for lazy updating. All logarithms are omitted, including those of psi and of the number of
epochs.
"""

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Final

from belated.episode import Shape
from belated.theory.lemmas import check_alpha, check_episodes, check_mean_delay
from belated.theory.regret import Regret, multiply


@dataclass(frozen=True)
class Order:
    """Order of a regret: a product of powers of H, S, G, A and T.

    Each field is the exponent of the symbol with the same name. G is the paper's Gamma, the largest
    number of possible successors of any state and action.

    Examples
    --------
    >>> order = Order(H=1.5, S=1, A=0.5, T=0.5)
    >>> print(order.text)
    H^(3/2) S sqrt(AT)
    >>> order(Shape(states=3, actions=1, horizon=4), episodes=4)
    96.0
    """

    H: float = 0
    S: float = 0
    G: float = 0
    A: float = 0
    T: float = 0

    def __call__(self, shape: Shape, *, episodes: int, reachable: int | None = None) -> float:
        """Return the numerical value of the product of powers for a problem of a given size.

        Parameters
        ----------
        shape : Shape
            Sizes (S, A, H) of the problem.
        episodes : int
            Number of episodes K, at least 1; T = K H.
        reachable : int, optional
            Largest number G of possible successors of any state and action, between 1 and S. If
            None, G is S.

        Returns
        -------
        float
            Value of the product.
        """
        H, S, A = shape.table
        G = S if reachable is None else reachable
        if not 1 <= G <= S:
            raise ValueError(f"reachable must lie between 1 and the {S} states, got {G}.")
        product: float = H**self.H * S**self.S * G**self.G * A**self.A
        return product * (check_episodes(episodes) * H) ** self.T

    @property
    def text(self) -> str:
        """The order as text, with all factors of exponent 1/2 under one square root."""
        words, plain, under = [], "", ""
        for symbol in (field.name for field in fields(self)):
            exponent = Fraction(getattr(self, symbol))
            if exponent == Fraction(1, 2):
                under += symbol
            elif exponent == 1:
                plain += symbol
            elif exponent:
                power = f"{exponent}" if exponent.denominator == 1 else f"({exponent})"
                words += [plain, f"{symbol}^{power}"]
                plain = ""
        return " ".join(filter(None, (*words, plain, f"sqrt({under})" if under else "")))


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
    mean, slack = check_mean_delay(mean_delay), 1 / check_alpha(alpha)
    max_regret = episodes * shape.horizon
    growth = math.log1p(slack)
    epochs = 1 / growth if growth > 0 else math.inf
    lazy = multiply(mean, LAZY_DELAY(shape, episodes=episodes) * epochs)
    rows = []
    for row in TABLE_1:
        immediate = row.immediate(shape, episodes=episodes, reachable=reachable)
        root = math.sqrt(shape.horizon) if row.penalty else 1.0
        active = multiply(mean, row.delay(shape, episodes=episodes))
        rows.append(
            RowNumbers(
                base=row.base,
                immediate=Regret(immediate, 0.0, max_regret, order=True),
                active=Regret(root * immediate, active, max_regret, order=True),
                lazy=Regret((1 + slack) * immediate, lazy, max_regret, order=True),
            )
        )
    return tuple(rows)
