"""Backups of the rows with two successors, several at a time.

`back_up_pairs` gathers the inputs of these rows first, each in an array of its own, so that the
compiler can process several rows with one instruction. It is used if a backup has a function for
such rows, `RowTerms.back_up_pair`. The results are bit-identical to those of the backup.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from belated.compiled import load_tuple
from belated.learner.backup_call import (
    BackupCall,
    Row,
    Stage,
    back_up_pair,
    compute_terms,
)

LANES: Final = 4
"""The number of rows computed is rounded up to a multiple of this number, the size of a vector on
many processors, so that no rows remain that the compiler would process one by one. The results of
the additional rows are not used. With vectors of eight numbers (AVX-512), four rows may remain;
multiples of eight were not faster."""

FIELDS: Final = 8
"""Number of inputs of each row."""

MIN_PAIRS: Final = 3
"""Smallest number of rows with two successors that are computed several at a time. One or two rows
take as long as a full set of lanes, and the time is lost if the backup must compute them again."""

POSITIONS: Final[Any] = (0, 1)
"""Indices of the successors, passed to the backup as `row.succ`."""


def pair_memory(rows: int) -> int:
    """Return the size of `BackupCall.lanes` for a stage of `rows` rows: their values and inputs."""
    return (1 + FIELDS) * (rows + LANES)


def back_up_pairs(call: BackupCall, constants: NDArray[np.float64], stage: Stage) -> bool:
    """Compute Q_h(s, a) of the rows in `call.rows` that have exactly two successors.

    The values are stored at the beginning of `call.lanes`, in the order of the rows; a value is NaN
    if the backup must compute it. The terms of these rows are updated. Nothing is computed if there
    are fewer than `MIN_PAIRS` such rows.

    Parameters
    ----------
    call : BackupCall
        Rows and their counts.
    constants : NDArray
        Constants of the backup.
    stage : Stage
        Inputs of the backup that are common to all rows.

    Returns
    -------
    bool
        Whether the values were computed.
    """
    if call.row_count < MIN_PAIRS:
        return False
    # Gather the inputs.
    stride = call.states * call.actions + LANES
    found = 0
    for i in range(call.row_count):
        at = int(call.rows[i])
        j = call.first + at
        if call.size[j] == 2:
            n = call.n[j]
            slot = n & (call.term_slots - 1)
            if call.term_n[slot] != n:
                call.first_terms[slot], call.second_terms[slot] = compute_terms(constants, n)
                call.term_n[slot] = n
            k = call.start[j]
            to = stride + found
            call.lanes[to] = stage.v[call.succ[k]]
            call.lanes[to + stride] = stage.v[call.succ[k + 1]]
            call.lanes[to + 2 * stride] = call.m[k]
            call.lanes[to + 3 * stride] = call.m[k + 1]
            call.lanes[to + 4 * stride] = n
            call.lanes[to + 5 * stride] = call.rewards[at]
            call.lanes[to + 6 * stride] = call.first_terms[slot]
            call.lanes[to + 7 * stride] = call.second_terms[slot]
            found += 1
    if found < MIN_PAIRS:
        return False
    # Compute the values.
    for i in range((found + LANES - 1) // LANES * LANES):
        v, m, n, reward, terms = (
            load_tuple(call.lanes, stride + i, stride, 2),
            load_tuple(call.lanes, 3 * stride + i, stride, 2),
            call.lanes[5 * stride + i],
            call.lanes[6 * stride + i],
            load_tuple(call.lanes, 7 * stride + i, stride, 2),
        )
        pair = Stage(
            call.h,
            call.horizon,
            v,
            stage.visits,
            call.top,
            call.low,
            stage.order,
            call.seed,
            call.plan,
            call.observed,
        )
        row = Row(0, 0, n, reward, 0, 2, POSITIONS, m, 0)
        call.lanes[i] = back_up_pair(constants, pair, row, terms)
    return True
