"""Sums of max(1, N')^-p over the triples visited in a run, and the bound of Lemma 3 on the sums.

N' is the number of observed visits of a triple (h, s, a) at the start of an episode.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Ints, Shape
from belated.theory.missing import first_uses
from belated.theory.paths import triples_of
from belated.theory.validation import check_episodes, check_power


def visit_bound(shape: Shape, episodes: int, *, missing: float, power: float) -> float:
    """Return the bound of Lemma 3 on the sum of max(1, N')^-p over the steps of K episodes.

        p = 1/2    4 sqrt(HSAT) + 3 HSA psi
        p = 1      2 HSA ln(8T) + HSA psi ln(16 psi)

    N' is the number of observed visits, at the start of the episode, of the triple (h, s, a) that
    is visited at the step. T = K H is the number of steps, and psi is an upper bound on the number
    of missing episodes.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    missing : float
        Value of psi in the formula, or any other upper bound on all S_k; at least 0. If it is 0,
        the terms that contain psi are 0.
    power : float
        Exponent p, 0.5 or 1.

    Returns
    -------
    float
        Bound on the sum.

    Examples
    --------
    >>> round(visit_bound(Shape(5, 2, 5), 10_000, missing=0, power=0.5))
    6325
    """
    H, S, A = shape.table
    HSA = H * S * A
    steps = check_episodes(episodes) * H
    if not missing >= 0:
        raise ValueError(f"missing must be at least 0, got {missing}.")
    if check_power(power) == 0.5:
        return 4 * math.sqrt(HSA * steps) + 3 * HSA * missing
    delay = missing * max(0.0, math.log(16 * missing)) if missing > 0 else 0.0
    return HSA * (2 * math.log(8 * steps) + delay)


class VisitSums(NamedTuple):
    """Sums of powers of max(1, N') over all episodes and steps of a run.

    N' is the number of observed visits, at the start of the episode, of the triple (h, s, a) that
    is visited at the step.
    """

    root: float
    """Sum of max(1, N')^(-1/2) over all steps, where N' is the number of observed visits."""
    inverse: float
    """Sum of max(1, N')^-1 over all steps, where N' is the number of observed visits."""


def visit_sums(
    shape: Shape, *, states: ArrayLike, actions: ArrayLike, delays: Sequence[int] | Ints
) -> VisitSums:
    """Return the sums of max(1, N')^-p over all steps of a run with given paths and delays.

    Lemma 3 bounds these sums. N' is the number of observed visits, at the start of the episode, of
    the triple (h, s, a) that is visited at the step. A visit is observed if the feedback of its
    episode is usable.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    states : array of int, shape (K, H) or (K, H + 1)
        States of each episode; the state after the last step is ignored.
    actions : array of int, shape (K, H)
        Actions of each episode.
    delays : sequence of int
        Delays tau_1, ..., tau_K in episodes, each at least 0.

    Returns
    -------
    VisitSums
        The sums for p = 1/2 and for p = 1.

    Examples
    --------
    >>> one = Shape(states=1, actions=1, horizon=1)
    >>> visit_sums(one, states=[[0]] * 4, actions=[[0]] * 4, delays=[0, 0, 0, 0]).inverse
    2.833...
    >>> visit_sums(one, states=[[0]] * 4, actions=[[0]] * 4, delays=[3, 3, 3, 3]).inverse
    4.0
    """
    from belated.theory.compiled import sum_visits  # imports numba, which is slow

    first_use = first_uses(delays)
    triples = triples_of(shape, states, actions, first_use.size)
    arrivals = np.argsort(first_use, kind="stable")
    size = shape.horizon * shape.states * shape.actions
    return VisitSums(*sum_visits(triples, first_use, arrivals, size).tolist())
