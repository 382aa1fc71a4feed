"""Kernels are compiled at once, so that the tests see the compiled form."""

from forms import compiled_at_once

__all__ = ["compiled_at_once"]
