"""Orders of regret: growth of regret with the problem size, without constants and logarithms."""

from dataclasses import dataclass, fields
from fractions import Fraction

from belated.episode import Shape
from belated.theory.validation import check_episodes


@dataclass(frozen=True)
class Order:
    """Order of a regret: a product of powers of H, S, G, A and T.

    Each field is the exponent of the symbol with the same name. G is the paper's Gamma, the largest
    number of possible successors of any state and action.

    Examples
    --------
    >>> order = Order(H=1.5, S=1, A=0.5, T=0.5)
    >>> print(order.text, order.latex)
    H^(3/2) S sqrt(AT) H^{3/2} S \\sqrt{AT}
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
        """The order as plain text, with all factors of exponent 1/2 under one square root."""
        return self._format("^({})", "sqrt({})")

    @property
    def latex(self) -> str:
        """The order as LaTeX, without dollar signs."""
        return self._format("^{{{}}}", r"\sqrt{{{}}}").replace("G", r"\Gamma ")

    def _format(self, power: str, root: str) -> str:
        words, plain, under = [], "", ""
        for symbol in (field.name for field in fields(self)):
            exponent = Fraction(getattr(self, symbol))
            if exponent == Fraction(1, 2):
                under += symbol
            elif exponent == 1:
                plain += symbol
            elif exponent:
                raised = f"^{exponent}" if exponent.denominator == 1 else power.format(exponent)
                words += [plain, symbol + raised]
                plain = ""
        return " ".join(filter(None, (*words, plain, root.format(under) if under else "")))
