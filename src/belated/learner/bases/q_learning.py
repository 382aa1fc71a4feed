"""Optimistic Q-learning without a model (Jin, Allen-Zhu, Bubeck, Jordan 2018).

Steps (h, s, a, r, y), where y is the next state, are learnt in order of arrival. Let t be the
number of steps learnt at (h, s, a), including the current step, alpha_t = (H + 1) / (H + t) and
log = ln(S A T / delta). Each step updates

    Q_h(s, a) <- (1 - alpha_t) Q_h(s, a) + alpha_t (r + V_{h+1}(y) + b_t)
    V_h(s)    <- min(H, max_a Q_h(s, a))

    UCB-H    b_t = c sqrt(H^3 log / t)
    UCB-B    b_t = (beta_t - (1 - alpha_t) beta_{t-1}) / (2 alpha_t),
             beta_t = min(c (sqrt(H (W_t + H) log / t) + sqrt(H^7 S A) log / t),
                          c sqrt(H^3 log / t))

where W_t is the variance of the t values V_{h+1}(y) used at (h, s, a). Jin et al. do not specify c;
it is the option `scale`, 1 by default. Without delay this is their online algorithm, step for step.
With late feedback, steps that have arrived are stored in a queue, the inbox, until the updater
requires a plan. They are then learnt in order of arrival; episodes that arrive together are learnt
in the order in which they were played. Unlike a plan from counts, the result depends on this order.

No regret bound under delay is known. Deviations from the publication: `range="H-h+1"` initializes Q
and caps V at a lower value, which is still optimistic; the option `monotone` is not available.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.check import check_choice
from belated.compiled import inlined, kernel
from belated.episode import Floats, Shape
from belated.learner.bases.base import BackupRule, Base, Proof
from belated.learner.bases.epsilon_greedy import zero

BONUSES: Final = ("hoeffding", "bernstein")


class QParameters(NamedTuple):
    """Constants of Q-learning, in the order in which the backup rule stores them."""

    tight: float  # 1 if V_h is capped at H - h + 1, 0 if at H
    bonus: float  # index into BONUSES
    c: float  # factor of the bonus
    log: float  # ln(S A T / delta)
    lower: float  # sqrt(H^7 S A) times `log`


class Inbox(NamedTuple):
    """Queue of steps that have arrived but have not been learnt, in order of arrival."""

    row: NDArray[np.int64]  # (capacity) index (h * S + s) * A + a
    successor: NDArray[np.int32]  # (capacity) next state
    reward: NDArray[np.float64]  # (capacity)
    used: NDArray[np.int64]  # (1) number of steps in the queue


class QMemory(NamedTuple):
    """Statistics of each row (h, s, a) that Q-learning stores in addition to Q_h(s, a)."""

    n: NDArray[np.int64]  # t, the number of steps learnt
    total: NDArray[np.float64]  # sum of V_{h+1} at the successors, each when it was learnt
    squares: NDArray[np.float64]  # sum of the squares of these V_{h+1}
    beta: NDArray[np.float64]  # beta_t of UCB-B


def empty_inbox(capacity: int) -> Inbox:
    """Return an empty queue of steps with the given `capacity`."""
    return Inbox(
        row=np.zeros(capacity, np.int64),
        successor=np.zeros(capacity, np.int32),
        reward=np.zeros(capacity),
        used=np.zeros(1, np.int64),
    )


def with_inbox_room(inbox: Inbox, steps: int) -> Inbox:
    """Return `inbox`, or a copy with more capacity if there is no space for `steps` more steps.

    The capacity of a copy is twice the old capacity plus `steps`.
    """
    size = inbox.row.size
    if inbox.used[0] + steps <= size:
        return inbox
    larger = empty_inbox(2 * size + steps)
    for name in Inbox._fields:
        old = getattr(inbox, name)
        getattr(larger, name)[: old.size] = old
    return larger


def empty_memory(rows: int) -> QMemory:
    """Return the statistics that Q-learning stores for `rows` rows, all zero."""
    return QMemory(np.zeros(rows, np.int64), np.zeros(rows), np.zeros(rows), np.zeros(rows))


def initialise_values(constants: Floats, q: Floats, v: Floats) -> None:
    """Set all values to their upper limits, in place.

    The limit at step h, numbered from 0, is H - h if the constant `tight` is 1, and H otherwise.

    Parameters
    ----------
    constants : Floats
        Fields of `QParameters`.
    q : Floats
        Values Q_h(s, a) of shape (H, S * A); changed in place.
    v : Floats
        Values V_h(s) of shape (H + 1, S); changed in place. The last row is set to 0.
    """
    H = len(q)
    tight = bool(QParameters(*constants).tight)
    for h in range(H):
        q[h] = v[h] = float(H - h if tight else H)
    v[H] = 0.0


@inlined
def post(inbox: Inbox, row: int, successor: int, reward: float) -> None:
    """Append a step to the queue `inbox`, which must have free capacity.

    Parameters
    ----------
    inbox : Inbox
        Queue of steps to learn; changed in place.
    row : int
        Index (h * S + s) * A + a of the step, state and action.
    successor : int
        Next state.
    reward : float
        Reward of the step.
    """
    at = inbox.used[0]
    inbox.row[at] = row
    inbox.successor[at] = successor
    inbox.reward[at] = reward
    inbox.used[0] = at + 1


@inlined
def bonus_of(p: QParameters, memory: QMemory, row: int, v: float, rate: float, H: int) -> float:
    """Return the bonus b_t of a row and update the statistics of the row.

    Parameters
    ----------
    p : QParameters
        Constants of Q-learning.
    memory : QMemory
        Statistics of all rows, changed in place. The count t of the row already includes the step
        that is being learnt.
    row : int
        Index of the row.
    v : float
        V_{h+1} at the successor of the step.
    rate : float
        Learning rate alpha_t.
    H : int
        Horizon.

    Returns
    -------
    float
        The bonus.
    """
    t = memory.n[row]
    broad = float(H * H * H) * p.log
    if p.bonus == 0.0:  # hoeffding
        return p.c * math.sqrt(broad / t)
    memory.total[row] += v
    memory.squares[row] += v * v
    centre = memory.total[row] / t
    spread = max(0.0, memory.squares[row] / t - centre * centre)
    narrow = math.sqrt(H * (spread + H) * p.log / t) + p.lower / t
    beta = p.c * min(narrow, math.sqrt(broad / t))
    bonus = (beta - (1.0 - rate) * memory.beta[row]) / (2.0 * rate)
    memory.beta[row] = beta
    return bonus


@kernel
def learn(constants: Floats, inbox: Inbox, memory: QMemory, q: Floats, v: Floats) -> None:
    """Update Q and V with every step in the queue `inbox`, then empty the queue.

    These are Algorithms 1 and 2 of Jin et al. 2018.

    Parameters
    ----------
    constants : Floats
        Fields of `QParameters`.
    inbox : Inbox
        Queue of steps to learn; changed in place.
    memory : QMemory
        Statistics of all rows; changed in place.
    q : Floats
        Values Q_h(s, a) of shape (H, S * A); changed in place.
    v : Floats
        Values V_h(s) of shape (H + 1, S); changed in place.
    """
    H, S = v.shape[0] - 1, v.shape[1]
    A = q.shape[1] // S
    p = QParameters(constants[0], constants[1], constants[2], constants[3], constants[4])
    for i in range(inbox.used[0]):
        row = inbox.row[i]
        h = row // (S * A)
        cell = row - h * S * A
        s = cell // A
        memory.n[row] += 1
        rate = (H + 1.0) / (H + memory.n[row])
        v_next = v[h + 1, inbox.successor[i]]
        bonus = bonus_of(p, memory, row, v_next, rate, H)
        q[h, cell] = (1.0 - rate) * q[h, cell] + rate * (inbox.reward[i] + v_next + bonus)
        best = q[h, s * A]
        for a in range(1, A):
            best = max(best, q[h, s * A + a])
        v[h, s] = min(float(H - h) if p.tight else float(H), best)
    inbox.used[0] = 0


@dataclass(frozen=True)
class QLearning(Base):
    """Base algorithm: optimistic Q-learning (Jin, Allen-Zhu, Bubeck, Jordan 2018).

    Parameters
    ----------
    bonus : {"hoeffding", "bernstein"}
        Formula of the bonus. "hoeffding" is the published variant UCB-H, "bernstein" is UCB-B.
    range : {"H", "H-h+1"}
        Initial value of Q and upper limit of V at step h. "H" is as published; "H-h+1" is the
        largest possible sum of rewards from step h on.
    delta, scale, ties
        See `Base`.
    monotone : bool
        Must be False.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=QLearning(scale=0.1), **setting).total_regret, 1)
    45.8
    """

    bonus: Literal["hoeffding", "bernstein"] = "hoeffding"
    range: Literal["H", "H-h+1"] = "H"

    name = "q-learning"
    proofs = (
        Proof(
            "",
            note="Jin et al. 2018 prove optimism without delay for a large enough factor c of the "
            "bonus, which they do not state; `scale` is c",
        ),
    )
    stepwise = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("bonus", self.bonus, BONUSES)
        check_choice("range", self.range, ("H", "H-h+1"))
        if self.monotone:
            raise ValueError("monotone must be False: Q-learning has no plans to compare.")

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        H, S, A = shape.table
        log = math.log(S * A * H * episodes / self.delta)
        parameters = QParameters(
            tight=float(self.range == "H-h+1"),
            bonus=float(BONUSES.index(self.bonus)),
            c=self.scale,
            log=log,
            lower=math.sqrt(float(H**7 * S * A)) * log,
        )
        return BackupRule(zero, np.array(parameters), reads="successors")
