"""Estimates of unknown rewards.

    r~ = min(1, r^ + eps_r),   and 1 without observations

with r^ the mean of the observed rewards. Every eps_r below is published, with T steps in place of
the time so far. The guarantee's delta is split: half for rewards, half for transitions.

    hoeffding    sqrt(ln(2 S A T / delta) / (2 N'))            union over (h, s, a) and N' <= K
    paper        sqrt(6 ln(2 S A T pi / (6 delta')) / N')      Howson et al., delta' = delta / 5
    jaksch       sqrt(7 ln(2 S A T / delta) / (2 N'))          UCRL2
    filippi      sqrt(ln(4 S A ln(T) / delta) / (1.99 N'))     KL-UCRL
    bernstein    2 sqrt(var l / N') + 6 l / N'                 UCRL2B, l = ln(6 S A H N' / delta)
    ubev         sqrt((2 lnln(max(e, N')) + ln(18 S A H / delta)) / N')

Sums are integers in units of 2**-32, so that they do not depend on the order of arrival.
"""

import math
from typing import Final, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from belated.compiled import inlined, kernel
from belated.episode import Floats, Shape
from belated.options import RewardBonus
from belated.randomness import POSTERIOR_REWARD, gamma
from belated.worklist import END, Worklist, put, take

BONUSES: Final[tuple[RewardBonus, ...]] = get_args(RewardBonus)

UNIT: Final = 2.0**32
"""Value of a reward of 1 in the units of the sums."""

KNOWN: Final = 0  # rewards are given; nothing is estimated
ROOT: Final = 1  # eps_r = sqrt(number / N')
BERNSTEIN: Final = 2
LOGLOG: Final = 3
MEAN: Final = 4  # r^ itself, 0 without observations
SAMPLE: Final = 5  # a draw from Beta(1 + sum, 1 + N' - sum), a new one for every plan


class RewardSums(NamedTuple):
    """Sums of the rewards observed in each row; empty arrays where rewards are known."""

    n: NDArray[np.int64]  # number of rewards
    total: NDArray[np.int64]  # sum of rewards, in units of 2**-32
    squares: NDArray[np.int64]  # sum of squared rewards, in units of 2**-32


class RewardEstimator(NamedTuple):
    """Formula by which mean rewards are estimated."""

    kind: int  # KNOWN, ROOT, BERNSTEIN, LOGLOG, MEAN or SAMPLE
    number: float  # constant of the formula
    scale: float  # factor of eps_r


def empty_sums(rows: int) -> RewardSums:
    """Return sums without observations for `rows` rows."""
    return RewardSums(*(np.zeros(rows, np.int64) for _ in RewardSums._fields))


def optimistic_estimator(
    bonus: RewardBonus, shape: Shape, episodes: int, *, delta: float, scale: float
) -> RewardEstimator:
    """Return the estimator with a published bonus.

    Parameters
    ----------
    bonus : str
        One of `BONUSES`.
    shape : Shape
        Size of the problem.
    episodes : int
        Number of episodes K.
    delta : float
        Probability with which the bonuses may fail.
    scale : float
        Factor of the bonus.

    Returns
    -------
    RewardEstimator
        Estimator with the constant of the formula.
    """
    H, S, A = shape.table
    T = H * episodes
    match bonus:
        case "hoeffding":
            kind, number = ROOT, math.log(2 * S * A * T / delta) / 2
        case "paper":
            # delta' is a fifth of the whole delta, of which the argument is half
            kind, number = ROOT, 6 * math.log(2 * S * A * T * math.pi / (6 * (2 * delta / 5)))
        case "jaksch":
            kind, number = ROOT, 7 * math.log(2 * S * A * T / delta) / 2
        case "filippi":
            kind, number = ROOT, math.log(4 * S * A * math.log(max(3, T)) / delta) / 1.99
        case "bernstein":
            kind, number = BERNSTEIN, math.log(6 * S * A * H / delta)
        case "ubev":
            kind, number = LOGLOG, math.log(18 * S * A * H / delta)
    return RewardEstimator(kind, number, scale)


