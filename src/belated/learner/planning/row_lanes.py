"""Backups of eight rows at a time, one row in each lane of a vector.

`back_up_lanes` gathers the inputs of the rows and calls the function that a backup has for them,
`RowTerms.back_up_lanes`. The results are bit-identical to those of the backup. Only rows with
a hint are computed in this way.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import LANES, address, dereference, inlined, load_lanes, store_lanes, view
from belated.learner.backup_call import BackupCall, Stage, compute_terms, read_stage

FIELDS: Final = 7
"""Number of inputs of each row, apart from the counts of its successors."""


class RowLanes(NamedTuple):
    """Observations of eight rows of the counts, and the inputs of their backup.

    If there are fewer rows, the other lanes contain any numbers.
    """

    n: Any  # N' of each row, lanes like all fields that are not arrays
    reward: Any  # R of each row
    mean: Any  # <P^, V~_{h+1}> of each row
    terms: tuple[Any, Any]  # terms of each row; see `RowTerms.compute`
    hint: tuple[Any, Any]  # hint of each row; see `RowTerms.has_hint`
    m: NDArray[np.float64]  # observations of state y at LANES * y + lane, 0 for unobserved states
    work: NDArray[np.float64]  # working memory of the same size


@inlined
def back_up_eight(constants: NDArray[np.float64], stage: Stage, rows: RowLanes) -> Any:
    """Return the rewards; `specialise` replaces this placeholder by `RowTerms.back_up_lanes`."""
    return rows.reward, rows.reward, rows.hint


def lane_memory(states: int) -> int:
    """Return the size of `BackupCall.lanes` for `states` states: counts, work and other inputs."""
    return (2 * states + FIELDS) * LANES


@inlined
def set_counts(call: BackupCall, row: int, lane: int, observed: bool) -> float:
    """Store the observations of each successor of a row in a lane, or zeros.

    Parameters
    ----------
    call : BackupCall
        Rows and their counts, with the memory for lanes.
    row, lane : int
        Index of the row in the counts, and its lane.
    observed : bool
        Whether to store the observations; if False, zeros are stored.

    Returns
    -------
    float
        Sum of M'(y) V~_{h+1}(y) over the successors y.
    """
    total = 0.0
    for k in range(call.start[row], call.start[row] + call.size[row]):
        y = int(call.succ[k])
        call.lanes[LANES * y + lane] = float(call.m[k]) if observed else 0.0
        total += call.m[k] * call.v[y]
    return total


@inlined
def load_rows(call: BackupCall, inputs: int) -> RowLanes:
    """Return the inputs of eight rows, which begin at position `inputs` of `call.lanes`."""
    work = address(view(call.lanes, inputs)[LANES * call.states :])
    return RowLanes(
        load_lanes(call.lanes, inputs),
        load_lanes(call.lanes, inputs + LANES),
        load_lanes(call.lanes, inputs + 2 * LANES),
        (
            load_lanes(call.lanes, inputs + 3 * LANES),
            load_lanes(call.lanes, inputs + 4 * LANES),
        ),
        (
            load_lanes(call.lanes, inputs + 5 * LANES),
            load_lanes(call.lanes, inputs + 6 * LANES),
        ),
        call.lanes,
        work,
    )


def back_up_lanes(pointer: BackupCall) -> None:
    """Compute Q_h(s, a) of the rows in `call.rows` that have a hint, with their levels and hints.

    The results are stored where `back_up_rows` stores them; the value of a row that it must compute
    is NaN. The terms of the rows are updated.

    Parameters
    ----------
    pointer : BackupCall
        Pointer to the `call`. The counts in `call.lanes` must be 0, and are 0 afterwards.
    """
    call = dereference(pointer)
    constants, stage = view(call.constants, call.constants_size), read_stage(call)
    count = call.states * call.actions
    inputs = 2 * LANES * call.states
    end = 0
    while end < call.row_count:
        # Gather the inputs of the next eight rows with a hint.
        first = end
        used = 0
        while end < call.row_count and used < LANES:
            at = int(call.rows[end])
            call.out[end] = math.nan
            end += 1
            if call.hints[at] == -math.inf:
                continue
            n = call.n[call.first + at]
            slot = n & (call.term_slots - 1)
            if call.term_n[slot] != n:
                call.first_terms[slot], call.second_terms[slot] = compute_terms(constants, n)
                call.term_n[slot] = n
            to = inputs + used
            call.lanes[to] = float(n)
            call.lanes[to + LANES] = call.rewards[at]
            call.lanes[to + 2 * LANES] = set_counts(call, call.first + at, used, True) / n
            call.lanes[to + 3 * LANES] = call.first_terms[slot]
            call.lanes[to + 4 * LANES] = call.second_terms[slot]
            call.lanes[to + 5 * LANES] = call.hints[at]
            call.lanes[to + 6 * LANES] = call.hints[count + at]
            used += 1
        if used == 0:
            continue
        # Compute all lanes; those beyond `used` are not read.
        q, level, hint = back_up_eight(constants, stage, load_rows(call, inputs))
        store_lanes(call.lanes, inputs, q)
        store_lanes(call.lanes, inputs + LANES, level)
        store_lanes(call.lanes, inputs + 2 * LANES, hint[0])
        store_lanes(call.lanes, inputs + 3 * LANES, hint[1])
        # Store the results of the rows, and remove their counts.
        lane = 0
        for i in range(first, end):
            at = int(call.rows[i])
            if call.hints[at] == -math.inf:
                continue
            set_counts(call, call.first + at, lane, False)
            call.out[i] = call.lanes[inputs + lane]
            if not math.isnan(call.out[i]):
                if call.has_levels:
                    call.levels[at] = call.lanes[inputs + LANES + lane]
                call.hints[at] = call.lanes[inputs + 2 * LANES + lane]
                call.hints[count + at] = call.lanes[inputs + 3 * LANES + lane]
            lane += 1
