"""Rules of where an episode ends and how its steps join; each rule is stated here only.

An episode ends when it reaches a terminal state. Steps after the end are padding: they repeat the
terminal state, without a reward. Two consecutive steps join if the second begins in the state to
which the first leads. Callers report a violation in their own words.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from belated.shape import Shape

if TYPE_CHECKING:
    from belated.learner.feedback import Feedback

Ints = NDArray[np.int64]

WATCH_FROM_EPISODES: Final = 20
"""Number of recorded episodes below which `RepetitionWatch` does not warn of padded episodes."""

WATCH_TO_EPISODES: Final = 200
"""Number of recorded episodes at which `RepetitionWatch` ends, if it has not warned before."""


def find_end(states: Sequence[int] | Ints, shape: Shape) -> int | None:
    """Return the number of steps until `states` reach a terminal state of `shape`, or None."""
    reached = np.flatnonzero(shape.is_terminal[np.asarray(states)])
    return int(reached[0]) if reached.size else None


def find_move(states: Sequence[int] | Ints, end: int) -> int | None:
    """Return the first place after `end` at which `states` leave the state at `end`, or None."""
    moved = np.flatnonzero(np.asarray(states[end:]) != states[end])
    return end + int(moved[0]) if moved.size else None


def is_padding_after(end: tuple[int, int] | None, step: int, state: int) -> bool:
    """Return whether a `step` in a terminal `state` is padding of an episode with the given end.

    `end` is the number of steps of the episode and its terminal state; None if it is not known to
    have ended.
    """
    return end is not None and step >= end[0] and state == end[1]


def find_break(
    steps: Mapping[int, tuple[int, int]], new: Collection[int] | None = None
) -> int | None:
    """Return the first step that does not join the step after it, or None if all steps join.

    `steps` maps the number of each step to its state and its next state. With `new`, only pairs of
    which at least one step is in `new` are compared.
    """
    for step in sorted(steps):
        after = steps.get(step + 1)
        if after is None or steps[step][1] == after[0]:
            continue
        if new is None or step in new or step + 1 in new:
            return step
    return None


class RepetitionWatch:
    """Detector of episodes that end in an undeclared terminal state and are padded to H steps.

    A state is suspicious if some episode has entered it and stayed in it for at least its last two
    steps, no episode has left it, and no reward above 0 was received in it. An episode seems to be
    padded if it stays in a suspicious state for at least its last two steps.

    Parameters
    ----------
    shape : Shape
        Size of a problem; episodes are watched only if it has no terminal states.
    """

    def __init__(self, shape: Shape) -> None:
        self._is_over = bool(shape.terminal)
        self._active = np.zeros(shape.states, np.bool_)  # left, or with a reward
        self._ends = np.zeros(shape.states, np.int64)  # episodes that stayed there at the end
        self._episodes = 0

    def see(self, feedback: "Sequence[Feedback]", known: NDArray[np.float64] | None) -> bool:
        """Record whole episodes and return whether to warn that episodes seem to be padded.

        The answer is True once at most, and False after `WATCH_TO_EPISODES` episodes.

        Parameters
        ----------
        feedback : sequence of Feedback
            Feedback of whole episodes.
        known : NDArray, optional
            Known mean rewards, of shape (H, S, A); None if the feedback contains the rewards.

        Returns
        -------
        bool
            Whether at least 20 episodes have been recorded, and at least half of them seem to be
            padded: they stay to the end in a state that no episode leaves and that never gives a
            reward above 0.
        """
        if self._is_over:
            return False
        for item in feedback:
            rewards = (
                item.rewards if known is None else known[item.steps, item.states, item.actions]
            )
            moves = item.states != item.successors
            self._active[item.states[moves]] = True
            if rewards is not None:
                self._active[item.states[rewards > 0]] = True
            if moves.any() and not moves[-2:].any():
                self._ends[item.states[-1]] += 1
        self._episodes += len(feedback)
        padded = int(self._ends[~self._active].sum())
        warns = self._episodes >= WATCH_FROM_EPISODES and 2 * padded >= self._episodes
        self._is_over = warns or self._episodes >= WATCH_TO_EPISODES
        return warns

    @property
    def suspects(self) -> list[int]:
        """States in which padded episodes seem to end, in increasing order.

        At least one episode has stayed in such a state to the end, no episode has left it, and no
        reward above 0 was received in it.
        """
        return [int(s) for s in np.flatnonzero((self._ends > 0) & ~self._active)]

    @property
    def message(self) -> str:
        """Text of the warning that episodes seem to be padded; it contains `suspects`."""
        states = self.suspects
        return (
            f"{int(self._ends[states].sum())} of {self._episodes} episodes repeat one of the "
            f"states {states} to the end, and none leaves it. If episodes end there, declare "
            f"terminal={states} and leave out the repetitions; otherwise actions that were not "
            "tried in these states keep optimistic values."
        )
