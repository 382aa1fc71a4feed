"""Conformance suite for a base."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from belated.checks import plans
from belated.checks.backups import declares_reads, runs_compiled, with_smaller_bonuses
from belated.checks.engines import fastest_engine, require_equal_runs
from belated.checks.learners import require_restorable
from belated.checks.options import invalid_options, rejects_invalid_options
from belated.checks.plans import Shapes
from belated.checks.samples import SHAPES, random_world, sample_case
from belated.checks.suite import Check, by_name, part_name, require, run_checks, select_checks
from belated.delays.laws import geometric, never
from belated.episode import Shape
from belated.learner.bases.base import Base
from belated.learner.plan import Planner
from belated.learner.updaters import Active, Lazy
from belated.simulation.simulate import Setting

RUNS: Final = 20
"""Number of runs in the check of optimism."""


def base_checks(
    base: Base | Planner, *, shape: Shape | None = None, without: Collection[str] = ()
) -> list[Check]:
    """Return the checks that apply to a base, to be called one by one.

    Checks that contradict a declaration of the base are omitted: a `stepwise` base learns in the
    order of arrival and does not support pooled counts, and a `monotone` base depends on earlier
    plans.

    Parameters
    ----------
    base : Base or Planner
        Base, or object with a method `plan`.
    shape : Shape, optional
        The only shape to check, for a base that supports one shape.
    without : collection of str
        Names of checks to skip.

    Returns
    -------
    list of Check
        The checks.

    Raises
    ------
    TypeError
        If `base` is not a base.
    ValueError
        If `without` contains an unknown name.

    Examples
    --------
    >>> from belated.learner.bases import UCRL2
    >>> [check.name for check in base_checks(UCRL2(), without=["engines_agree"])][:4]
    ['runs_compiled', 'has_valid_shapes', 'is_greedy', 'stays_in_range']
    """
    if isinstance(base, type) or not isinstance(base, Base | Planner):
        raise TypeError(f"base must be a Base or have a method plan, got {base!r}.")
    omitted = set() if invalid_options(base) else {"rejects_invalid_options"}
    if not isinstance(base, Base):
        omitted.add("declares_reads")
    elif base.stepwise:
        omitted |= {"ignores_arrival_order", "accepts_pooled_counts", "declares_reads"}
    elif base.monotone:
        omitted.add("ignores_arrival_order")
    selected = select_checks(CHECKS, without, base, SHAPES if shape is None else (shape,))
    return [check for check in selected if check.name not in omitted]


def check_base(
    base: Base | Planner, *, shape: Shape | None = None, without: Collection[str] = ()
) -> None:
    """Run all checks of a base; raise AssertionError with the first failure.

    Parameters
    ----------
    base, shape, without
        See `base_checks`.
    """
    run_checks(base_checks(base, shape=shape, without=without))


def is_optimistic(base: Base | Planner, shapes: Shapes) -> None:
    """Check that V~_1 >= V*_1 in all but a share delta of runs of `base` in worlds of `shapes`."""
    broken = 0
    for seed in range(RUNS):
        world = random_world(shapes[seed % len(shapes)], seed)
        setting = Setting(
            world=world, base=base, updater=Active(), delay=geometric(2), episodes=100
        )
        run = replace(setting, engine=fastest_engine(setting)).run(seed)
        broken += run.optimism_broken > 0
    delta = base.delta if isinstance(base, Base) else 0.05
    require(
        broken <= delta * RUNS,
        f"{part_name(base)} is not optimistic: in {broken} of {RUNS} runs its value was below the "
        f"optimal value; with delta={delta:g} at most {delta * RUNS:g} are allowed.",
    )


def survives_snapshot(base: Base | Planner, shapes: Shapes) -> None:
    """Check that a learner with `base` can be restored exactly from a snapshot, for `shapes`."""
    for shape, updater in product(shapes, (Active(), Lazy(2))):
        require_restorable(part_name(base), base, updater, sample_case(shape, 5, episodes=48))


def engines_agree(base: Base | Planner, shapes: Shapes) -> None:
    """Check that `base` runs equally with every engine and planning mode, in worlds of `shapes`."""
    law = never(0.1, otherwise=geometric(3))
    can_pool = isinstance(base, Base) and not base.stepwise
    variants: Sequence[Base | Planner] = (
        with_smaller_bonuses(base) if isinstance(base, Base) else [base]
    )
    for variant, (seed, shape) in product(variants, enumerate(shapes)):
        world = random_world(shape, seed)
        setting = Setting(world=world, base=variant, updater=Lazy(2), delay=law, episodes=40)
        require_equal_runs(part_name(base), setting)
        pooled = replace(setting, updater=Active(), stages="pooled" if can_pool else "each")
        require_equal_runs(part_name(base), pooled)


CHECKS: Final = by_name(
    runs_compiled,
    plans.has_valid_shapes,
    plans.is_greedy,
    plans.stays_in_range,
    plans.is_pure,
    plans.ignores_arrival_order,
    is_optimistic,
    plans.accepts_pooled_counts,
    survives_snapshot,
    declares_reads,
    engines_agree,
    rejects_invalid_options,
)
