"""Bounds: what the theory says about lateness, and how to compute it."""

from belated.theory.epochs import epoch_bound
from belated.theory.instances import instances, owners
from belated.theory.missing import missing, psi

__all__ = ["epoch_bound", "instances", "missing", "owners", "psi"]
