"""Bounds on regret and related quantities of the theory of delayed feedback.

The functions that need numba (`alpha_for`, `owners`) are imported on first use, because numba is
slow to import.
"""

import importlib
from typing import TYPE_CHECKING, Any

from belated.theory.alpha import best_alpha, lazy_terms
from belated.theory.bonus import Optimism, optimism
from belated.theory.lemmas import epoch_bound, visit_bound
from belated.theory.missing import missing, psi
from belated.theory.regret import Regret, delayed_rewards, theorem_1, theorem_2
from belated.theory.table import TABLE_1, Order, RowNumbers, table_1

if TYPE_CHECKING:
    from belated.theory.compiled import alpha_for as alpha_for
    from belated.theory.compiled import owners as owners

__all__ = [
    "TABLE_1",
    "Optimism",
    "Order",
    "Regret",
    "RowNumbers",
    "alpha_for",
    "best_alpha",
    "delayed_rewards",
    "epoch_bound",
    "lazy_terms",
    "missing",
    "optimism",
    "owners",
    "psi",
    "table_1",
    "theorem_1",
    "theorem_2",
    "visit_bound",
]


def __getattr__(name: str) -> Any:
    """Import and return the compiled function `name`, `alpha_for` or `owners`.

    Raise AttributeError for any other name.
    """
    if name in ("alpha_for", "owners"):
        return getattr(importlib.import_module("belated.theory.compiled"), name)
    raise AttributeError(f"module 'belated.theory' has no attribute {name!r}")
