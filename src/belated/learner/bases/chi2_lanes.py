"""Backups of chi2-UCRL for eight rows at a time; see `belated.learner.planning.row_lanes`.

Most of the time of a backup is spent on sums over all states, whose terms must be added in the
order of the states. In lanes, one instruction adds a term to the sums of eight rows.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.compiled import (
    LANES,
    broadcast,
    inlined,
    load_lanes,
    max_lanes,
    min_lanes,
    select,
    sqrt_lanes,
    store_lanes,
)
from belated.learner.backup import RowLanes, Stage, cap, rest
from belated.learner.bases.chi2_ball import MIN_DISTANCE, MIN_SQUARES


@inlined
def back_up_lanes_over_chi2_ball(
    constants: NDArray[np.float64], stage: Stage, rows: RowLanes
) -> tuple[Any, Any, tuple[Any, Any]]:
    """Return Q_h(s, a), the level and the hint of eight rows, with the support of their hints.

    The support of a row is the set of the states that its hint selects, as in
    `max_over_chi2_ball`. The value of a row is NaN if this is not certainly the support of the
    maximiser. It never is if the ball reaches the best states: the squared deviations of the values
    in the support are then 0, or so small that every state is within the margin of its zero.

    Parameters
    ----------
    constants : NDArray
        Not read.
    stage : Stage
        Values V of the next step.
    rows : RowLanes
        Rows with a hint; `rows.terms` holds the radius of the ball of each.

    Returns
    -------
    tuple[Lanes, Lanes, tuple[Lanes, Lanes]]
        Optimistic values, levels, and hints for the next backup.
    """
    zeros, ones, top = broadcast(0.0), broadcast(1.0), broadcast(stage.top)
    n, centre = rows.n, rows.mean
    # Moments of x = V - centre over the states in the support. `distance` is x minus the threshold
    # of a state; `above` and `below` are the distances closest to 0 inside and outside the support.
    limit, limit_observed = max_lanes(zeros, rows.hint[0] - centre), rows.hint[1] - centre
    total = weighted = kept = kept_m = zeros
    above, below = broadcast(math.inf), broadcast(-math.inf)
    for y in range(stage.v.size):
        m = load_lanes(rows.m, LANES * y)
        x = broadcast(stage.v[y]) - centre
        is_observed = m >= ones
        distance = x - select(is_observed, limit_observed, limit)
        is_kept = distance >= zeros
        weight = select(is_kept, max_lanes(m, ones), zeros)
        store_lanes(rows.work, LANES * y, weight)
        observed = select(is_observed, weight, zeros)
        total = total + weight
        weighted = weighted + weight * x
        kept = kept + observed * x
        kept_m = kept_m + observed
        above = min_lanes(above, select(is_kept, distance, broadcast(math.inf)))
        below = max_lanes(below, select(is_kept, broadcast(-math.inf), distance))
    mean_x = weighted / total
    squares = zeros
    for y in range(stage.v.size):
        gap = broadcast(stage.v[y]) - centre - mean_x
        squares = squares + load_lanes(rows.work, LANES * y) * (gap * gap)
    # Maximiser over these states, as in `max_over_chi2_ball`.
    removed = n - kept_m
    remaining = rows.terms[0] * n - removed - removed * removed / total
    t = sqrt_lanes(remaining / squares)
    gain = (kept + removed * mean_x + t * squares) / n
    zero = mean_x - removed / (total * t)
    zero_observed = zero - ones / t
    # The support is certain if no state is close to its zero, or between its zero and its limit.
    margin = broadcast(MIN_DISTANCE) * (top - centre)
    shift, shift_observed = zero - limit, zero_observed - limit_observed
    is_certain = (
        (zeros < remaining)
        & (squares >= broadcast(MIN_SQUARES))
        & (above >= max_lanes(shift, shift_observed) + margin)
        & (below < min_lanes(shift, shift_observed) - margin)
    )
    # Level, as in `level_of_support`, and value.
    low = min_lanes(limit, zero - margin)
    level = centre + (low - margin)
    level = select(level - centre < low, max_lanes(centre, level), centre)
    best = max_lanes(centre, min_lanes(top, centre + gain))
    bonus = min_lanes(broadcast(rest(stage)), best - centre)
    q = min_lanes(broadcast(cap(stage)), rows.reward + centre + bonus)
    hint = centre + zero, centre + zero_observed
    return select(is_certain, q, broadcast(math.nan)), level, hint
