"""PSRL: posterior sampling (Strens 2000; Osband, Russo, Van Roy 2013), with a Dirichlet prior.

    p ~ Dirichlet(prior + M'(h, s, a, .)),   Q = R + <p, V>

A plan is optimal for a world drawn from the posterior; there is no bonus, no delta and no C.
Unknown rewards are drawn from Beta(1 + sum, 1 + N' - sum). Late feedback: the posterior is of what
has come back. Deviations: stage-dependent counts, unless they are pooled, when one draw serves
every step; `scale`, `delta` and `monotone` have no meaning.

With `resample="update"` a world is drawn when the updater asks for a plan, with "episode" for
every episode, from all that has come back: what is in flight then does not freeze the policy.
"auto" is "episode", except under Lazy. A copy of MultiInstance hears back before each of its turns,
so that the two are the same.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.episode import Shape
from belated.learner.backup import Row, Stage, backup
from belated.learner.bases.base import Base, Kernel, check_choice, check_number
from belated.learner.sampling import FREE, gamma, part
from belated.randomness import POSTERIOR


@backup
def psrl(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    prior = constants[0]
    S = stage.v.size
    first = row.number * S  # with pooled counts one draw serves every step
    total = value = 0.0
    j = row.lo
    for y in range(S):
        weight = prior
        if j < row.hi and row.succ[j] == y:
            weight += row.m[j]
            j += 1
        x = gamma(stage.seed, POSTERIOR, stage.plan, first + y, weight)
        total += x
        value += x * stage.v[y]
    if total == 0.0:  # with a tiny prior every one of them may be too small for a float
        y = int(part(stage.seed, POSTERIOR, stage.plan, first, FREE) * S)
        return row.reward + stage.v[y]
    return row.reward + value / total


@dataclass(frozen=True)
class PSRL(Base):
    """Posterior sampling with a Dirichlet prior.

    - `prior`: the Dirichlet's parameter for each successor.
    - `resample`: draw a world for each "update", or for each "episode"; see above for "auto".
    """

    prior: float = 1.0
    resample: Literal["auto", "update", "episode"] = "auto"

    name = "psrl"
    hopes = "sample"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("prior", self.prior)
        check_choice("resample", self.resample, ("auto", "update", "episode"))
        if not 1e-3 <= self.prior < np.inf:
            raise ValueError(f"prior is {self.prior}; it must be finite and at least 0.001.")

    def kernel(self, shape: Shape, episodes: int) -> Kernel:
        return Kernel(psrl, np.array([self.prior]), reads="everything", drawn=True)
