"""Estimates of unknown rewards.

    r~ = min(1, r^ + eps_r),   r~ = 1 if there are no observations

r~ is the estimate of a mean reward, r^ is the mean of the observed rewards and var their variance.
The option `reward_bonus` selects one of the following formulas of eps_r, which is then multiplied
by the scale of the base. The formulas are published ones, in which the total number of steps T
replaces the number of steps so far. The delta of the base is split into two halves, one for rewards
and one for transitions. In the formulas, delta is the half for rewards, and delta' is a fifth of
the whole delta.

    hoeffding    sqrt(ln(2 S A T / delta) / (2 N'))            union bound over (h, s, a) and N'
    paper        sqrt(6 ln(2 S A T pi / (6 delta')) / N')      Howson et al.
    jaksch       sqrt(7 ln(2 S A T / delta) / (2 N'))          UCRL2
    filippi      sqrt(ln(4 S A H ln(T) / delta) / (1.99 N'))   KL-UCRL, union over steps added
    bernstein    2 sqrt(var l / N') + 6 l / N'                 UCRL2B, l = ln(6 S A H N' / delta)
    ubev         sqrt((2 lnln(max(e, N')) + ln(18 S A H / delta)) / N')

Sums of rewards are stored as integers in units of 2**-32, so that they do not depend on the order
of arrival.
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
"""Factor by which rewards and squares of rewards are multiplied before they are rounded to integers
and added to the stored sums."""

KNOWN: Final = 0  # rewards are given; nothing is estimated
ROOT: Final = 1  # eps_r = sqrt(number / N')
BERNSTEIN: Final = 2
LOGLOG: Final = 3
MEAN: Final = 4  # r^ itself; 0 if there are no observations
SAMPLE: Final = 5  # a draw from Beta(1 + sum, 1 + N' - sum), a new one for every plan
RIDGE: Final = 6  # sum / (N' + 1), the mean with one more observation of 0


class RewardSums(NamedTuple):
    """Sums of the rewards observed in each row; the arrays are empty if rewards are known."""

    n: NDArray[np.int64]  # number of rewards
    total: NDArray[np.int64]  # sum of rewards, in units of 2**-32
    squares: NDArray[np.int64]  # sum of squared rewards, in units of 2**-32


class RewardEstimator(NamedTuple):
    """Formula that estimates mean rewards, with its constants."""

    kind: int  # KNOWN, ROOT, BERNSTEIN, LOGLOG, MEAN, SAMPLE or RIDGE
    number: float  # constant of the formula
    scale: float  # factor of eps_r


def optimistic_estimator(
    bonus: RewardBonus, shape: Shape, episodes: int, *, delta: float, scale: float
) -> RewardEstimator:
    """Return the estimator that adds a given bonus to the mean of the observed rewards.

    Parameters
    ----------
    bonus : str
        Name of the bonus, one of `BONUSES`.
    shape : Shape
        Size of the problem.
    episodes : int
        Number of episodes K.
    delta : float
        Largest probability that some mean reward exceeds its estimate.
    scale : float
        Factor of the bonus.

    Returns
    -------
    RewardEstimator
        Formula with its constant and its scale.
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
            kind, number = ROOT, math.log(4 * S * A * H * math.log(max(3, T)) / delta) / 1.99
        case "bernstein":
            kind, number = BERNSTEIN, math.log(6 * S * A * H / delta)
        case "ubev":
            kind, number = LOGLOG, math.log(18 * S * A * H / delta)
    return RewardEstimator(kind, number, scale)


@inlined
def add_reward(sums: RewardSums, row: int, reward: float) -> None:
    """Add a `reward`, observed in `row`, to `sums`."""
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
        Sums of observed rewards.
    row : int
        Row whose mean reward is estimated.
    seed, plan : int
        Seed of the learner, and number of the plan. They are part of the key of random numbers,
        which are drawn only for the kind `SAMPLE`.

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
    if estimator.kind == RIDGE:
        return sums.total[row] / ((n + 1) * UNIT)
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
    """Update the estimated rewards of rows with new observations.

    If the estimates are drawn from a posterior (kind `SAMPLE`), the estimates of all rows are drawn
    anew.

    Parameters
    ----------
    estimator : RewardEstimator
        Formula of the estimates.
    sums : RewardSums
        Sums of observed rewards.
    new_rewards : Worklist
        Rows with new observations, grouped by stage; empty afterwards.
    seed, plan : int
        Seed of the learner, and number of the plan. They are part of the key of random numbers.
    rewards : Floats
        (H, S * A) estimates, changed in place.
    touched : Worklist
        Receives the rows with new observations, whose backups must be computed again.
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
        (H, S * A) rewards, changed in place.
    stage : int
        Stage of the row.
    stages : int
        Number of stages of the counts: H, or 1 if counts are pooled.
    row : int
        Index of the (stage, state, action) triple.
    value : float
        Estimated reward.
    """
    H, cells = rewards.shape
    if stages == 1:
        for h in range(H):
            rewards[h, row] = value
    else:
        rewards[stage, row - stage * cells] = value
