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
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from belated.check import check_finite, check_range
from belated.compiled import dereference, inlined
from belated.episode import Floats, Shape
from belated.learner.bases.base import NO_RULE, BackupRule, Base, Hooks, OwnState, Proof
from belated.learner.planning.greedy import choose_actions, first_best
from belated.worklist import put

if TYPE_CHECKING:
    from belated.learner.state import LearnerRecord

BONUSES: Final = ("hoeffding", "bernstein")


class QParameters(NamedTuple):
    """Constants of Q-learning, in the order in which the backup rule stores them."""

    tight: float  # 1 if V_h is capped at H - h + 1, 0 if at H
    bonus: float  # index into BONUSES
    c: float  # factor of the bonus
    log: float  # ln(S A T / delta)
    lower: float  # sqrt(H^7 S A) times `log`


class Memory(NamedTuple):
    """Statistics of each row (h, s, a), besides Q_h(s, a): parts of `OwnState.numbers`."""

    n: Floats  # t, the number of steps learnt
    total: Floats  # sum of V_{h+1} at the successors, each when it was learnt
    squares: Floats  # sum of the squares of these V_{h+1}
    beta: Floats  # beta_t of UCB-B


# Columns of `OwnState.queue`:
ROW: Final = 0  # index (h * S + s) * A + a
SUCCESSOR: Final = 1  # next state
REWARD: Final = 2


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


def absorb_step(pointer: "LearnerRecord", row: int, successor: int, reward: float) -> int:
    """Append a step to the queue of steps to learn; see `Hooks.absorb`."""
    own = dereference(pointer).state.own
    at = own.queued[0]
    own.queue[at, ROW] = row
    own.queue[at, SUCCESSOR] = successor
    own.queue[at, REWARD] = reward
    own.queued[0] = at + 1
    return 0


@inlined
def memory_of(numbers: Floats) -> Memory:
    """Return the statistics in the `numbers` of the base's own state."""
    rows = numbers.size // 4
    return Memory(
        numbers[:rows],
        numbers[rows : 2 * rows],
        numbers[2 * rows : 3 * rows],
        numbers[3 * rows :],
    )


@inlined
def bonus_of(p: QParameters, memory: Memory, row: int, v: float, rate: float, H: int) -> float:
    """Return the bonus b_t of a row and update the statistics of the row.

    Parameters
    ----------
    p : QParameters
        Constants of Q-learning.
    memory : Memory
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


def learn_steps(pointer: "LearnerRecord", plan: int) -> int:
    """Update Q, V and the actions with every step in the queue, then empty the queue.

    These are Algorithms 1 and 2 of Jin et al. 2018. See `Hooks.plan`.
    """
    record = dereference(pointer)
    config, state = record.config, record.state
    q, v, actions = state.table.q, state.table.v, state.table.actions
    own, constants, memory = state.own, config.constants, memory_of(state.own.numbers)
    H, S = actions.shape
    A = config.actions
    p = QParameters(constants[0], constants[1], constants[2], constants[3], constants[4])
    for i in range(own.queued[0]):
        row = int(own.queue[i, ROW])
        h = row // (S * A)
        cell = row - h * S * A
        s = cell // A
        memory.n[row] += 1.0
        rate = (H + 1.0) / (H + memory.n[row])
        v_next = v[h + 1, int(own.queue[i, SUCCESSOR])]
        bonus = bonus_of(p, memory, row, v_next, rate, H)
        target = own.queue[i, REWARD] + v_next + bonus
        q[h, cell] = (1.0 - rate) * q[h, cell] + rate * target
        best = first_best(q[h], s * A, A)
        v[h, s] = min(float(H - h) if p.tight else float(H), q[h, s * A + best])
        if best != actions[h, s] and not config.random_ties:
            actions[h, s] = best
            put(state.changed, h, h * S + s)
    own.queued[0] = 0
    if config.random_ties:
        for h in range(H):
            choose_actions(config, state, plan, h)
    return 0


def check_own_state(own: OwnState, shape: Shape) -> None:
    """Raise ValueError if `own`, which comes from a snapshot, cannot be that of Q-learning."""
    H, S, A = shape.table
    check_range("own.queued", own.queued, 0, len(own.queue))
    check_range("rows of own.queue", own.queue[:, ROW], 0, H * S * A - 1)
    check_range("successors of own.queue", own.queue[:, SUCCESSOR], 0, S - 1)
    check_finite("own.queue", own.queue)
    check_finite("own.numbers", own.numbers)


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
        hooks = Hooks(
            absorb_step,
            learn_steps,
            initialise_values,
            check_own_state,
            size=4 * H * S * A,
            width=3,
        )
        return NO_RULE._replace(constants=np.array(parameters), reads="successors", hooks=hooks)
