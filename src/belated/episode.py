"""Episode, Step and Policy: types that all packages use.

`Shape`, defined in `belated.shape`, can be imported from here too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.check import SCALE_REWARDS, check_id, check_index, check_integer, check_numbers
from belated.html import describe, format_details, format_table
from belated.padding import find_end, find_move
from belated.shape import Shape as Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_LISTED_STATES: Final = 20
"""Maximum number of states of a policy up to which notebooks display the table of its actions."""

MAX_LISTED_STEPS: Final = 24
"""Maximum number of columns up to which notebooks display the table of the actions of a policy.
Consecutive steps with the same actions share a column."""


@dataclass(frozen=True, eq=False)
class Episode:
    """Record of one episode: s_1, a_1, r_1, s_2, ..., a_H, r_H, s_{H+1}.

    An episode that reaches a terminal state after t < H steps may end there; it then has t actions,
    t rewards and t + 1 states.

    Parameters
    ----------
    id : int
        Unique number of the episode; a learner accepts each id once.
    states : sequence of int
        The H + 1 states s_1 .. s_{H+1}.
    actions : sequence of int
        The H actions a_1 .. a_H.
    rewards : array_like, optional
        The H rewards r_1 .. r_H, in [0, 1]. They are not needed if the learner is given the mean
        rewards.

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
        numbers = None if rewards is None else check_numbers(f"rewards of episode {id}", rewards)
        object.__setattr__(self, "rewards", numbers)

    def check(self, shape: Shape) -> None:
        """Raise ValueError if the episode does not fit a problem of size `shape`.

        This is the case if its length is wrong, if a state, action or reward is out of range, if an
        action is not allowed, or if the episode leaves a terminal state or receives a reward there.
        """
        steps = self.actions.size
        if not shape.terminal or steps > shape.horizon or self.states.size != steps + 1:
            steps = shape.horizon
        for name, values, length, limit in (
            ("states", self.states, steps + 1, shape.states),
            ("actions", self.actions, steps, shape.actions),
        ):
            if values.shape != (length,):
                raise ValueError(
                    f"Episode {self.id} must have {length} {name} for horizon {shape.horizon} "
                    f"(H + 1 states including the last one, and H actions), got {values.size}."
                )
            for step in np.flatnonzero((values < 0) | (values >= limit))[:1]:
                check_index(f"{name}[{step}] of episode {self.id}", values[step], limit)
        end = self.steps(shape)
        if shape.is_restricted:
            self._check_restrictions(shape, end)
        if self.rewards is not None:
            check_rewards(self.id, self.rewards, steps, end)

    def _check_restrictions(self, shape: Shape, end: int) -> None:
        """Raise ValueError if the episode violates terminal states or allowed actions of `shape`.

        `end` is the number of steps before a terminal state. The lengths and ranges of states and
        actions must have been checked before.
        """
        steps = self.actions.size
        if end == 0:
            raise ValueError(
                f"states[0] of episode {self.id} must not be terminal, got {self.states[0]}."
            )
        if steps < shape.horizon and end == steps and not shape.is_terminal[self.states[end]]:
            raise ValueError(
                f"Episode {self.id} must have {shape.horizon} actions or end in a terminal state "
                f"{list(shape.terminal)}, got {steps} actions and the last state "
                f"{self.states[end]}."
            )
        step = find_move(self.states, end)
        if step is not None:
            raise ValueError(
                f"states[{step}] of episode {self.id} must be {self.states[end]}, the terminal "
                f"state that the episode has reached, got {self.states[step]}."
            )
        for step in range(end if shape.allowed is not None else 0):
            name = f"actions[{step}] of episode {self.id}"
            shape.check_action(name, step, int(self.states[step]), int(self.actions[step]))

    def steps(self, shape: Shape) -> int:
        """Return the number of steps before the episode reaches a terminal state of `shape`.

        If it reaches none, all its steps are counted.
        """
        end = find_end(self.states, shape)
        return self.actions.size if end is None else end


