"""Bounds on regret and related quantities of the theory of delayed feedback."""

from belated.theory.bonus import Optimism, optimism
from belated.theory.lemmas import epoch_bound, missing, owners, psi, visit_bound
from belated.theory.regret import (
    Regret,
    alpha_for,
    best_alpha,
    delayed_rewards,
    lazy_terms,
    theorem_1,
    theorem_2,
)
from belated.theory.table import TABLE_1, Order, RowNumbers, table_1

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