@inlined
def add_reward(sums: RewardSums, row: int, reward: float) -> None:
    """Add a `reward` observed in `row` to `sums`."""
    sums.n[row] += 1
    sums.total[row] += np.int64(math.floor(reward * UNIT + 0.5))
    sums.squares[row] += np.int64(math.floor(reward * reward * UNIT + 0.5))


@kernel
def estimate_reward(
    estimator: RewardEstimator, sums: RewardSums, row: int, seed: np.uint64, plan: int
) -> float:
    """Return the estimate r~ of the mean reward of a row.

    Parameters
    ----------
    estimator : RewardEstimator
        Formula of the estimate.
    sums : RewardSums
        Observed rewards.
    row : int
        Row to estimate.
    seed, plan : int
        Address of the random numbers of a sampled estimate.

    Returns
    -------
    float
        Estimate in [0, 1].
    """
    n = sums.n[row]
    if estimator.kind == SAMPLE:
        total = sums.total[row] / UNIT
        x = gamma(seed, POSTERIOR_REWARD, plan, 2 * row, 1.0 + total)
        y = gamma(seed, POSTERIOR_REWARD, plan, 2 * row + 1, 1.0 + max(0.0, n - total))
        return x / (x + y)
    if n == 0:
        return 0.0 if estimator.kind == MEAN else 1.0
    mean = sums.total[row] / (n * UNIT)
    if estimator.kind == MEAN:
        return mean
    if estimator.kind == ROOT:
        eps = math.sqrt(estimator.number / n)
    elif estimator.kind == BERNSTEIN:
        log = estimator.number + math.log(n)
        variance = max(0.0, sums.squares[row] / (n * UNIT) - mean * mean)
        eps = 2.0 * math.sqrt(variance * log / n) + 6.0 * log / n
    else:
        loglog = math.log(math.log(max(math.e, n)))
        eps = math.sqrt((2.0 * loglog + estimator.number) / n)
    return min(1.0, mean + estimator.scale * eps)


@kernel
def update_rewards(
    estimator: RewardEstimator,
    sums: RewardSums,
    new_rewards: Worklist,
    seed: np.uint64,
    plan: int,
    rewards: Floats,
    touched: Worklist,
) -> None:
    """Estimate the rewards of rows with new observations, or of all rows if they are sampled.

    Parameters
    ----------
    estimator : RewardEstimator
        Formula of the estimates.
    sums : RewardSums
        Observed rewards.
    new_rewards : Worklist
        Rows with new observations; emptied.
    seed, plan : int
        Address of the random numbers of sampled estimates.
    rewards : Floats
        (H, S * A) estimates, changed in place.
    touched : Worklist
        Receives the rows with new observations, which must be planned again.
    """
    cells = rewards.shape[1]
    stages = sums.n.size // cells
    for stage in range(stages):
        row = take(new_rewards, stage)
        while row != END:
            put(touched, stage, row)
            if estimator.kind != SAMPLE:
                estimate = estimate_reward(estimator, sums, row, seed, plan)
                set_reward(rewards, stage, stages, row, estimate)
            row = take(new_rewards, stage)
        if estimator.kind == SAMPLE:
            for row in range(stage * cells, (stage + 1) * cells):
                estimate = estimate_reward(estimator, sums, row, seed, plan)
                set_reward(rewards, stage, stages, row, estimate)


@inlined
def set_reward(rewards: Floats, stage: int, stages: int, row: int, value: float) -> None:
    """Set the reward of a row at its step, or at every step if counts are pooled.

    Parameters
    ----------
    rewards : Floats
        (H, S * A), changed in place.
    stage, stages : int
        Stage of the row, and the number of stages.
    row : int
        Row.
    value : float
        Estimated reward.
    """
    H, cells = rewards.shape
    if stages == 1:
        for h in range(H):
            rewards[h, row] = value
    else:
        rewards[stage, row - stage * cells] = value
