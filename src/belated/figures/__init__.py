"""Figures of regret, bounds and worlds, and the HTML report."""

from belated.extras import missing_extra

try:
    import matplotlib as matplotlib
except ImportError:
    raise ImportError(missing_extra("A figure", "Matplotlib", "figures")) from None
