"""Exploration rules, which determine the actions that a policy draws at random.

A rule that counts visits is updated after each observed visit.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Bools, Floats
from belated.randomness import EXPLORE, uniform
from belated.worklist import Worklist, put


class Exploration(NamedTuple):
    """Exploration rule: its visit counts, its mask of actions to explore, and its parameters."""

    visits: NDArray[np.int64]  # (1 or H, S, A) observed visits; empty if they are not counted
    explore: Bools  # (H, S, A) mask of actions to explore; (0, 0, 0) if the policy never explores
    threshold: float  # a state is explored while a count is below this number
    by_state: bool  # whether to compare the count of the state, instead of that of each action
    rare_only: bool  # whether to draw only from the actions whose count is below the threshold
    epsilon: float  # probability of a uniform action where the mask has no action


@inlined
def is_available(fixed: Floats, h: int, cell: int) -> bool:
    """Return whether an action may be chosen.

    Parameters
    ----------
    fixed : Floats
        (H, S * A) result of `Shape.fixed_values`, which is -inf for each action that may not be
        chosen. Empty if all actions may be chosen.
    h, cell : int
        Step, and index s * A + a of the state and action.

    Returns
    -------
    bool
        Whether the action is allowed.
    """
    return fixed.size == 0 or fixed[h, cell] != -math.inf


@kernel
def is_rare(rule: Exploration, fixed: Floats, h: int, s: int) -> bool:
    """Return whether a state is explored at a step because a count is below the threshold.

    Parameters
    ----------
    rule : Exploration
        Exploration rule with its counts.
    fixed : Floats
        Array that marks the actions that may not be chosen; see `is_available`. Their counts are
        ignored.
    h, s : int
        Step and state.

    Returns
    -------
    bool
        Whether a count is below `rule.threshold`: the count of the state if `rule.by_state`,
        otherwise the count of at least one of its allowed actions.
    """
    A = rule.explore.shape[2]
    stage = 0 if rule.visits.shape[0] == 1 else h
    total = 0
    below = False
    for a in range(A):
        total += rule.visits[stage, s, a]
        rare = rule.visits[stage, s, a] < rule.threshold
        below = below or (rare and is_available(fixed, h, s * A + a))
    return total < rule.threshold if rule.by_state else below


@kernel
def count_visit(
    rule: Exploration, fixed: Floats, h: int, s: int, a: int, changed: Worklist
) -> None:
    """Count an observed visit and update the mask of actions to explore.

    Parameters
    ----------
    rule : Exploration
        Exploration rule; its counts and mask are changed in place.
    fixed : Floats
        Array that marks the actions that may not be chosen; see `is_available`.
    h, s, a : int
        Step, state and action of the visit.
    changed : Worklist
        Receives the index h * S + s of each (step, state) whose mask changes, grouped by step.
    """
    H, S, A = rule.explore.shape
    pooled = rule.visits.shape[0] == 1
    stage = 0 if pooled else h
    rule.visits[stage, s, a] += 1
    # If all actions are allowed, the masks of the state are the same at every step.
    if fixed.size == 0 and not explores(rule, h, s):
        return
    below = is_rare(rule, fixed, h, s)
    # Update the mask of the state, at every step if visits are pooled.
    for step in range(H if pooled else 1):
        at = step if pooled else h
        if fixed.size > 0:
            below = is_rare(rule, fixed, at, s)
        same = True
        for b in range(A):
            mark = below and (not rule.rare_only or rule.visits[stage, s, b] < rule.threshold)
            mark = mark and is_available(fixed, at, s * A + b)
            if mark != rule.explore[at, s, b]:
                rule.explore[at, s, b] = mark
                put(changed, at, at * S + s)
                same = False
        if same and fixed.size == 0:
            return


@inlined
def explores(rule: Exploration, h: int, s: int) -> bool:
    """Return whether `rule` marks any action to be explored at step `h` in state `s`."""
    if rule.explore.size > 0:
        for a in range(rule.explore.shape[2]):
            if rule.explore[h, s, a]:
                return True
    return False


@kernel
def draw_action(
    rule: Exploration, fixed: Floats, h: int, s: int, greedy: int, seed: np.uint64, episode: int
) -> int:
    """Return the action to play under an exploration rule.

    If the mask of actions to explore contains any action at this step and state, one of them is
    drawn uniformly. Otherwise, one of all allowed actions is drawn uniformly with probability
    `rule.epsilon`, and the result is `greedy` with the remaining probability.

    Parameters
    ----------
    rule : Exploration
        Exploration rule; its mask must have the shape (H, S, A).
    fixed : Floats
        Array that marks the actions that may not be chosen; see `is_available`.
    h, s : int
        Step and state.
    greedy : int
        Action of the plan.
    seed, episode : int
        Seed of the run, and number of the episode. With `h`, they are the key of the random number.

    Returns
    -------
    int
        Action.
    """
    A = rule.explore.shape[2]
    marked = 0
    for a in range(A):
        if rule.explore[h, s, a]:
            marked += 1
    if marked == 0 and rule.epsilon == 0.0:  # no random number is needed
        return greedy
    u = uniform(seed, EXPLORE, episode, h)
    if marked == 0:
        if u >= rule.epsilon:
            return greedy
        if fixed.size == 0:
            return int(u / rule.epsilon * A)
        return draw_allowed(fixed, h, s, A, u / rule.epsilon)
    skip = int(u * marked)
    for a in range(A):
        if rule.explore[h, s, a]:
            if skip == 0:
                return a
            skip -= 1
    return 0


@kernel
def draw_allowed(fixed: Floats, h: int, s: int, A: int, u: float) -> int:
    """Return one of the allowed actions, drawn uniformly.

    Parameters
    ----------
    fixed : Floats
        Array that marks the actions that may not be chosen; see `is_available`.
    h, s : int
        Step and state.
    A : int
        Number of actions.
    u : float
        Uniform random number in [0, 1).

    Returns
    -------
    int
        Action.
    """
    count = 0
    for a in range(A):
        count += is_available(fixed, h, s * A + a)
    skip = int(u * count)
    for a in range(A):
        if is_available(fixed, h, s * A + a):
            if skip == 0:
                return a
            skip -= 1
    return 0
