"""Checks of the backup of a base: it must compile, and it must declare the values it reads."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Final

import numpy as np

from belated.checks.plans import Shapes
from belated.checks.samples import (
    EPISODES,
    compile_obstacle,
    current_plan,
    make_learner,
    plans_equal,
    random_world,
    sample_case,
    sample_cases,
)
from belated.checks.suite import part_name, require
from belated.episode import Shape
from belated.learner.backup import Backup, as_backup
from belated.learner.bases.base import BackupRule, Base, BaseAlgorithm
from belated.learner.plan import Planner, plan
from belated.learner.updaters import Active
from belated.options import Stages
from belated.simulation.simulation import Simulation

STAGES: Final[tuple[Stages, ...]] = ("each", "pooled")
SCALES: Final = (1.0, 0.1, 0.01)
"""Factors by which the checks multiply the bonus. Small factors are included because most values
equal their upper limit if the bonus is large."""


def with_smaller_bonuses(base: BaseAlgorithm) -> list[BaseAlgorithm]:
    """Return copies of `base`, one for each of `SCALES`, with the bonus multiplied by this factor.

    If `base` is not a `Base`, its bonus cannot be scaled, and the list contains only `base`.
    """
    if not isinstance(base, Base):
        return [base]
    return [replace(base, scale=base.scale * factor) for factor in SCALES]


@dataclass(frozen=True)
class ModifiedBase(BaseAlgorithm):
    """Copy of the base `inner` with another backup rule: the result of `change(rule)`.

    `rule` is the backup rule of `inner`.
    """

    inner: BaseAlgorithm
    change: Callable[[BackupRule], BackupRule]

    @property
    def is_monotone(self) -> bool:
        return self.inner.is_monotone

    @property
    def random_ties(self) -> bool:
        return self.inner.random_ties

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        return self.change(self.inner.backup_rule(shape, episodes))


def declares_reads(base: BaseAlgorithm, shapes: Shapes) -> None:
    """Check that the backup of `base` reads only the values that the base declares.

    Incremental planning relies on this declaration. The check compares incremental planning by
    `base` with full planning by a copy of `base` that declares all values, on problems of these
    `shapes`.
    """
    for scaled, shape, stages in product(with_smaller_bonuses(base), shapes, STAGES):
        case = sample_case(shape, 6, episodes=60)
        reads_all = ModifiedBase(
            scaled, lambda rule: rule._replace(reads="order", reads_visits=True)
        )
        full = make_learner(reads_all, case, planning="full", stages=stages)
        incremental = make_learner(scaled, case, stages=stages)
        rule = base.backup_rule(shape, EPISODES)
        for episode in case.episodes:
            full.observe([episode])
            incremental.observe([episode])
            require(
                plans_equal(current_plan(full), current_plan(incremental)),
                f"{part_name(base)} declares reads={rule.reads!r} and "
                f"reads_visits={rule.reads_visits}, but reads more than that: incremental "
                "planning differs from full planning.",
            )


def runs_compiled(base: BaseAlgorithm | Planner, shapes: Shapes) -> None:
    """Check that `base` can be compiled, and that its plans are the same compiled and in Python.

    Plans are computed for problems of these `shapes`. The plans of a `stepwise` base, which learns
    from single steps instead of counts, are not compared.
    """
    world = random_world(shapes[0], 0)
    reason = compile_obstacle(Simulation(world=world, base=base, updater=Active(), episodes=1))
    require(
        reason is None,
        f"{part_name(base)} cannot run compiled: {reason}; it runs in the slower reference loop.",
    )
    assert isinstance(base, BaseAlgorithm)
    if base.stepwise:
        return
    try:
        make_learner(base, sample_case(shapes[0], 0, episodes=1))
    except TypeError as error:
        raise AssertionError(f"{part_name(base)} cannot run compiled: {error}") from error
    cases = chain.from_iterable(map(sample_cases, shapes))
    for scaled, case in product(with_smaller_bonuses(base), cases):
        python = ModifiedBase(scaled, lambda rule: rule._replace(backup=uncompiled_backup(rule)))
        inputs = case.n, case.m, case.rewards
        try:
            with np.errstate(all="ignore"):  # compiled code also continues with inf and nan
                expected = plan(python, *inputs, episodes=EPISODES)
        except (ArithmeticError, IndexError, ValueError) as error:
            raise AssertionError(
                f"The backup of {part_name(base)} raises {type(error).__name__} ({error}) in "
                "Python, where compiled code continues with a wrong value."
            ) from error
        require(
            plans_equal(expected, plan(scaled, *inputs, episodes=EPISODES)),
            f"The backup of {part_name(base)} gives a different result compiled than in Python; "
            "use math functions on numbers, loops for sums, and x * x instead of x**2.",
        )


def uncompiled_backup(rule: BackupRule) -> Backup:
    """Return the backup of the backup rule `rule` as an uncompiled Python function."""
    return Backup(as_backup(rule.backup).function, compiled=False)
