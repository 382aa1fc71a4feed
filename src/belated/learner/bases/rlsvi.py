"""RLSVI: randomised least-squares value iteration in its tabular form (Russo 2019).

    Q = r^ + <P^, V> + w,   w ~ N(0, scale^2 beta / (N' + 1)),   beta = S H^3 ln(2 H S A k) / 2

Instead of a bonus, normal noise w is added to every value Q_h(s, a). It is independent over steps,
states, actions and plans. V_h(s) = max_a Q_h(s, a), and a plan is greedy with respect to Q.

The estimates are those of regularised least squares, with one more observation of value 0 in every
row: P^ = M' / (N' + 1), and r^ is the sum of the observed rewards divided by N' + 1. A row without
observations has P^ = 0 and r^ = 0, so that its value is the noise alone. k is the number of the
episode that would be planned next without delay: 1 + the number of observed episodes. With `k="K"`
it is the total number of episodes K, so that beta does not change.

Russo (2019) bounds the expected regret without delay by order H^3 S^(3/2) sqrt(AK), at scale 1, for
any world. V is not optimistic with high probability, only with constant probability in each
episode. Under delay, Kuang et al. (2023) analyse the same idea for linear Markov decision
processes, as posterior sampling value iteration; nothing is proved for this tabular form. With late
feedback, the counts are those of the feedback that has arrived.

Deviations from the publication:

- Known rewards replace r^ and are not divided by N' + 1. The value of a row without observations is
  then its reward plus the noise.
- The number of observed episodes is computed as the number of observed steps, divided by H. It is
  smaller if episodes end early, in terminal states.
- If counts are pooled, N' and M' are those of all steps together. The noise is drawn for each step
  all the same. The analysis covers counts for each step only.
- With `clip=True`, V_h is limited to [0, H - h + 1] where the values of the step before are
  computed. Actions are chosen by Q before the limit, because otherwise many would be tied at it;
  the values that a plan reports are also those before the limit. The analysed form has no limit.
- `resample`: the publication draws new noise for every episode. See `RLSVI`.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from belated.check import check_factor
from belated.elementary import log
from belated.episode import Shape
from belated.learner.backup import Row, Stage, backup, rest
from belated.learner.bases.base import (
    BackupRule,
    Proof,
    Resample,
    TieBreakingBase,
    resamples_every_episode,
)
from belated.randomness import VALUE_NOISE, normal

if TYPE_CHECKING:
    from belated.learner.updaters.updater import Updater


@backup
def rlsvi(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with noise.

    `stage` holds the values of the next step, the key of the random numbers and the number of
    observed steps. `constants` holds scale^2 S H^3 / 2, the logarithm ln(2 H S A K) or 0 if k
    counts observed episodes, the numbers of states and of actions, and 1 if values are clipped.
    """
    S, A = int(constants[2]), int(constants[3])
    logarithm = constants[1]
    if logarithm == 0.0:  # 2 H S A k with k = 1 + observed / H
        logarithm = log(2.0 * S * A * (stage.observed + stage.horizon))
    limit = rest(stage)
    total = 0.0
    for j in range(row.lo, row.hi):
        value = stage.v[row.succ[j]]
        if constants[4] == 1.0:
            value = min(max(value, 0.0), limit)
        total += row.m[j] * value
    cell = (stage.h * S + row.s) * A + row.a
    noise = normal(stage.seed, VALUE_NOISE, stage.plan, cell, 0)
    deviation = math.sqrt(constants[0] * logarithm / (row.n + 1))
    return row.reward + total / (row.n + 1) + deviation * noise


@dataclass(frozen=True)
class RLSVI(TieBreakingBase):
    """Base algorithm RLSVI: value iteration with normal noise in place of a bonus.

    Parameters
    ----------
    scale : float
        Factor of the noise, at least 0; 1 is as published.
    k : {"observed", "K"}
        Number of episodes in the variance of the noise, beta = S H^3 ln(2 H S A k) / 2: "observed"
        is 1 + the number of episodes whose feedback has arrived, "K" the total number of episodes.
    clip : bool
        If True, V_h is limited to [0, H - h + 1], the smallest and largest possible sum of rewards.
        False is as published.
    resample : {"auto", "update", "episode"}
        When to draw new noise: "update" whenever the updater requires a plan, "episode" for each
        episode. "auto" is "update" with the updaters `Lazy`, `Batched` and `Scheduled`, else
        "episode".
    ties
        See `TieBreakingBase`.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=RLSVI(scale=0.1), **setting).total_regret, 1)
    79.6
    """

    scale: float = 1.0
    k: Literal["observed", "K"] = "observed"
    clip: bool = False
    resample: Resample = "auto"

    name = "rlsvi"
    proofs = (
        Proof(
            "",
            note="not optimistic with high probability; expected regret without delay: Russo 2019; "
            "under delay in linear MDPs: Kuang et al. 2023",
        ),
    )
    reward_estimate = "ridge"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_factor("scale", self.scale)
        if not isinstance(self.clip, bool):
            raise TypeError(f"clip must be True or False, got {self.clip!r}.")

    def replans_every_episode(self, updater: "Updater") -> bool:
        return resamples_every_episode(self.resample, updater)

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        S, A, H = shape.states, shape.actions, shape.horizon
        half = self.scale * self.scale * S * H**3 / 2
        logarithm = math.log(2 * H * S * A * episodes) if self.k == "K" else 0.0
        constants = np.array([half, logarithm, S, A, float(self.clip)])
        return BackupRule(rlsvi, constants, reads="successors", samples=True)
