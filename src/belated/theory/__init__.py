"""Bounds on regret and related quantities of the theory of delayed feedback.

The functions that need numba (`alpha_for`, `owners`) are imported on first use, because numba is
slow to import.
"""

import importlib
from typing import TYPE_CHECKING, Any

from belated.theory.alpha import best_alpha, lazy_terms
from belated.theory.alternatives import (
    delayed_ucb,
    explicit_exploration,
    lower_bound,
    multi_instance,
)
from belated.theory.bonus import Optimism, optimism
from belated.theory.comparison import Guarantee, compare
from belated.theory.decomposition import lemma_2
from belated.theory.epochs import epoch_bound, lazy_bound, lazy_sum, sharp_epoch_bound
from belated.theory.missing import instances, missing, psi
from belated.theory.orders import Order
from belated.theory.premise import EpochCounts, epoch_counts
from belated.theory.regret import Regret, delayed_rewards, theorem_1, theorem_2
from belated.theory.table import TABLE_1, RowNumbers, table_1
from belated.theory.visits import VisitSums, visit_bound, visit_sums

if TYPE_CHECKING:
    from belated.theory.compiled import alpha_for as alpha_for
    from belated.theory.compiled import owners as owners

__all__ = [
    "TABLE_1",
    "EpochCounts",
    "Guarantee",
    "Optimism",
    "Order",
    "Regret",
    "RowNumbers",
    "VisitSums",
    "alpha_for",
    "best_alpha",
    "compare",
    "delayed_rewards",
    "delayed_ucb",
    "epoch_bound",
    "epoch_counts",
    "explicit_exploration",
    "instances",
    "lazy_bound",
    "lazy_sum",
    "lazy_terms",
    "lemma_2",
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
    """Import and return the compiled function `name`, `alpha_for` or `owners`.

    Raise AttributeError for any other name.
    """
    if name in ("alpha_for", "owners"):
        return getattr(importlib.import_module("belated.theory.compiled"), name)
    raise AttributeError(f"module 'belated.theory' has no attribute {name!r}")
