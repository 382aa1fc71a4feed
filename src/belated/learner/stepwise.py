"""Learning step by step: feedback waits in an inbox and is worked off in the order it came.

For bases that keep more than counts, such as Q-learning. The protocol is the same as for those
that plan: take in feedback, and make a policy of it when asked.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.buckets import Buckets, put
from belated.compiled import inlined, kernel
from belated.episode import Floats, Shape
from belated.learner.planning import Table, Ties, choose, peak

HOEFFDING: Final = 0.0  # as QLearning numbers its bonuses


class Inbox(NamedTuple):
    """Steps that have come and are not learnt yet, in the order they came."""

    row: NDArray[np.int64]  # (h * S + s) * A + a
    successor: NDArray[np.int32]
    reward: NDArray[np.float64]
    used: NDArray[np.int64]  # (1)


class Memory(NamedTuple):
    """What Q-learning keeps of each row beside its Q."""

    n: NDArray[np.int64]
    total: NDArray[np.float64]  # of V~_{h+1} at the successors, as they were
    squares: NDArray[np.float64]
    beta: NDArray[np.float64]


def inbox(room: int) -> Inbox:
    """An empty inbox."""
    return Inbox(
        np.zeros(room, np.int64), np.zeros(room, np.int32), np.zeros(room), np.zeros(1, np.int64)
    )


def roomier(old: Inbox, steps: int) -> Inbox:
    """The same with room for so many steps more, and for as many again as it has."""
    if old.used[0] + steps <= old.row.size:
        return old
    new = inbox(2 * old.row.size + steps)
    room = old.row.size
    new.row[:room] = old.row
    new.successor[:room] = old.successor
    new.reward[:room] = old.reward
    new.used[:] = old.used
    return new


def memory(rows: int) -> Memory:
    """Of nothing."""
    return Memory(np.zeros(rows, np.int64), np.zeros(rows), np.zeros(rows), np.zeros(rows))


@inlined
def post(box: Inbox, row: int, successor: int, reward: float) -> None:
    """Put a step in; there must be room."""
    at = box.used[0]
    box.row[at] = row
    box.successor[at] = successor
    box.reward[at] = reward
    box.used[0] = at + 1


def begin(shape: Shape, constants: Floats, table: Table) -> None:
    """Before anything is learnt: Q and V as high as they can be."""
    H = shape.horizon
    tight = bool(constants[0])
    for h in range(H):
        most = float(H - h if tight else H)
        table.q[h] = most
        table.v[h] = most
    table.v[H] = 0.0


@kernel
def learn(
    constants: Floats, box: Inbox, kept: Memory, ties: Ties, table: Table, changed: Buckets
) -> None:
    """Work off the inbox (Jin et al. 2018, Algorithms 1 and 2), then take the greedy policy.

    The cells h * S + s whose action changes are put into `changed`, by step.
    """
    H, S = table.actions.shape
    A = table.q.shape[1] // S
    tight, kind, c, log, lower = constants
    broad = float(H * H * H) * log
    for i in range(box.used[0]):
        row = box.row[i]
        h = row // (S * A)
        cell = row - h * S * A
        s = cell // A
        kept.n[row] += 1
        t = kept.n[row]
        rate = (H + 1.0) / (H + t)
        v = table.v[h + 1, box.successor[i]]
        if kind == HOEFFDING:
            bonus = c * math.sqrt(broad / t)
        else:
            kept.total[row] += v
            kept.squares[row] += v * v
            centre = kept.total[row] / t
            spread = max(0.0, kept.squares[row] / t - centre * centre)
            narrow = math.sqrt(H * (spread + H) * log / t) + lower / t
            beta = c * min(narrow, math.sqrt(broad / t))
            bonus = (beta - (1.0 - rate) * kept.beta[row]) / (2.0 * rate)
            kept.beta[row] = beta
        table.q[h, cell] = (1.0 - rate) * table.q[h, cell] + rate * (box.reward[i] + v + bonus)
        most = float(H - h) if tight else float(H)
        best = peak(table.q, h, s, A)
        table.v[h, s] = min(most, table.q[h, s * A + best])
    box.used[0] = 0
    for h in range(H):
        for s in range(S):
            a = choose(table.q, h, s, A, peak(table.q, h, s, A), ties)
            if a != table.actions[h, s]:
                table.actions[h, s] = a
                put(changed, h, h * S + s)
