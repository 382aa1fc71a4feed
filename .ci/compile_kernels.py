"""Compile the engine and the planner, which takes longest, for all processes that follow."""

import belated as bl
from belated.compiled import budget
from belated.learner.background import compile_base

with budget.limited_to(0):
    bl.simulate("chain-3", base="ucrl2", updater="active", episodes=10)
compile_base(bl.UCRL2())
