"""Shape: the size of a problem, its terminal states, and the actions allowed in each state."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.check import SCALE_REWARDS, check_index, check_integer, check_numbers

Allowed = Mapping[int, Collection[int]] | ArrayLike | None
"""Type of the argument `allowed` of `Shape`: a map from each restricted state to its allowed
actions, a mask of shape (S, A) or (H, S, A), or None if all actions are allowed."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Shape:
    """Size of a problem: its numbers of states, actions and steps, and its restrictions.

    Parameters
    ----------
    states : int
        Number of states S, at least 1.
    actions : int
        Number of actions A, at least 1.
    horizon : int
        Number of steps H of an episode, at least 1.
    terminal : iterable of int
        States in which an episode ends. Their value is 0, and nothing is learnt there.
    allowed : mapping or array_like, optional
        Actions that may be played: a map from each restricted state to a list of actions, or a mask
        of shape (S, A) or (H, S, A). By default all actions are allowed.

    Examples
    --------
    >>> Shape(30, 2, 30)
    Shape(states=30, actions=2, horizon=30)
    >>> shape = Shape(4, 2, 5, terminal=[3], allowed={0: [1]})
    >>> shape
    Shape(states=4, actions=2, horizon=5, terminal=(3,), allowed=<5 actions forbidden>)
    >>> shape.available[0].astype(int).tolist()
    [[0, 1], [1, 1], [1, 1], [1, 0]]
    """

    states: int
    actions: int
    horizon: int
    terminal: tuple[int, ...]
    """Terminal states, in increasing order."""
    allowed: NDArray[np.bool_] | None
    """(H, S, A) mask of the allowed actions, or None if all actions are allowed. In a terminal
    state, the mask contains action 0 only."""

    def __init__(
        self,
        states: int,
        actions: int,
        horizon: int,
        *,
        terminal: Iterable[int] = (),
        allowed: Allowed = None,
    ) -> None:
        for name, value in (("states", states), ("actions", actions), ("horizon", horizon)):
            object.__setattr__(self, name, check_integer(name, value, 1))
        object.__setattr__(self, "terminal", _check_terminal(self.states, terminal))
        object.__setattr__(self, "allowed", None)
        if allowed is not None:
            object.__setattr__(self, "allowed", _check_allowed(self, allowed))

    @property
    def table(self) -> tuple[int, int, int]:
        """(H, S, A), the shape of an array with one entry for each step, state and action."""
        return self.horizon, self.states, self.actions

    @property
    def is_restricted(self) -> bool:
        """Whether there are terminal states or forbidden actions."""
        return bool(self.terminal) or self.allowed is not None

    @cached_property
    def is_terminal(self) -> NDArray[np.bool_]:
        """Mask of shape (S,), True for terminal states."""
        mask = np.zeros(self.states, np.bool_)
        mask[list(self.terminal)] = True
        mask.setflags(write=False)
        return mask

    @cached_property
    def available(self) -> NDArray[np.bool_]:
        """(H, S, A) mask of the actions that a policy may choose.

        In a terminal state, the mask contains action 0 only.
        """
        if self.allowed is not None:
            return self.allowed
        mask = np.ones(self.table, np.bool_)
        mask[:, list(self.terminal), 1:] = False
        mask.setflags(write=False)
        return mask

    @cached_property
    def playable(self) -> NDArray[np.bool_]:
        """(H, S, A) mask of the actions that an episode can contain; none in a terminal state."""
        mask = self.available & ~self.is_terminal[:, None]
        mask.setflags(write=False)
        return mask

    @cached_property
    def fixed_values(self) -> NDArray[np.float64]:
        """Array of shape (H, S * A) with the values Q that the restrictions determine.

        The value is 0 for action 0 of a terminal state, and -inf for every action that is not
        `available`. All other entries are NaN: planning computes their values. If the problem is
        not restricted, the array has shape (0, 0).
        """
        if not self.is_restricted:
            return np.zeros((0, 0))
        values = np.where(self.available, np.nan, -np.inf)
        values[:, list(self.terminal), 0] = 0.0
        return values.reshape(self.horizon, -1)

    def restrict(self, *, terminal: Iterable[int] = (), allowed: Allowed = None) -> "Shape":
        """Return a shape of the same size with these `terminal` states and `allowed` actions.

        Both arguments are as in `Shape`. If neither is given, this shape is returned. Otherwise
        ValueError is raised if this shape already has terminal states or forbidden actions.
        """
        terminal = _check_terminal(self.states, terminal)
        if not terminal and allowed is None:
            return self
        if self.is_restricted:
            raise ValueError(
                f"terminal and allowed must be given once; {self!r} has restrictions already."
            )
        return Shape(self.states, self.actions, self.horizon, terminal=terminal, allowed=allowed)

    def check_action(self, name: str, step: int, state: int, action: int) -> None:
        """Raise ValueError if an action is not allowed.

        Parameters
        ----------
        name : str
            Name of the action in the error message.
        step, state, action : int
            Step, state that is not terminal, and action, each in its range.
        """
        if self.allowed is not None and not self.allowed[step, state, action]:
            allowed = np.flatnonzero(self.allowed[step, state]).tolist()
            raise ValueError(
                f"{name} must be allowed in state {state} at step {step}, where the allowed "
                f"actions are {allowed}; got {action}."
            )

    def check_actions(self, name: str, actions: NDArray[np.integer[Any]]) -> None:
        """Raise ValueError if `actions`, one for each step and state, are not all allowed.

        `name` is the name of an action in the error message. `actions` has shape (H, S);
        actions of terminal states are not checked.
        """
        if self.allowed is None:
            return
        allowed = np.take_along_axis(self.allowed, actions[..., None].astype(np.int64), axis=2)
        for step, state in np.argwhere(~allowed[..., 0] & ~self.is_terminal)[:1].tolist():
            self.check_action(name, step, state, int(actions[step, state]))

    def check_rewards(self, rewards: ArrayLike) -> NDArray[np.float64]:
        """Return `rewards` as a new array of shape (H, S, A), or (1, S, A) if given as (S, A).

        Raises TypeError or ValueError unless `rewards` has shape (H, S, A) or (S, A) and consists
        of numbers in [0, 1], which are 0 in terminal states.
        """
        values = check_numbers("rewards", rewards)
        if values.shape not in (self.table, self.table[1:]):
            raise ValueError(
                f"rewards must have shape (H, S, A) = {self.table} or (S, A) = {self.table[1:]}, "
                f"got {values.shape}."
            )
        for at in np.argwhere(~((values >= 0) & (values <= 1)))[:1].tolist():
            raise ValueError(
                f"rewards must lie in [0, 1], got {values[tuple(at)]} at {at}; {SCALE_REWARDS}."
            )
        for at in np.argwhere(values * self.is_terminal[:, None])[:1].tolist():
            raise ValueError(
                f"rewards must be 0 in terminal states, got {values[tuple(at)]} at {at}; give the "
                "reward to the step that leads there."
            )
        return values.reshape(-1, *self.table[1:])

    def _key(self) -> tuple[object, ...]:
        mask = None if self.allowed is None else self.allowed.tobytes()
        return *self.table, self.terminal, mask

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Shape) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        parts = [f"states={self.states}", f"actions={self.actions}", f"horizon={self.horizon}"]
        if self.terminal:
            parts.append(f"terminal={self.terminal}")
        if self.allowed is not None:
            forbidden = int((~self.allowed[:, ~self.is_terminal]).sum())
            parts.append(f"allowed=<{forbidden} actions forbidden>")
        return f"Shape({', '.join(parts)})"


