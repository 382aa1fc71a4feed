"""How rewards in [0, 1] stand to the ones a world was described with."""

import math
from dataclasses import dataclass
from typing import overload

from belated.episode import Floats


@dataclass(frozen=True)
class Affine:
    """original reward = scale * reward + shift, at every step.

    A value is a sum of rewards, so how many matters: V_original = scale * V + shift * H.

    >>> taxi = Affine.onto(-10, 20)
    >>> taxi
    Affine(scale=30.0, shift=-10.0)
    >>> taxi.unit(20.0), taxi.original(1.0)
    (1.0, 20.0)
    >>> taxi.original(5.0, steps=10)
    50.0
    """

    scale: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        for name in ("scale", "shift"):
            value = getattr(self, name)
            if not math.isfinite(value):
                raise ValueError(f"{name} is {value}; it must be a finite number.")
            object.__setattr__(self, name, float(value))
        if self.scale <= 0:
            raise ValueError(f"scale is {self.scale}; it must be above 0.")

    @classmethod
    def onto(cls, low: float, high: float) -> "Affine":
        """The map under which rewards from `low` to `high` lie in [0, 1].

        What lies there already stays as it is, and a reward that is always the same becomes 0.
        """
        if not -math.inf < low <= high < math.inf:
            raise ValueError(
                f"low is {low} and high is {high}; they must be finite, low at most high."
            )
        if low >= 0 and high <= 1:
            return cls()
        return cls(high - low if high > low else 1.0, low)

    @overload
    def original(self, value: float, steps: int = 1) -> float: ...
    @overload
    def original(self, value: Floats, steps: int = 1) -> Floats: ...
    def original(self, value: float | Floats, steps: int = 1) -> float | Floats:
        """A sum of `steps` rewards, or its mean, in the original units."""
        return self.scale * value + self.shift * steps

    @overload
    def unit(self, value: float, steps: int = 1) -> float: ...
    @overload
    def unit(self, value: Floats, steps: int = 1) -> Floats: ...
    def unit(self, value: float | Floats, steps: int = 1) -> float | Floats:
        """The inverse: a sum of `steps` original rewards as one of rewards in [0, 1]."""
        return (value - self.shift * steps) / self.scale

    @overload
    def difference(self, gap: float) -> float: ...
    @overload
    def difference(self, gap: Floats) -> Floats: ...
    def difference(self, gap: float | Floats) -> float | Floats:
        """A difference of two values, such as regret, in the original units."""
        return self.scale * gap
