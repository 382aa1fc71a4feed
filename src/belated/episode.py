"""Shape, Episode and Policy: the only types that cross every boundary."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.arguments import check_id, check_integer

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Shape:
    """The size of a problem: S states, A actions, H steps in an episode.

    >>> Shape(30, 2, 30)
    Shape(states=30, actions=2, horizon=30)
    """

    states: int
    actions: int
    horizon: int

    def __post_init__(self) -> None:
        for name in ("states", "actions", "horizon"):
            object.__setattr__(self, name, check_integer(name, getattr(self, name), 1))

    @property
    def table(self) -> tuple[int, int, int]:
        """(H, S, A), the shape of a table over (stage, state, action)."""
        return self.horizon, self.states, self.actions


@dataclass(frozen=True, eq=False)
class Episode:
    """The record of one episode: s_1, a_1, r_1, s_2, ..., a_H, r_H, s_{H+1}.

    `id` tells episodes apart: a learner takes each id once. `rewards` may be left out where
    they are known beforehand.

    >>> Episode(7, states=[0, 1, 1], actions=[1, 0]).states
    array([0, 1, 1])
    """

    id: int
    states: Ints
    actions: Ints
    rewards: Floats | None = None

    def __init__(
        self,
        id: int,
        states: Sequence[int] | Ints,
        actions: Sequence[int] | Ints,
        rewards: ArrayLike | None = None,
    ) -> None:
        object.__setattr__(self, "id", check_id("Episode id", id))
        object.__setattr__(self, "states", _integers(f"states of episode {id}", states))
        object.__setattr__(self, "actions", _integers(f"actions of episode {id}", actions))
        object.__setattr__(self, "rewards", _numbers(f"rewards of episode {id}", rewards))

    def check(self, shape: Shape) -> None:
        """Refuse an episode that `shape` could not have produced."""
        for name, values, length, limit in (
            ("states", self.states, shape.horizon + 1, shape.states),
            ("actions", self.actions, shape.horizon, shape.actions),
        ):
            if values.shape != (length,):
                raise ValueError(
                    f"Episode {self.id} has {values.size} {name}; horizon {shape.horizon} "
                    f"needs {length} (H + 1 states, the last one included, and H actions)."
                )
            outside = np.flatnonzero((values < 0) | (values >= limit))
            if outside.size:
                step = int(outside[0])
                raise ValueError(
                    f"Episode {self.id} has {name}[{step}] = {values[step]}; "
                    f"allowed are 0 .. {limit - 1}."
                )
        self.check_rewards(shape)

    def check_rewards(self, shape: Shape) -> None:
        """Refuse rewards that are not one for each step, in [0, 1]."""
        if self.rewards is None:
            return
        if self.rewards.shape != (shape.horizon,):
            raise ValueError(
                f"Episode {self.id} has {self.rewards.size} rewards; "
                f"horizon {shape.horizon} needs as many."
            )
        outside = np.flatnonzero(~((self.rewards >= 0) & (self.rewards <= 1)))
        if outside.size:
            step = int(outside[0])
            raise ValueError(
                f"Episode {self.id} has rewards[{step}] = {self.rewards[step]}; "
                "rewards lie in [0, 1]."
            )


def _integers(name: str, values: Sequence[int] | Ints) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must be a flat sequence of integers, not {values!r}.")
    return array.astype(np.int64)


def _numbers(name: str, values: ArrayLike | None) -> Floats | None:
    if values is None:
        return None
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a flat sequence of numbers, not {values!r}.") from None


@dataclass(frozen=True)
class Step:
    """One step of an episode, for feedback that comes step by step.

    Episode `id` took `action` in `state` at `step`, counted from 0, and went to `successor`;
    `reward` may be left out where rewards are known beforehand.

    >>> Step(7, 0, state=2, action=1, successor=3).successor
    3
    """

    id: int
    step: int
    state: int
    action: int
    successor: int
    reward: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", check_id("Step id", self.id))
        for name in ("step", "state", "action", "successor"):
            object.__setattr__(self, name, check_integer(name, getattr(self, name), 0))
        if self.reward is None:
            return
        called = f"The reward of step {self.step} of episode {self.id}"
        if not isinstance(self.reward, int | float | np.integer | np.floating):
            raise TypeError(f"{called} must be a number, not {self.reward!r}.")
        if not 0 <= self.reward <= 1:
            raise ValueError(f"{called} is {self.reward}; rewards lie in [0, 1].")
        object.__setattr__(self, "reward", float(self.reward))

    def check(self, shape: Shape) -> None:
        """Refuse a step that `shape` could not have produced."""
        for name, limit in (
            ("step", shape.horizon),
            ("state", shape.states),
            ("action", shape.actions),
            ("successor", shape.states),
        ):
            if getattr(self, name) >= limit:
                raise ValueError(
                    f"A step of episode {self.id} has {name} = {getattr(self, name)}; "
                    f"allowed are 0 .. {limit - 1}."
                )


@dataclass(frozen=True, eq=False)
class Policy:
    """What to play: one action for each (step, state), or a uniform draw where it explores.

    `actions[h, s]` is the action at step h (from 0) in state s. Where `explore`, (H, S, A), marks
    any action at (h, s), the action is drawn uniformly from the marked ones instead; where it
    marks none, it is drawn from all of them with probability `epsilon`.
    """

    actions: NDArray[np.int32]
    explore: Bools | None = None
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon is {self.epsilon}; it must lie in [0, 1].")
        if self.epsilon > 0 and self.explore is None:
            raise ValueError("explore is missing; with epsilon it tells the number of actions.")

    @property
    def mixed(self) -> bool:
        """Whether any action is drawn at random."""
        return self.explore is not None and (self.epsilon > 0 or bool(self.explore.any()))

    def marked(self, step: int, state: int) -> Ints:
        """The actions that are marked here."""
        if self.explore is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.explore[step, state]).astype(np.int64)

    def action(self, step: int, state: int, u: float = 0.0) -> int:
        """The action played here, given a uniform `u` in [0, 1) for where it is drawn."""
        marked = self.marked(step, state)
        if marked.size:
            return int(marked[int(u * marked.size)])
        if self.explore is not None and u < self.epsilon:
            return int(u / self.epsilon * self.explore.shape[2])
        return int(self.actions[step, state])

    def probabilities(self, actions: int) -> Floats:
        """The policy as probabilities (H, S, A)."""
        dense = (1 - self.epsilon) * np.eye(actions)[self.actions] + self.epsilon / actions
        if self.explore is not None:
            marked = self.explore.sum(axis=2, keepdims=True)
            np.divide(self.explore, marked, out=dense, where=marked > 0)
        return dense

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return (
            np.array_equal(self.actions, other.actions)
            and self.epsilon == other.epsilon
            and np.array_equal(_marks(self), _marks(other))
        )


def _marks(policy: Policy) -> Bools:
    explore = policy.explore
    return explore if explore is not None and explore.any() else np.zeros(0, np.bool_)
