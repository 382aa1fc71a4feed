"""Rewards that are not known beforehand: what has been earned where, and what to hope for.

    r~ = min(1, r^ + eps_r),   and 1 where nothing has been earned yet

with r^ the mean of the observed rewards. Every eps_r below is a published one, with T steps in
place of the time so far. The guarantee's delta is split: half for rewards, half for transitions.

    hoeffding    sqrt(ln(2 S A T / delta) / (2 N'))            union over (h, s, a) and N' <= K
    paper        sqrt(6 ln(2 S A T pi / (6 delta')) / N')      Howson et al., delta' = delta / 5
    jaksch       sqrt(7 ln(2 S A T / delta) / (2 N'))          UCRL2
    filippi      sqrt(ln(4 S A ln(T) / delta) / (1.99 N'))     KL-UCRL
    bernstein    2 sqrt(var l / N') + 6 l / N'                 UCRL2B, l = ln(6 S A H N' / delta)
    ubev         sqrt((2 lnln(max(e, N')) + ln(18 S A H / delta)) / N')

Sums are whole numbers of 2**-32, so that they depend on what was earned and not on the order.
"""

import math
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.buckets import END, Buckets, put, take
from belated.compiled import inlined, kernel
from belated.episode import Floats, Ints, Shape
from belated.learner.sampling import gamma
from belated.randomness import POSTERIOR_REWARD

RewardBonus = Literal["hoeffding", "paper", "jaksch", "filippi", "bernstein", "ubev"]
BONUSES: Final = ("hoeffding", "paper", "jaksch", "filippi", "bernstein", "ubev")

UNIT: Final = 2.0**32
"""One, in the units of the sums."""

KNOWN: Final = 0
ROOT: Final = 1  # sqrt(number / N')
BERNSTEIN: Final = 2
LOGLOG: Final = 3
MEAN: Final = 4  # r^ itself, 0 where nothing has been earned
SAMPLE: Final = 5  # a draw of Beta(1 + sum, 1 + N' - sum), a new one for every plan


class Earnings(NamedTuple):
    """What has been earned, by row; empty arrays where rewards are known."""

    n: NDArray[np.int64]
    total: NDArray[np.int64]
    squares: NDArray[np.int64]


class Hope(NamedTuple):
    """How to guess a mean reward."""

    kind: int
    number: float
    scale: float
    seed: np.uint64


def earnings(rows: int) -> Earnings:
    """Nothing earned yet."""
    return Earnings(np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64))


def optimistic(bonus: RewardBonus, shape: Shape, episodes: int, delta: float) -> tuple[int, float]:
    """The kind of a published eps_r and its number."""
    H, S, A = shape.table
    T = H * episodes
    match bonus:
        case "hoeffding":
            return ROOT, math.log(2 * S * A * T / delta) / 2
        case "paper":
            # of the whole delta, of which this is half
            return ROOT, 6 * math.log(2 * S * A * T * math.pi / (6 * (2 * delta / 5)))
        case "jaksch":
            return ROOT, 7 * math.log(2 * S * A * T / delta) / 2
        case "filippi":
            return ROOT, math.log(4 * S * A * math.log(max(3, T)) / delta) / 1.99
        case "bernstein":
            return BERNSTEIN, math.log(6 * S * A * H / delta)
        case "ubev":
            return LOGLOG, math.log(18 * S * A * H / delta)


@inlined
def earn(earned: Earnings, row: int, reward: float) -> None:
    """Take note of a reward."""
    earned.n[row] += 1
    earned.total[row] += np.int64(math.floor(reward * UNIT + 0.5))
    earned.squares[row] += np.int64(math.floor(reward * reward * UNIT + 0.5))


@kernel
def earn_rows(earned: Earnings, rows: Ints, rewards: Floats) -> None:
    """Take note of several rewards."""
    for i in range(rows.size):
        earn(earned, rows[i], rewards[i])


@kernel
def guess(hope: Hope, earned: Earnings, row: int, plan: int) -> float:
    """r~ of a row."""
    n = earned.n[row]
    if hope.kind == SAMPLE:
        total = earned.total[row] / UNIT
        x = gamma(hope.seed, POSTERIOR_REWARD, plan, 2 * row, 1.0 + total)
        y = gamma(hope.seed, POSTERIOR_REWARD, plan, 2 * row + 1, 1.0 + max(0.0, n - total))
        return x / (x + y)
    if n == 0:
        return 0.0 if hope.kind == MEAN else 1.0
    mean = earned.total[row] / (n * UNIT)
    if hope.kind == MEAN:
        return mean
    if hope.kind == ROOT:
        eps = math.sqrt(hope.number / n)
    elif hope.kind == BERNSTEIN:
        log = hope.number + math.log(n)
        variance = max(0.0, earned.squares[row] / (n * UNIT) - mean * mean)
        eps = 2.0 * math.sqrt(variance * log / n) + 6.0 * log / n
    else:
        loglog = math.log(math.log(max(math.e, n)))
        eps = math.sqrt((2.0 * loglog + hope.number) / n)
    return min(1.0, mean + hope.scale * eps)


@kernel
def reconsider(
    hope: Hope, earned: Earnings, fresh: Buckets, plan: int, rewards: Floats, touched: Buckets
) -> None:
    """Guess anew where rewards have come, and everywhere if guesses are drawn for each plan.

    `rewards` is (H, S * A). Empties `fresh`; the rows it held are put into `touched`.
    """
    cells = rewards.shape[1]
    stages = earned.n.size // cells
    for group in range(stages):
        row = take(fresh, group)
        while row != END:
            put(touched, group, row)
            if hope.kind != SAMPLE:
                set_reward(rewards, group, stages, row, guess(hope, earned, row, plan))
            row = take(fresh, group)
        if hope.kind == SAMPLE:
            for row in range(group * cells, (group + 1) * cells):
                set_reward(rewards, group, stages, row, guess(hope, earned, row, plan))


@inlined
def set_reward(rewards: Floats, group: int, stages: int, row: int, value: float) -> None:
    """The reward of a row, at its step, or at every step if they are pooled."""
    H, cells = rewards.shape
    if stages == 1:
        for h in range(H):
            rewards[h, row] = value
    else:
        rewards[group, row - group * cells] = value
