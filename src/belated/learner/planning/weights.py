"""Backups of all rows of pooled counts from random weights of the states, which a plan draws once.

With pooled counts, posterior sampling uses the same transition probabilities at every step. They
are drawn at the last step, which is the first that a plan computes, and stored for the other steps.
The results are bit-identical to those of `back_up_rows`, which draws them again at each step.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, view
from belated.learner.backup_call import BackupCall, Row, Stage, read_row

MAX_WEIGHTS: Final = 1 << 24
"""Largest number of weights, S * A * S, that a learner stores: 128 MiB of memory."""


class RowWeights(NamedTuple):
    """Backup divided into two steps: random weights of the states, and Q computed from two sums.

    With pooled counts, the weights of a row are drawn once for each plan and used at every step.
    They must not depend on the step. Both functions must be compiled, and their result must be
    bit-identical to that of the backup.
    """

    draw: Callable[..., None]
    """Function of (constants, stage, row, weights) that stores the weight of each state y, as a
    successor of the row, in `weights[y]`."""

    back_up: Callable[..., float]
    """Function of (constants, stage, row, total, value) that returns Q_h(s, a) of the row. `total`
    is the sum of its weights, and `value` the sum of weight times V~_{h+1}, both in the order of
    the states."""


@inlined
def draw_weights(
    constants: NDArray[np.float64], stage: Stage, row: Row, weights: NDArray[np.float64]
) -> None:
    """Do nothing; `specialise` replaces this placeholder by `RowWeights.draw`."""


@inlined
def back_up_with_sums(
    constants: NDArray[np.float64], stage: Stage, row: Row, total: float, value: float
) -> float:
    """Return 0; `specialise` replaces this placeholder by `RowWeights.back_up`."""
    return 0.0


@inlined
def sum_products(call: BackupCall) -> None:
    """Store the sum of weight(y) V~_{h+1}(y) over all states y, of each row, in `call.out`.

    The terms of a sum are added in the order of the states. The sums of four rows are computed
    at the same time, because an addition takes several cycles and waits for the one before it.
    """
    S, v, w = call.states, call.v, call.weights
    count = call.states * call.actions
    fours = count - count % 4
    for i in range(0, fours, 4):
        first, second, third, fourth = i * S, (i + 1) * S, (i + 2) * S, (i + 3) * S
        a = b = c = d = 0.0
        for y in range(S):
            a += w[first + y] * v[y]
            b += w[second + y] * v[y]
            c += w[third + y] * v[y]
            d += w[fourth + y] * v[y]
        call.out[i], call.out[i + 1], call.out[i + 2], call.out[i + 3] = a, b, c, d
    for i in range(fours, count):
        total = 0.0
        for y in range(S):
            total += w[i * S + y] * v[y]
        call.out[i] = total


def back_up_all(call: BackupCall, constants: NDArray[np.float64], stage: Stage) -> None:
    """Compute Q_h(s, a) of all rows of pooled counts from weights; see `RowWeights`.

    `call` must be for all rows, and the steps of a plan must be computed in descending order.
    `constants` and `stage` are the arguments of the backup.
    """
    S, count = call.states, call.states * call.actions
    if call.h == call.horizon - 1:
        for i in range(count):
            weights = view(call.weights, (i + 1) * S)[i * S :]
            draw_weights(constants, stage, read_row(call, i), weights)
            total = 0.0
            for y in range(S):
                total += weights[y]
            call.totals[i] = total
    sum_products(call)
    for i in range(count):
        row = read_row(call, i)
        call.out[i] = back_up_with_sums(constants, stage, row, call.totals[i], call.out[i])
