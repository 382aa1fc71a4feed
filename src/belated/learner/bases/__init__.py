"""How to plan: seven optimistic model-based algorithms, one file each."""

from belated.learner.bases.base import Base, Kernel
from belated.learner.bases.chi2_ucrl import Chi2_UCRL
from belated.learner.bases.kl_ucrl import KL_UCRL
from belated.learner.bases.ubev import UBEV
from belated.learner.bases.ucbvi_bf import UCBVI_BF
from belated.learner.bases.ucbvi_ch import UCBVI_CH
from belated.learner.bases.ucrl2 import UCRL2
from belated.learner.bases.ucrl2b import UCRL2B

BASES: dict[str, type[Base]] = {
    base.name: base for base in (UBEV, UCBVI_CH, UCBVI_BF, UCRL2, UCRL2B, KL_UCRL, Chi2_UCRL)
}

__all__ = [
    "BASES",
    "KL_UCRL",
    "UBEV",
    "UCBVI_BF",
    "UCBVI_CH",
    "UCRL2",
    "UCRL2B",
    "Base",
    "Chi2_UCRL",
    "Kernel",
]
