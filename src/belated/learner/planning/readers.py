"""Rows that read the value of a state, as the bits of an integer.

In a stage of at most `MAX_MASK_ROWS` rows, a set of rows is represented by the bits of an integer:
bit s * A + a. The rows with a state among their observed successors must be computed again when the
value of this state changes. They are found by a few operations on bits, in place of the linked
lists in `Counts`. Each observation of a new successor is added; only the counts of a snapshot are
searched.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Bools
from belated.learner.counts import Counts

MAX_MASK_ROWS: Final = 64
"""Largest number of rows of a stage that can be represented by the bits of an integer."""


class Readers(NamedTuple):
    """Sets of the rows that have each state as an observed successor."""

    rows: NDArray[np.int64]  # (stages, S) bit s * A + a for each row; (stages, 0) if not in use
    valid: Bools  # (1) whether `find_readers` has searched the first counts of the learner


def empty_readers(stages: int, rows: int, states: int) -> Readers:
    """Return the sets of counts without observations.

    `stages` is the number of stages of the counts, `rows` the number of rows of a stage, and
    `states` the number of states. The sets are not used if there are more than MAX_MASK_ROWS rows.
    """
    used = states if rows <= MAX_MASK_ROWS else 0
    return Readers(np.zeros((stages, used), np.int64), np.zeros(1, np.bool_))


@inlined
def add_reader(readers: Readers, stage: int, successor: int, at: int) -> None:
    """Add a row to the set of a successor, unless the sets are not used.

    Parameters
    ----------
    readers : Readers
        Changed in place.
    stage : int
        Stage of the row.
    successor : int
        State that was observed after the row.
    at : int
        Number of the row within its stage, s * A + a.
    """
    if readers.rows.size > 0:
        readers.rows[stage, successor] |= np.int64(1) << np.int64(at)


@kernel
def find_readers(readers: Readers, counts: Counts) -> None:
    """Find the sets of all states in `counts`, for counts that were not added one by one."""
    stages = readers.rows.shape[0]
    rows = counts.n.size // stages
    readers.rows[:] = 0
    for row in range(counts.n.size):
        first = counts.start[row]
        for j in range(first, first + counts.size[row]):
            add_reader(readers, row // rows, counts.succ[j], row % rows)
    readers.valid[0] = True
