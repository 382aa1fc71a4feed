"""The alpha for a delay, compiled: lazy updating chooses it anew as delays are observed."""

from belated.compiled import kernel
from belated.theory.tradeoff import best_alpha, lazy_terms, minimiser

__all__ = ["alpha_for", "best_alpha", "lazy_terms"]

alpha_for = kernel(minimiser)
"""alpha_for(terms, mean_delay): the alpha >= 1 at which Theorem 2 promises least."""