def check_rewards(id: int, rewards: Floats, steps: int, end: int) -> None:
    """Raise ValueError if rewards of an episode are not one number in [0, 1] for each step.

    Parameters
    ----------
    id : int
        Id of the episode.
    rewards : Floats
        Rewards of the episode.
    steps : int
        Required number of rewards.
    end : int
        Number of steps before a terminal state; rewards of later steps must be 0.
    """
    if rewards.shape != (steps,):
        raise ValueError(
            f"rewards of episode {id} must have shape ({steps},), one for each step, "
            f"got {rewards.shape}."
        )
    for step in np.flatnonzero(~((rewards >= 0) & (rewards <= 1)))[:1]:
        raise ValueError(
            f"rewards[{step}] of episode {id} must lie in [0, 1], got {rewards[step]}; "
            f"{SCALE_REWARDS}."
        )
    for step in end + np.flatnonzero(rewards[end:])[:1]:
        raise ValueError(
            f"rewards[{step}] of episode {id} must be 0 after the terminal state, "
            f"got {rewards[step]}."
        )


def _integers(name: str, values: Sequence[int] | Ints) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must be a flat sequence of integers, got {values!r}.")
    return array.astype(np.int64)


@dataclass(frozen=True)
class Step:
    """One step of an episode, for feedback that arrives step by step.

    Parameters
    ----------
    id : int
        Id of the episode.
    step : int
        Step number, from 0.
    state, action, successor : int
        State, action, and next state.
    reward : float, optional
        Reward in [0, 1]; not needed if the learner is given the mean rewards.

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
            raise ValueError(f"{name} must lie in [0, 1], got {self.reward}; {SCALE_REWARDS}.")
        object.__setattr__(self, "reward", float(self.reward))

    def check(self, shape: Shape) -> None:
        """Raise ValueError if the step does not fit a problem of size `shape`.

        This is the case if the step number, a state or the action is too large, if the action is
        not allowed, or if the step leaves a terminal state or receives a reward there.
        """
        for name, limit in (
            ("step", shape.horizon),
            ("state", shape.states),
            ("action", shape.actions),
            ("successor", shape.states),
        ):
            check_index(f"{name} in a Step of episode {self.id}", getattr(self, name), limit)
        if not shape.is_terminal[self.state]:
            name = f"action in a Step of episode {self.id}"
            shape.check_action(name, self.step, self.state, self.action)
        elif self.successor != self.state or self.reward:
            raise ValueError(
                f"Step {self.step} of episode {self.id} must stay in the terminal state "
                f"{self.state} without a reward, got successor {self.successor} and reward "
                f"{self.reward}."
            )


@dataclass(frozen=True, eq=False)
class Policy:
    """Policy: an action for each step and state, or a random action where the policy explores.

    Parameters
    ----------
    actions : NDArray
        (H, S) action for each step and state.
    explore : Bools, optional
        (H, S, A) mask of actions to explore. If the mask contains any action at a step and state,
        the policy draws uniformly from these actions there.
    epsilon : float
        Probability with which the policy draws uniformly from all actions, or from the `allowed`
        ones, at a step and state where the mask contains no action. If `epsilon` is above 0,
        `explore` is required, because its shape gives the number of actions.
    allowed : Bools, optional
        (H, S, A) mask of the actions from which `epsilon` draws; by default all actions.
    terminal : tuple of int
        Terminal states, in which no action is played. Pictures show them without an action.

    Examples
    --------
    >>> policy = Policy(np.array([[0, 1, 1], [1, 1, 0]], np.int32))    # two steps, three states
    >>> policy.action(step=0, state=2)
    1
    >>> policy.is_stochastic
    False
    """

    actions: NDArray[np.int32]
    explore: Bools | None = None
    epsilon: float = 0.0
    allowed: Bools | None = None
    terminal: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon must lie in [0, 1], got {self.epsilon}.")
        if self.epsilon > 0 and self.explore is None:
            raise ValueError(
                f"explore must be given if epsilon is above 0, got epsilon={self.epsilon} and "
                "explore=None; use np.zeros((H, S, A), bool), whose shape gives the number of "
                "actions."
            )

    @property
    def is_stochastic(self) -> bool:
        """Whether the policy draws its action at random at any step and state."""
        return self.explore is not None and (self.epsilon > 0 or bool(self.explore.any()))

    def explored_actions(self, step: int, state: int) -> Ints:
        """Return the actions to explore at a `step` and `state`, in increasing order.

        The result is empty if the mask `explore` contains no action at this step and state.
        """
        if self.explore is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.explore[step, state]).astype(np.int64)

    def action(self, step: int, state: int, u: float = 0.0) -> int:
        """Return the action to play at a step and state.

        Parameters
        ----------
        step, state : int
            Step, from 0, and state.
        u : float
            Uniform random number in [0, 1) that determines the action if it is drawn at random.

        Returns
        -------
        int
            Action.
        """
        marked = self.explored_actions(step, state)
        if marked.size:
            return int(marked[int(u * marked.size)])
        if self.explore is not None and u < self.epsilon:
            if self.allowed is None:
                return int(u / self.epsilon * self.explore.shape[2])
            choices = np.flatnonzero(self.allowed[step, state])
            return int(choices[int(u / self.epsilon * choices.size)])
        return int(self.actions[step, state])

    def probabilities(self, actions: int) -> Floats:
        """Return the probability of each action at each step and state, of shape (H, S, A).

        `actions` is the number of actions A.
        """
        drawn: Floats | float = self.epsilon / actions
        if self.allowed is not None:
            drawn = self.epsilon * self.allowed / self.allowed.sum(axis=2, keepdims=True)
        dense = (1 - self.epsilon) * np.eye(actions)[self.actions] + drawn
        if self.explore is not None:
            marked = self.explore.sum(axis=2, keepdims=True)
            np.divide(self.explore, marked, out=dense, where=marked > 0)
        return dense

    def plot(self, *, ax: "Axes | None" = None, actions: Sequence[str] = ()) -> "Axes":
        """Draw the action of each step and state as a coloured cell.

        Parameters
        ----------
        ax : Axes, optional
            Axes of Matplotlib to draw on; by default those of a new figure.
        actions : sequence of str
            Names of the actions. If empty, the actions are numbered.

        Returns
        -------
        Axes
            The axes.
        """
        import belated

        return belated.plot(self, ax=ax, actions=actions)

    def _repr_html_(self) -> str:
        """Return an HTML description of the policy, which notebooks display.

        The table of actions is omitted if it has more than `MAX_LISTED_STATES` rows or
        `MAX_LISTED_STEPS` columns.
        """
        H, S = self.actions.shape
        explored = self._explored()
        facts = {
            "size": f"{S:,} states, {H:,} steps",
            "exploration": f"at {explored.sum():,} of {H * S:,} steps and states"
            if explored.any()
            else "",
            "epsilon": f"{self.epsilon:g}" if self.epsilon else "",
        }
        if S > MAX_LISTED_STATES:
            return describe("Policy", facts)
        texts = np.where(explored, "random", self.actions.astype(str))
        steps = equal_steps(texts)
        if len(steps) > MAX_LISTED_STEPS:
            return describe("Policy", facts)
        rows = [[str(s), *(texts[h, s] for h in steps.values())] for s in range(S)]
        table = format_table(rows, head=["state", *(f"step {step}" for step in steps)])
        return describe("Policy", facts, format_details("Actions", table))

    def _explored(self) -> Bools:
        """Return an (H, S) mask: whether `explore` contains an action at each step and state."""
        if self.explore is None:
            return np.zeros(self.actions.shape, np.bool_)
        return np.asarray(self.explore.any(axis=2))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return (
            np.array_equal(self.actions, other.actions)
            and self.epsilon == other.epsilon
            and np.array_equal(_marks(self.explore), _marks(other.explore))
            and np.array_equal(_marks(self.allowed), _marks(other.allowed))
        )


def _marks(mask: Bools | None) -> Bools:
    return mask if mask is not None and mask.any() else np.zeros(0, np.bool_)


def equal_steps(table: NDArray[Any]) -> dict[str, int]:
    """Return the ranges of steps at which the rows of `table`, one for each step, are the same.

    The result maps each range as text, with steps numbered from 1, to its first step, from 0.

    >>> equal_steps(np.array([[0, 1], [0, 1], [1, 1]]))
    {'1-2': 0, '3': 2}
    """
    first = [h for h in range(len(table)) if h == 0 or (table[h] != table[h - 1]).any()]
    ends = [*first[1:], len(table)]
    return {
        f"{a + 1}" if b == a + 1 else f"{a + 1}-{b}": a for a, b in zip(first, ends, strict=True)
    }
