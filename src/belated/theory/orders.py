"""Orders: how regret grows with the size of a problem, without constants, logs and lower terms."""

from dataclasses import dataclass, fields
from fractions import Fraction

from belated.episode import Shape
from belated.theory.inputs import check_episodes


@dataclass(frozen=True)
class Order:
    """A product of powers of H, S, G, A and T, as text, as LaTeX and as a number.

    G is the paper's Gamma: the most states that can follow any state and action.

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
        """The number; `reachable` is G, S unless given."""
        H, S, A = shape.table
        G = S if reachable is None else reachable
        if not 1 <= G <= S:
            raise ValueError(f"reachable is {G}; it must lie between 1 and the {S} states.")
        product: float = H**self.H * S**self.S * G**self.G * A**self.A
        return product * (check_episodes(episodes) * H) ** self.T

    @property
    def text(self) -> str:
        """For reading: what has the power 1/2 is under one root."""
        return self._written("^({})", "sqrt({})")

    @property
    def latex(self) -> str:
        """For typesetting, without dollars."""
        return self._written("^{{{}}}", r"\sqrt{{{}}}").replace("G", r"\Gamma ")

    def _written(self, power: str, root: str) -> str:
        words, plain, under = [], "", ""
        for symbol in (field.name for field in fields(self)):
            exponent = Fraction(getattr(self, symbol))
            if exponent == Fraction(1, 2):
                under += symbol
            elif exponent == 1:
                plain += symbol
            elif exponent:
                written = f"^{exponent}" if exponent.denominator == 1 else power.format(exponent)
                words += [plain, symbol + written]
                plain = ""
        return " ".join(
            word for word in (*words, plain, root.format(under) if under else "") if word
        )
