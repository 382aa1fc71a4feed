"""Optimistic Q-learning without a model (Jin, Allen-Zhu, Bubeck, Jordan 2018).

For each step (h, s, a, r, y) in the order of arrival, with t = N(h, s, a) after it,
alpha_t = (H + 1) / (H + t) and log = ln(S A T / delta):

    Q_h(s, a) <- (1 - alpha_t) Q_h(s, a) + alpha_t (r + V_{h+1}(y) + b_t)
    V_h(s)    <- min(H, max_a Q_h(s, a))

    UCB-H    b_t = c sqrt(H^3 log / t)
    UCB-B    b_t = (beta_t - (1 - alpha_t) beta_{t-1}) / (2 alpha_t),
             beta_t = min(c (sqrt(H (W_t + H) log / t) + sqrt(H^7 S A) log / t),
                          c sqrt(H^3 log / t))

with W_t the variance of the V_{h+1}(y) seen so far. The paper leaves c open; it is `scale` here,
1 by default. Without delay this is the online algorithm, step for step. With late feedback, the
steps of an episode wait in an inbox until the updater asks for a plan, and are then learnt in the
order of arrival; episodes that arrive together are learnt in the order they were played. Unlike a
plan from counts, the result depends on that order.

No regret bound under delay is known. Deviations: `range="H-h+1"` starts and caps Q lower, which is
still optimistic; `monotone` is not available.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.arguments import check_choice
from belated.compiled import inlined, kernel
from belated.episode import Floats, Shape
from belated.learner.bases.base import BackupRule, Base
from belated.learner.bases.epsilon_greedy import zero

BONUSES: Final = ("hoeffding", "bernstein")


class QParameters(NamedTuple):
    """Constants of the algorithm, in the order of the backup rule's constants."""

    tight: float  # 1 if V_h is capped at H - h + 1, 0 if at H
    bonus: float  # index into BONUSES
    c: float  # factor of the bonus
    log: float  # ln(S A T / delta)
    lower: float  # sqrt(H^7 S A) log


class Inbox(NamedTuple):
    """Steps that have arrived and are not learnt yet, in order of arrival."""

    row: NDArray[np.int64]  # (capacity) (h * S + s) * A + a
    successor: NDArray[np.int32]  # (capacity)
    reward: NDArray[np.float64]  # (capacity)
    used: NDArray[np.int64]  # (1) number of steps


class QMemory(NamedTuple):
    """Numbers kept for each row in addition to its Q."""

    n: NDArray[np.int64]  # t
    total: NDArray[np.float64]  # sum of V~_{h+1} at the successors, when they were observed
    squares: NDArray[np.float64]  # sum of their squares
    beta: NDArray[np.float64]  # beta_t of UCB-B


def empty_inbox(capacity: int) -> Inbox:
    """Return an empty inbox with room for `capacity` steps."""
    return Inbox(
        row=np.zeros(capacity, np.int64),
        successor=np.zeros(capacity, np.int32),
        reward=np.zeros(capacity),
        used=np.zeros(1, np.int64),
    )


def with_inbox_room(inbox: Inbox, steps: int) -> Inbox:
    """Return `inbox` with room for `steps` more steps, doubling its capacity as needed."""
    size = inbox.row.size
    if inbox.used[0] + steps <= size:
        return inbox
    larger = empty_inbox(2 * size + steps)
    for name in Inbox._fields:
        old = getattr(inbox, name)
        getattr(larger, name)[: old.size] = old
    return larger


def empty_memory(rows: int) -> QMemory:
    """Return the memory of `rows` rows without observations."""
    return QMemory(np.zeros(rows, np.int64), np.zeros(rows), np.zeros(rows), np.zeros(rows))


def initialise_values(constants: Floats, q: Floats, v: Floats) -> None:
    """Set `q`, (H, S * A), and `v`, (H + 1, S), to their upper limits under `constants`."""
    H = len(q)
    tight = bool(QParameters(*constants).tight)
    for h in range(H):
        q[h] = v[h] = float(H - h if tight else H)
    v[H] = 0.0


@inlined
def post(inbox: Inbox, row: int, successor: int, reward: float) -> None:
    """Append a step to an inbox, which must have room.

    Parameters
    ----------
    inbox : Inbox
        Changed in place.
    row, successor : int
        Row and next state of the step.
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
    """Return b_t of a row and update its memory.

    Parameters
    ----------
    p : QParameters
        Constants.
    memory : QMemory
        Changed in place; its count is t already.
    row : int
        Row that is learnt.
    v : float
        V~_{h+1} at the successor.
    rate : float
        alpha_t.
    H : int
        Horizon.

    Returns
    -------
    float
        Bonus b_t.
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
    """Update Q and V with every step of the inbox, and empty it (Algorithms 1 and 2).

    Parameters
    ----------
    constants : Floats
        QParameters.
    inbox : Inbox
        Steps to learn.
    memory : QMemory
        Changed in place.
    q, v : Floats
        (H, S * A) and (H + 1, S), changed in place.
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
    """Optimistic Q-learning.

    Parameters
    ----------
    bonus : {"hoeffding", "bernstein"}
        UCB-H or UCB-B.
    range : {"H", "H-h+1"}
        Initial value of Q and cap of V: as published, or tight.
    """

    bonus: Literal["hoeffding", "bernstein"] = "hoeffding"
    range: Literal["H", "H-h+1"] = "H"

    name = "q-learning"
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
