"""Rules of where an episode ends and how its steps join; each rule is stated here only.

An episode ends when it reaches a terminal state. Steps after the end are padding: they repeat the
terminal state, without a reward. Two consecutive steps join if the second begins in the state to
which the first leads. Callers report a violation in their own words.
"""

from collections.abc import Collection, Mapping, Sequence

from belated.shape import Shape


def find_end(states: Sequence[int], shape: Shape) -> int | None:
    """Return the number of steps after which `states` reach a terminal state; None if never."""
    is_terminal = shape.is_terminal
    return next((place for place, state in enumerate(states) if is_terminal[state]), None)


def find_move(states: Sequence[int], end: int) -> int | None:
    """Return the first place after `end` at which `states` leave the state at `end`, or None."""
    later = range(end + 1, len(states))
    return next((place for place in later if states[place] != states[end]), None)


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
