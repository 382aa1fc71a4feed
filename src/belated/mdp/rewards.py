"""Affine map between rewards in [0, 1] and rewards in the original units of a world."""

import math
from dataclasses import dataclass
from typing import overload

from belated.episode import Floats


@dataclass(frozen=True)
class Affine:
    """Affine map of rewards: original reward = scale * reward + shift, at every step.

    A value V over H steps is a sum of H rewards, so V_original = scale * V + shift * H.

    >>> taxi = Affine.onto(-10, 20)
    >>> taxi
    Affine(scale=30.0, shift=-10.0)
    >>> taxi.unit(20.0), taxi.original(1.0)
    (1.0, 20.0)
    >>> taxi.original(5.0, steps=10)
    50.0
    """

    scale: float = 1.0
    """Factor by which a reward in [0, 1] is multiplied; above 0."""
    shift: float = 0.0
    """Original reward that corresponds to reward 0."""

    def __post_init__(self) -> None:
        for name in ("scale", "shift"):
            value = getattr(self, name)
            if not math.isfinite(value):
                raise ValueError(f"{name} must be a finite number, got {value}.")
            object.__setattr__(self, name, float(value))
        if self.scale <= 0:
            raise ValueError(f"scale must be above 0, got {self.scale}.")

    @classmethod
    def onto(cls, low: float, high: float) -> "Affine":
        """Return the map between original rewards in [`low`, `high`] and rewards in [0, 1].

        If `low` and `high` already lie in [0, 1], the map is the identity. Otherwise `low` is
        mapped to 0, and a `high` above `low` is mapped to 1.

        >>> Affine.onto(0.2, 0.9)
        Affine(scale=1.0, shift=0.0)
        """
        if not -math.inf < low <= high < math.inf:
            raise ValueError(f"low and high must be finite, low at most high, got {low}, {high}.")
        if low >= 0 and high <= 1:
            return cls()
        return cls(high - low if high > low else 1.0, low)

    @overload
    def original(self, value: float, steps: int = 1) -> float: ...
    @overload
    def original(self, value: Floats, steps: int = 1) -> Floats: ...
    def original(self, value: float | Floats, steps: int = 1) -> float | Floats:
        """Convert `value`, a sum of `steps` rewards or its expectation, to original units."""
        return self.scale * value + self.shift * steps

    @overload
    def unit(self, value: float, steps: int = 1) -> float: ...
    @overload
    def unit(self, value: Floats, steps: int = 1) -> Floats: ...
    def unit(self, value: float | Floats, steps: int = 1) -> float | Floats:
        """Convert `value`, a sum of `steps` original rewards, to a sum of rewards in [0, 1]."""
        return (value - self.shift * steps) / self.scale

    @overload
    def difference(self, gap: float) -> float: ...
    @overload
    def difference(self, gap: Floats) -> Floats: ...
    def difference(self, gap: float | Floats) -> float | Floats:
        """Convert `gap`, a difference of two values such as regret, to original units."""
        return self.scale * gap
