"""Base algorithms: the seven of the paper, and others for comparison."""

from belated.learner.bases.base import BackupRule, Base, BaseAlgorithm, Planner, Proof
from belated.learner.bases.baselines import EpsilonGreedy, Fixed, Optimal, UniformRandom
from belated.learner.bases.chi2_ucrl import Chi2_UCRL
from belated.learner.bases.kl_ucrl import KL_UCRL
from belated.learner.bases.psrl import PSRL
from belated.learner.bases.q_learning import QLearning
from belated.learner.bases.rlsvi import RLSVI
from belated.learner.bases.ubev import UBEV
from belated.learner.bases.ucbvi_bf import UCBVI_BF
from belated.learner.bases.ucbvi_ch import UCBVI_CH
from belated.learner.bases.ucrl2 import UCRL2
from belated.learner.bases.ucrl2b import UCRL2B
from belated.names import Names

BUILT_IN: tuple[type[BaseAlgorithm], ...] = (
    UBEV,
    UCBVI_CH,
    UCBVI_BF,
    UCRL2,
    UCRL2B,
    KL_UCRL,
    Chi2_UCRL,
    PSRL,
    RLSVI,
    QLearning,
    EpsilonGreedy,
    UniformRandom,
    Fixed,
    Optimal,
)
"""Classes of all built-in bases. Add a new base to this tuple: the names of bases, the choices on
the command line and in the service, and the tests of every base are derived from it."""

BASES: dict[str, type[BaseAlgorithm]] = {base.name: base for base in BUILT_IN}
"""Map from the name of each built-in base to its class."""

OPTIMISTIC: dict[str, type[Base]] = {
    base.name: base for base in BUILT_IN if issubclass(base, Base) and not base.stepwise
}
"""Map from the name of each built-in optimistic base that plans from counts to its class."""

BASE_NAMES: Names[BaseAlgorithm | Planner] = Names(
    "base", (BaseAlgorithm, Planner), "a Base or an object with a plan method", BASES
)
"""Parser of texts that name a base, such as "ucrl2:scale=0.1" or "my_bases:MyBase"."""

__all__ = [
    "BASES",
    "BASE_NAMES",
    "BUILT_IN",
    "KL_UCRL",
    "OPTIMISTIC",
    "PSRL",
    "RLSVI",
    "UBEV",
    "UCBVI_BF",
    "UCBVI_CH",
    "UCRL2",
    "UCRL2B",
    "BackupRule",
    "Base",
    "BaseAlgorithm",
    "Chi2_UCRL",
    "EpsilonGreedy",
    "Fixed",
    "Optimal",
    "Proof",
    "QLearning",
    "UniformRandom",
]
