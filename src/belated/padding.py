"""Rules of where an episode ends and how its steps join; each rule is stated here only.

An episode ends when it reaches a terminal state. Steps after the end are padding: they repeat the
terminal state, without a reward. Two consecutive steps join if the second begins in the state to
which the first leads. Callers report a violation in their own words.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from belated.shape import Shape

Ints = NDArray[np.int64]


def find_end(states: Sequence[int] | Ints, shape: Shape) -> int | None:
    """Return the number of steps after which `states` reach a terminal state; None if never."""
    reached = np.flatnonzero(shape.is_terminal[np.asarray(states)])
    return int(reached[0]) if reached.size else None


def find_move(states: Sequence[int] | Ints, end: int) -> int | None:
    """Return the first place after `end` at which `states` leave the state at `end`, or None."""
    moved = np.flatnonzero(np.asarray(states[end:]) != states[end])
    return end + int(moved[0]) if moved.size else None


def find_reward(rewards: Mapping[int, object], end: int) -> int | None:
    """Return the first step from `end` on, in the order of `rewards`, with a reward, or None.

    `rewards` maps steps to rewards. Padding has the reward 0 or None.
    """
    return next(
        (step for step, r in rewards.items() if step >= end and r is not None and r != 0), None
    )


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
