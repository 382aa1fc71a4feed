"""Affine maps between rewards in [0, 1] and rewards in original units."""

import math
from dataclasses import dataclass
from typing import TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from belated.check import check_number
from belated.episode import Episode, Floats

V = TypeVar("V", float, Floats)


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

    def original(self, value: V, steps: int = 1) -> V:
        """Convert `value`, a sum of `steps` rewards or its expectation, to original units."""
        return self.scale * value + self.shift * steps

    def unit(self, value: V, steps: int = 1) -> V:
        """Convert `value`, a sum of `steps` original rewards, to a sum of rewards in [0, 1]."""
        return (value - self.shift * steps) / self.scale

    def difference(self, gap: V) -> V:
        """Convert `gap`, a difference of two values such as regret, to original units."""
        return self.scale * gap


@dataclass(frozen=True)
class ScaledRewards:
    """Map of rewards in [`low`, `high`] to [0, 1], and of values back to original units.

    >>> scale = ScaledRewards(-1, 5)
    >>> scale([-1, 2, 5])
    array([0. , 0.5, 1. ])
    >>> scale.restore(1.5, steps=3)
    6.0
    """

    low: float
    """Original reward that is mapped to 0."""
    high: float
    """Original reward that is mapped to 1; above `low`."""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            check_number(name, getattr(self, name))
            object.__setattr__(self, name, float(getattr(self, name)))
        if not -math.inf < self.low < self.high < math.inf:
            raise ValueError(
                f"low and high must be finite, low below high, got {self.low:g}, {self.high:g}."
            )

    @property
    def reward_map(self) -> Affine:
        """The same map as an `Affine`, the form that worlds and `DelayedFeedback` take."""
        return Affine(self.high - self.low, self.low)

    @overload
    def __call__(self, rewards: Episode) -> Episode: ...
    @overload
    def __call__(self, rewards: float) -> float: ...
    @overload
    def __call__(self, rewards: ArrayLike) -> Floats: ...
    def __call__(self, rewards: Episode | ArrayLike) -> "Episode | float | Floats":
        """Return `rewards` mapped to [0, 1]; NaN, for a reward that has not arrived, is kept.

        `rewards` is a number, an array of any shape, or an episode, whose rewards are mapped.
        Raises ValueError if a reward lies outside [`low`, `high`].
        """
        if isinstance(rewards, Episode):
            scaled = None if rewards.rewards is None else self(rewards.rewards)
            return Episode(rewards.id, rewards.states, rewards.actions, scaled)
        values = np.asarray(rewards, dtype=np.float64)
        outside = np.argwhere((values < self.low) | (values > self.high))
        if outside.shape[0]:
            at = tuple(int(i) for i in outside[0])
            where = f" at {list(at)}" if at else ""
            raise ValueError(
                f"rewards must lie in [{self.low:g}, {self.high:g}], got {values[at]}{where}; "
                "give scaled_rewards the lowest and the highest possible reward."
            )
        unit = self.reward_map.unit(values)
        return unit if values.ndim else float(unit)

    def restore(self, value: V, *, steps: int) -> V:
        """Return a value or regret in original units.

        Parameters
        ----------
        value : float or ndarray
            Sum of rewards in [0, 1], an expectation of such sums, or a difference of them.
        steps : int
            Number of rewards in a sum: H for a value of the first step, 1 for a single reward, and
            0 for a difference of values, such as regret.

        Returns
        -------
        float or ndarray
            Same quantity for original rewards.
        """
        return self.reward_map.original(value, steps)


def scaled_rewards(low: float, high: float) -> ScaledRewards:
    """Return the map of rewards in [`low`, `high`] to [0, 1], as learners and worlds require.

    In a problem with terminal states `low` must be 0. Otherwise the map changes the objective: an
    episode that has ended receives reward 0 in the units of the learner, which is `low` in original
    units.

    >>> scale = scaled_rewards(-1, 5)
    >>> Episode(7, states=[0, 1, 1], actions=[1, 0], rewards=scale([2, 5])).rewards
    array([0.5, 1. ])
    >>> scale.restore(0.75, steps=0)  # a regret of 0.75
    4.5
    """
    return ScaledRewards(low, high)
