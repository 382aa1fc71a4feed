"""Active updating (Algorithm 1 of the paper): plan whenever feedback arrives."""

import math
from dataclasses import dataclass

from belated.learner.updaters.updater import Updater


@dataclass(frozen=True)
class Active(Updater):
    """Updater that plans whenever feedback arrives.

    Examples
    --------
    >>> from belated import UCRL2, chain, simulate
    >>> setting = {"base": UCRL2(scale=0.1), "delay": "geometric:20", "episodes": 500}
    >>> simulate(chain(3), updater=Active(), **setting).updates
    314
    """

    name = "active"

    def lazy_alpha(self) -> float:
        return math.inf
