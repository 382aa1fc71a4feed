"""Explicit exploration: where the policy draws its action, updated visit by visit."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Bools, Shape
from belated.randomness import EXPLORE, uniform
from belated.worklist import Worklist, put


class Exploration(NamedTuple):
    """Counts of the exploration rule, and the actions to draw from."""

    visits: NDArray[np.int64]  # (1 or H, S, A) observed visits; empty without a rule
    explore: Bools  # (H, S, A) actions to draw from; (0, 0, 0) if the policy is deterministic
    threshold: float  # a state explores while a count is below it
    by_state: bool  # whether the count is that of the state, instead of each of its actions
    rare_only: bool  # whether to draw only from the actions below the threshold
    epsilon: float  # probability of a uniform action where `explore` marks none


def no_exploration(shape: Shape, epsilon: float) -> Exploration:
    """Return the exploration of a base that draws a uniform action with probability `epsilon`.

    `shape` is the size of the problem.
    """
    explore = np.zeros(shape.table if epsilon > 0 else (0, 0, 0), np.bool_)
    return Exploration(np.zeros((0, 0, 0), np.int64), explore, 0.0, False, False, epsilon)


@kernel
def count_visit(rule: Exploration, h: int, s: int, a: int, changed: Worklist) -> None:
    """Count an observed visit and update the marks.

    Parameters
    ----------
    rule : Exploration
        Changed in place.
    h, s, a : int
        Step, state and action of the visit.
    changed : Worklist
        Receives the cells h * S + s whose marks change, grouped by step.
    """
    H, S, A = rule.explore.shape
    pooled = rule.visits.shape[0] == 1
    stage = 0 if pooled else h
    rule.visits[stage, s, a] += 1
    if not explores(rule, h, s):
        return
    # Does the state still explore?
    total = 0
    below = False
    for b in range(A):
        total += rule.visits[stage, s, b]
        below = below or rule.visits[stage, s, b] < rule.threshold
    if rule.by_state:
        below = total < rule.threshold
    # Update its marks, at every step if visits are pooled.
    for step in range(H if pooled else 1):
        at = step if pooled else h
        for b in range(A):
            mark = below and (not rule.rare_only or rule.visits[stage, s, b] < rule.threshold)
            if mark != rule.explore[at, s, b]:
                rule.explore[at, s, b] = mark
                put(changed, at, at * S + s)


@inlined
def explores(rule: Exploration, h: int, s: int) -> bool:
    """Return whether `rule` marks any action at step `h` in state `s`."""
    if rule.explore.size > 0:
        for a in range(rule.explore.shape[2]):
            if rule.explore[h, s, a]:
                return True
    return False


@kernel
def draw_action(
    rule: Exploration, h: int, s: int, greedy: int, seed: np.uint64, episode: int
) -> int:
    """Return the action to play where the policy may be stochastic.

    Parameters
    ----------
    rule : Exploration
        Exploration rule.
    h, s : int
        Step and state.
    greedy : int
        Action of the plan.
    seed, episode : int
        Address of the random number.

    Returns
    -------
    int
        An action drawn by the rule, or `greedy`.
    """
    A = rule.explore.shape[2]
    u = uniform(seed, EXPLORE, episode, h)
    marked = 0
    for a in range(A):
        if rule.explore[h, s, a]:
            marked += 1
    if marked == 0:
        return int(u / rule.epsilon * A) if u < rule.epsilon else greedy
    skip = int(u * marked)
    for a in range(A):
        if rule.explore[h, s, a]:
            if skip == 0:
                return a
            skip -= 1
    return 0