def _check_terminal(states: int, terminal: Iterable[int]) -> tuple[int, ...]:
    """Return the `terminal` states in increasing order, each once, after checking them."""
    if not isinstance(terminal, Iterable):
        raise TypeError(f"terminal must be a list of states, such as [{terminal!r}].")
    listed = {check_index("A terminal state", state, states) for state in terminal}
    if len(listed) == states:
        raise ValueError("At least one state must not be terminal, got only terminal states.")
    return tuple(sorted(listed))


def _check_allowed(shape: Shape, allowed: Allowed) -> NDArray[np.bool_] | None:
    """Return `allowed` as a mask of shape (H, S, A), or None if it forbids nothing.

    Raises TypeError or ValueError if `allowed` is malformed or leaves a state without an action.
    """
    if isinstance(allowed, Mapping):
        mask = np.ones((shape.states, shape.actions), np.bool_)
        for state, actions in allowed.items():
            check_index("A state of allowed", state, shape.states)
            mask[state] = False
            for action in actions:
                check_index(f"An allowed action of state {state}", action, shape.actions)
                mask[state, action] = True
    else:
        mask = np.asarray(allowed)
        if mask.dtype != np.bool_:
            raise TypeError(
                "allowed must be a mask of True and False, or a mapping from states to lists of "
                f"actions, got {allowed!r}."
            )
        if mask.shape not in (shape.table, shape.table[1:]):
            raise ValueError(
                f"allowed must have shape (S, A) = {shape.table[1:]} or (H, S, A) = {shape.table}, "
                f"got {mask.shape}."
            )
    full = np.broadcast_to(mask, shape.table).copy()
    if full[:, ~shape.is_terminal].all():
        return None
    full[:, list(shape.terminal)] = np.arange(shape.actions) == 0
    for step, state in np.argwhere(~full.any(axis=2))[:1]:
        raise ValueError(
            f"allowed must contain an action for state {state} at step {step}, got none; if "
            f"episodes end in this state, declare it with terminal=[{state}]."
        )
    full.setflags(write=False)
    return full
