"""Rows that read the value of a state, as the bits of an integer.

In a stage of at most `MAX_MASK_ROWS` rows, a set of rows is represented by the bits of an integer:
bit s * A + a. The rows with a state among their observed successors must be computed again when the
value of this state changes. They are found by a few operations on bits, in place of the linked
lists in `Counts`. Each plan first adds the successors that were observed since the last one.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import kernel
from belated.learner.counts import Counts

MAX_MASK_ROWS: Final = 64
"""Largest number of rows of a stage that can be represented by the bits of an integer."""


class Readers(NamedTuple):
    """Sets of the rows that have each state as an observed successor."""

    rows: NDArray[np.int64]  # (stages, S) bit s * A + a for each row; (stages, 0) if not in use
    links: NDArray[np.int64]  # (1) number of the links in `Counts` that are included


def empty_readers(stages: int, rows: int, states: int) -> Readers:
    """Return the sets of counts without observations.

    `stages` is the number of stages of the counts, `rows` the number of rows of a stage, and
    `states` the number of states. The sets are not used if there are more than MAX_MASK_ROWS rows.
    """
    used = states if rows <= MAX_MASK_ROWS else 0
    return Readers(np.zeros((stages, used), np.int64), np.zeros(1, np.int64))


@kernel
def add_readers(readers: Readers, counts: Counts) -> None:
    """Add the successors that were first observed after the last call to the sets.

    Parameters
    ----------
    readers : Readers
        Changed in place. The sets must be in use.
    counts : Counts
        Counts of the same learner as in all earlier calls.
    """
    rows = counts.n.size // readers.rows.shape[0]
    for link in range(readers.links[0], counts.used[1]):
        row = counts.link_row[link]
        first = counts.start[row]
        for j in range(first, first + counts.size[row]):
            readers.rows[row // rows, counts.succ[j]] |= np.int64(1) << np.int64(row % rows)
    readers.links[0] = counts.used[1]
