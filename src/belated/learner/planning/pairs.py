"""Backups of the rows with two successors, eight at a time.

`back_up_pairs` gathers the inputs of these rows first, each in an array of its own, so that the
compiler can process eight rows with one instruction. It is used if a backup has a function for
such rows, `RowTerms.back_up_pair`. The results are bit-identical to those of the backup.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from belated.compiled import LANES, dereference, load_tuple, store_output, view
from belated.learner.backup_call import (
    BackupCall,
    Row,
    Stage,
    back_up_pair,
    compute_terms,
)

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


def back_up_pair_block(pointer: BackupCall, begin: int) -> None:
    """Compute Q_h(s, a) of `LANES` rows with two successors, whose inputs have been gathered.

    This function is not inlined into the loop over blocks, where the compiler would load all
    constants of the backup into vectors first. This makes little difference (1 % on chain 30).

    Parameters
    ----------
    pointer : BackupCall
        Pointer to the `call`; the values are stored in `call.lanes`.
    begin : int
        Position of the first row among the rows with two successors.
    """
    call = dereference(pointer)
    constants = view(call.constants, call.constants_size)
    visits, order = view(call.visits, call.states), view(call.order, call.states)
    stride = call.states * call.actions + LANES
    for i in range(begin, begin + LANES):  # of known length, so that no row is computed alone
        pair = Stage(
            call.h,
            call.horizon,
            load_tuple(call.lanes, stride + i, stride, 2),
            visits,
            call.top,
            call.low,
            order,
            call.seed,
            call.plan,
            call.observed,
        )
        m = load_tuple(call.lanes, 3 * stride + i, stride, 2)
        n, reward = load_tuple(call.lanes, 5 * stride + i, stride, 2)
        row = Row(0, 0, n, reward, 0, 2, POSITIONS, m, 0)
        terms = load_tuple(call.lanes, 7 * stride + i, stride, 2)
        # Values are stored before position `stride`, and inputs are loaded from there on.
        store_output(call.lanes, i, back_up_pair(constants, pair, row, terms))


def back_up_pairs(
    pointer: BackupCall, call: BackupCall, constants: NDArray[np.float64], stage: Stage
) -> bool:
    """Compute Q_h(s, a) of the rows in `call.rows` that have exactly two successors.

    The values are stored at the beginning of `call.lanes`, in the order of the rows; a value is NaN
    if the backup must compute it. The terms of these rows are updated. Nothing is computed if there
    are fewer than `MIN_PAIRS` such rows.

    Parameters
    ----------
    pointer : BackupCall
        Pointer to the `call`.
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
    for block in range((found + LANES - 1) // LANES):
        back_up_pair_block(pointer, block * LANES)
    return True
