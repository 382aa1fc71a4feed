"""Survival analysis of delays: estimates from episodes of which some are still in flight.

`bl.lateness` is in `belated.survival.lateness`. Nothing here imports delay laws or learners, so
that a learner can estimate its own delays.
"""
