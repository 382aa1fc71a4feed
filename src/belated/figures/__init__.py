"""Figures of regret, bounds and worlds, and the HTML report."""
