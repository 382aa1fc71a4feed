"""PSRL: posterior sampling (Strens 2000; Osband, Russo, Van Roy 2013), with a Dirichlet prior.

    p ~ Dirichlet(prior + M'(h, s, a, .)),   Q = R + <p, V>

A plan is optimal for a world drawn from the posterior distribution. There is no bonus, and
therefore neither delta nor the constants C, B_1 and B_2 of a bonus. Gamma variates are computed
with `belated.elementary`. Unknown rewards are drawn from Beta(1 + sum, 1 + N' - sum), where sum is
the sum of the observed rewards. With late feedback, the posterior depends only on the feedback that
has arrived.

The published regret bound is Bayesian and without delay. Kuang et al. (2023) analyse another
posterior sampling algorithm under delay, for linear Markov decision processes.

Deviations from the publications: there are counts for each stage. If counts are pooled, the same
draw is used at every step.

With `resample="update"`, a world is drawn whenever the updater requires a plan. With
`resample="episode"`, a world is drawn for every episode, so that the policy varies while feedback
is in flight. "auto" means "update" with the updaters `Lazy`, `Batched`, `Scheduled` and triggers of
users, and "episode" with every other updater.
With `MultiInstance` all choices give the same result, because an instance receives the feedback of
its episode before it plays another episode.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from belated.check import check_number
from belated.episode import Shape
from belated.learner.backup import Row, Stage, backup
from belated.learner.bases.base import (
    BackupRule,
    Proof,
    Resample,
    TieBreakingBase,
    resamples_every_episode,
)
from belated.randomness import POSTERIOR, UNUSED_NUMBER, gamma, numbered_uniform

if TYPE_CHECKING:
    from belated.learner.updaters.updater import Updater


@backup
def psrl(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` under transition probabilities drawn from the posterior.

    `stage` holds the values of the next step and the key of the random numbers. With pooled counts
    it also holds the weights of all successors: they are drawn at the last step, which a plan
    computes first, and used at every step. `constants` holds the parameter of the Dirichlet prior.
    """
    prior = constants[0]
    S = stage.v.size
    first = row.number * S  # the row's index in the counts: with pooled counts the same at each h
    keeps = stage.samples.size > 0
    draws = not keeps or stage.h == stage.horizon - 1
    total = value = 0.0
    j = row.lo
    for y in range(S):
        if draws:
            parameter = prior
            if j < row.hi and row.succ[j] == y:
                parameter += row.m[j]
                j += 1
            weight = gamma(stage.seed, POSTERIOR, stage.plan, first + y, parameter)
            if keeps:
                stage.samples[first + y] = weight
        else:
            weight = stage.samples[first + y]
        total += weight
        value += weight * stage.v[y]
    if total == 0.0:  # with a small prior all draws may underflow; then p is a random vertex
        u = numbered_uniform(stage.seed, POSTERIOR, stage.plan, row.number * S, UNUSED_NUMBER)
        return row.reward + stage.v[int(u * S)]
    return row.reward + value / total


@dataclass(frozen=True)
class PSRL(TieBreakingBase):
    """Base algorithm PSRL: posterior sampling with a Dirichlet prior.

    Parameters
    ----------
    prior : float
        Parameter of the Dirichlet prior, the same for each successor; at least 0.001.
    resample : {"auto", "update", "episode"}
        When to draw a world from the posterior: "update" whenever the updater requires a plan,
        "episode" for each episode. "auto" is "update" with the updaters `Lazy`, `Batched` and
        `Scheduled`, else "episode".
    ties
        See `TieBreakingBase`.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=PSRL(), **setting).total_regret, 1)
    10.2
    """

    prior: float = 1.0
    resample: Resample = "auto"

    name = "psrl"
    proofs = (
        Proof(
            "",
            note="not optimistic; Bayesian regret without delay: Osband, Russo, Van Roy 2013; "
            "posterior sampling under delay in linear MDPs: Kuang et al. 2023",
        ),
    )
    reward_estimate = "sample"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("prior", self.prior)
        if not 1e-3 <= self.prior < np.inf:
            raise ValueError(f"prior must be finite and at least 0.001, got {self.prior}.")

    def replans_every_episode(self, updater: "Updater") -> bool:
        return resamples_every_episode(self.resample, updater)

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        constants = np.array([self.prior])
        return BackupRule(psrl, constants, "everything", samples=True, kept_samples=shape.states)
