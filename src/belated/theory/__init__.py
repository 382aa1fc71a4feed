"""Bounds: what the theory says about lateness, and how to compute it.

Formulas import no compiler, so that asking for one is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

from belated.theory.classes import Optimism, optimism
from belated.theory.comparison import Promise, compare
from belated.theory.competitors import explicit_exploration, lower_bound, multi_instance
from belated.theory.counting import lazy_bound, lazy_sum, visit_bound
from belated.theory.epochs import epoch_bound, sharp_epoch_bound
from belated.theory.missing import missing, psi
from belated.theory.orders import Order
from belated.theory.regret import Regret, delayed_rewards, theorem_1, theorem_2
from belated.theory.table import TABLE_1, table_1
from belated.theory.tradeoff import best_alpha, lazy_terms

if TYPE_CHECKING:
    from belated.theory.alpha import alpha_for as alpha_for
    from belated.theory.bold import instances as instances
    from belated.theory.bold import owners as owners
    from belated.theory.visits import VisitSums as VisitSums
    from belated.theory.visits import visit_sums as visit_sums

_COMPILED = {
    "alpha_for": "alpha",
    "instances": "bold",
    "owners": "bold",
    "VisitSums": "visits",
    "visit_sums": "visits",
}

__all__ = [
    "TABLE_1",
    "Optimism",
    "Order",
    "Promise",
    "Regret",
    "VisitSums",
    "alpha_for",
    "best_alpha",
    "compare",
    "delayed_rewards",
    "epoch_bound",
    "explicit_exploration",
    "instances",
    "lazy_bound",
    "lazy_sum",
    "lazy_terms",
    "lower_bound",
    "missing",
    "multi_instance",
    "optimism",
    "owners",
    "psi",
    "sharp_epoch_bound",
    "table_1",
    "theorem_1",
    "theorem_2",
    "visit_bound",
    "visit_sums",
]


def __getattr__(name: str) -> Any:
    """Import what is compiled when it is first asked for."""
    if name in _COMPILED:
        found = getattr(importlib.import_module(f"belated.theory.{_COMPILED[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'belated.theory' has no attribute {name!r}")
