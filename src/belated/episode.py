"""Shape, Episode, Step and Policy: the types that all packages share."""

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
    """Size of a problem.

    Parameters
    ----------
    states, actions, horizon : int
        Number of states S, actions A and steps H of an episode, each at least 1.

    Examples
    --------
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
        """(H, S, A), the shape of an array over (step, state, action)."""
        return self.horizon, self.states, self.actions


@dataclass(frozen=True, eq=False)
class Episode:
    """Record of one episode: s_1, a_1, r_1, s_2, ..., a_H, r_H, s_{H+1}.

    Parameters
    ----------
    id : int
        Unique number of the episode; a learner accepts each id once.
    states : sequence of int
        (H + 1) states, including the last one.
    actions : sequence of int
        (H) actions.
    rewards : array_like, optional
        (H) rewards in [0, 1]; not needed where they are known.

    Examples
    --------
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
        """Raise ValueError if the episode does not fit a problem of size `shape`."""
        for name, values, length, limit in (
            ("states", self.states, shape.horizon + 1, shape.states),
            ("actions", self.actions, shape.horizon, shape.actions),
        ):
            if values.shape != (length,):
                raise ValueError(
                    f"Episode {self.id} must have {length} {name} for horizon {shape.horizon} "
                    f"(H + 1 states including the last one, and H actions), got {values.size}."
                )
            outside = np.flatnonzero((values < 0) | (values >= limit))
            if outside.size:
                step = int(outside[0])
                raise ValueError(
                    f"{name}[{step}] of episode {self.id} must lie in 0 .. {limit - 1}, "
                    f"got {values[step]}."
                )
        self.check_rewards(shape)

    def check_rewards(self, shape: Shape) -> None:
        """Raise ValueError if there is not one reward in [0, 1] for each step of `shape`."""
        if self.rewards is None:
            return
        if self.rewards.shape != (shape.horizon,):
            raise ValueError(
                f"rewards of episode {self.id} must have shape ({shape.horizon},), one for each "
                f"step, got {self.rewards.shape}."
            )
        outside = np.flatnonzero(~((self.rewards >= 0) & (self.rewards <= 1)))
        if outside.size:
            step = int(outside[0])
            raise ValueError(
                f"rewards[{step}] of episode {self.id} must lie in [0, 1], "
                f"got {self.rewards[step]}."
            )


def _integers(name: str, values: Sequence[int] | Ints) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must be a flat sequence of integers, got {values!r}.")
    return array.astype(np.int64)


def _numbers(name: str, values: ArrayLike | None) -> Floats | None:
    if values is None:
        return None
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a flat sequence of numbers, got {values!r}.") from None


@dataclass(frozen=True)
class Step:
    """One step of an episode, for feedback that arrives step by step.

    Parameters
    ----------
    id : int
        Number of the episode.
    step : int
        Step, from 0.
    state, action, successor : int
        State, action taken in it, and the next state.
    reward : float, optional
        Reward in [0, 1]; not needed where rewards are known.

    Examples
    --------
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
        name = f"The reward of step {self.step} of episode {self.id}"
        if not isinstance(self.reward, int | float | np.integer | np.floating):
            raise TypeError(f"{name} must be a number, got {self.reward!r}.")
        if not 0 <= self.reward <= 1:
            raise ValueError(f"{name} must lie in [0, 1], got {self.reward}.")
        object.__setattr__(self, "reward", float(self.reward))

    def check(self, shape: Shape) -> None:
        """Raise ValueError if the step does not fit a problem of size `shape`."""
        for name, limit in (
            ("step", shape.horizon),
            ("state", shape.states),
            ("action", shape.actions),
            ("successor", shape.states),
        ):
            if getattr(self, name) >= limit:
                raise ValueError(
                    f"{name} in a Step of episode {self.id} must lie in 0 .. {limit - 1}, "
                    f"got {getattr(self, name)}."
                )


@dataclass(frozen=True, eq=False)
class Policy:
    """Policy: an action for each (step, state), or a uniform draw where it explores.

    Parameters
    ----------
    actions : NDArray
        (H, S) action at each step, from 0, and state.
    explore : Bools, optional
        (H, S, A) marks. Where any action is marked, the action is drawn uniformly from those
        marked.
    epsilon : float
        Probability of a uniformly drawn action where none is marked; needs `explore`.
    """

    actions: NDArray[np.int32]
    explore: Bools | None = None
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon must lie in [0, 1], got {self.epsilon}.")
        if self.epsilon > 0 and self.explore is None:
            raise ValueError("explore is missing; epsilon needs it for the number of actions.")

    @property
    def is_stochastic(self) -> bool:
        """Whether any action is drawn at random."""
        return self.explore is not None and (self.epsilon > 0 or bool(self.explore.any()))

    def explored_actions(self, step: int, state: int) -> Ints:
        """Return the marked actions at a `step` in a `state`."""
        if self.explore is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.explore[step, state]).astype(np.int64)

    def action(self, step: int, state: int, u: float = 0.0) -> int:
        """Return the action to play.

        Parameters
        ----------
        step, state : int
            Step, from 0, and state.
        u : float
            Uniform in [0, 1), used where the action is drawn.

        Returns
        -------
        int
            Action.
        """
        marked = self.explored_actions(step, state)
        if marked.size:
            return int(marked[int(u * marked.size)])
        if self.explore is not None and u < self.epsilon:
            return int(u / self.epsilon * self.explore.shape[2])
        return int(self.actions[step, state])

    def probabilities(self, actions: int) -> Floats:
        """Return the probabilities (H, S, A) of a policy with `actions` actions."""
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
