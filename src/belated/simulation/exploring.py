"""Exploration inside the compiled engine: its marks, kept up to date visit by visit."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.buckets import Buckets, put
from belated.compiled import inlined, kernel
from belated.episode import Bools, Shape
from belated.exact.values import NO_EXPLORATION
from belated.learner.bases.base import Base
from belated.learner.updaters.explicit import ExplicitExploration
from belated.learner.updaters.updater import Updater
from belated.randomness import EXPLORE, uniform


class Exploring(NamedTuple):
    """Counts of the exploration rule, and the actions to draw from where any is marked."""

    seen: NDArray[np.int64]  # (1 or H, S, A)
    explore: Bools  # (H, S, A), or (0, 0, 0) when nothing ever explores
    least: float
    by_state: bool
    rare: bool
    epsilon: float  # the probability of any action, where none is marked


def exploring(base: Base, updater: Updater, shape: Shape) -> Exploring:
    """The exploration of a fresh learner with this base and updater."""
    epsilon = base.explores
    if not isinstance(updater, ExplicitExploration):
        marks = np.zeros(shape.table, np.bool_) if epsilon > 0 else NO_EXPLORATION.copy()
        return Exploring(np.zeros((0, 0, 0), np.int64), marks, 0.0, False, False, epsilon)
    tally = updater.explorer(shape)
    rules = (float(tally.least), updater.unit == "sh", updater.draw == "rare")
    return Exploring(tally.seen, tally.marks(), *rules, epsilon)


@kernel
def note(state: Exploring, h: int, s: int, a: int, changed: Buckets) -> None:
    """Count a visit; cells whose marks change are put into `changed`."""
    if state.seen.size == 0:
        return
    H, S, A = state.explore.shape
    pooled = state.seen.shape[0] == 1
    group = 0 if pooled else h
    state.seen[group, s, a] += 1
    if not explores(state, h, s):
        return
    total = 0
    some = False
    for b in range(A):
        total += state.seen[group, s, b]
        some = some or state.seen[group, s, b] < state.least
    if state.by_state:
        some = total < state.least
    for step in range(H if pooled else 1):
        at = step if pooled else h
        for b in range(A):
            mark = some and (not state.rare or state.seen[group, s, b] < state.least)
            if mark != state.explore[at, s, b]:
                state.explore[at, s, b] = mark
                put(changed, at, at * S + s)


@inlined
def explores(state: Exploring, h: int, s: int) -> bool:
    """Whether the action at (h, s) is drawn."""
    if state.explore.size > 0:
        for a in range(state.explore.shape[2]):
            if state.explore[h, s, a]:
                return True
    return False


@kernel
def drawn(state: Exploring, h: int, s: int, greedy: int, seed: np.uint64, episode: int) -> int:
    """The action played at (h, s) where it may be drawn; `greedy` if it is not."""
    A = state.explore.shape[2]
    u = uniform(seed, EXPLORE, episode, h)
    marked = 0
    for a in range(A):
        if state.explore[h, s, a]:
            marked += 1
    if marked == 0:
        return int(u / state.epsilon * A) if u < state.epsilon else greedy
    skip = int(u * marked)
    for a in range(A):
        if state.explore[h, s, a]:
            if skip == 0:
                return a
            skip -= 1
    return 0
