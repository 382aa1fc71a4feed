"""Multi-instance updating, "BOLD" (Joulani, Gyorgy, Szepesvari 2013).

There is one instance (independent copy) of the base for each episode in flight. An instance is free
if all feedback of its episodes has arrived. Each episode is played by the free instance with the
lowest number, or by a new instance if none is free. When the feedback of an episode arrives, the
instance that played it plans. After K episodes there are 1 + max_k S_k instances. Each of them has
learnt from its own episodes only, as if their feedback had not been delayed.
"""

import math
from dataclasses import dataclass

from belated.learner.updaters.updater import Updater


@dataclass(frozen=True)
class MultiInstance(Updater):
    """Updater with a separate instance of the base for each episode in flight.

    Examples
    --------
    >>> from belated import UCRL2, chain, simulate
    >>> setting = {"base": UCRL2(scale=0.1), "delay": "geometric:20", "episodes": 500}
    >>> simulate(chain(3), updater=MultiInstance(), **setting).instances
    28
    """

    name = "multi"
    multi_instance = True

    def lazy_alpha(self) -> float:
        return math.inf
