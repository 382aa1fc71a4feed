"""Conformance suite for a base."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from belated.checks import plans
from belated.checks.backups import declares_reads, runs_compiled, with_smaller_bonuses
from belated.checks.plans import Shapes
from belated.checks.samples import (
    SHAPES,
    fastest_engine,
    random_world,
    require_equal_runs,
    require_restorable,
    sample_case,
)
from belated.checks.suite import (
    Check,
    by_name,
    invalid_options,
    part_name,
    rejects_invalid_options,
    require,
    run_checks,
    select_checks,
)
from belated.delays.laws import geometric, never
from belated.episode import Shape
from belated.learner.bases.base import BaseAlgorithm
from belated.learner.plan import Planner
from belated.learner.updaters import Active, Lazy
from belated.simulation.simulation import Simulation

RUNS: Final = 20
"""Number of runs in the check of optimism."""


def base_checks(
    base: BaseAlgorithm | Planner, *, shape: Shape | None = None, without: Collection[str] = ()
) -> list[Check]:
    """Return the checks that apply to a base, to be called one by one.

    Checks that do not apply are omitted:

    - A `stepwise` base learns from single steps in order of arrival. The checks of the order of
      arrival, of pooled counts and of the values that a backup reads are omitted.
    - A `monotone` base prevents each Q_h(s, a) from growing from one plan to the next, so its plans
      depend on earlier plans. The check of the order of arrival is omitted.
    - An object with a method `plan` has no backup. The check of the values that a backup reads is
      omitted.
    - If a base has no numeric or Literal options, the check of invalid options is omitted.

    Parameters
    ----------
    base : Base or Planner
        Base to check, or an object with a method `plan`.
    shape : Shape, optional
        Size (S, A, H) of the problems in the checks, for a base that supports only one size. By
        default the checks use problems of several sizes.
    without : collection of str
        Names of checks to skip.

    Returns
    -------
    list of Check
        The checks.

    Raises
    ------
    TypeError
        If `base` is neither a base nor an object with a method `plan`.
    ValueError
        If `without` contains an unknown name.

    Examples
    --------
    >>> from belated.learner.bases import UCRL2
    >>> [check.name for check in base_checks(UCRL2(), without=["engines_agree"])][:4]
    ['runs_compiled', 'has_valid_shapes', 'is_greedy', 'stays_in_range']
    """
    if isinstance(base, type) or not isinstance(base, BaseAlgorithm | Planner):
        raise TypeError(f"base must be a Base or have a method plan, got {base!r}.")
    omitted = set() if invalid_options(base) else {"rejects_invalid_options"}
    if not isinstance(base, BaseAlgorithm):
        omitted.add("declares_reads")
    elif base.stepwise:
        omitted |= {"ignores_arrival_order", "accepts_pooled_counts", "declares_reads"}
    elif base.is_monotone:
        omitted.add("ignores_arrival_order")
    selected = select_checks(CHECKS, without, base, SHAPES if shape is None else (shape,))
    return [check for check in selected if check.name not in omitted]


def check_base(
    base: BaseAlgorithm | Planner, *, shape: Shape | None = None, without: Collection[str] = ()
) -> None:
    """Run the checks of a base; raise AssertionError at the first failure.

    Parameters
    ----------
    base, shape, without
        Arguments of `base_checks`.
    """
    run_checks(base_checks(base, shape=shape, without=without))


def is_optimistic(base: BaseAlgorithm | Planner, shapes: Shapes) -> None:
    """Check that optimism of `base` fails in at most a fraction delta of the runs.

    Optimism fails in a run if V~_1(s_1) < V*_1(s_1) in any episode. Delta is the failure
    probability of `base`, or 0.05 for an object with a method `plan`. The runs use random worlds of
    these `shapes`.
    """
    broken = 0
    for seed in range(RUNS):
        world = random_world(shapes[seed % len(shapes)], seed)
        setting = Simulation(
            world=world, base=base, updater=Active(), delay=geometric(2), episodes=100
        )
        run = replace(setting, engine=fastest_engine(setting)).run(seed)
        broken += run.optimism_broken > 0
    delta = base.failure_probability if isinstance(base, BaseAlgorithm) else 0.05
    require(
        broken <= delta * RUNS,
        f"{part_name(base)} is not optimistic: in {broken} of {RUNS} runs its value was below the "
        f"optimal value; with delta={delta:g} at most {delta * RUNS:g} are allowed.",
    )


def survives_snapshot(base: BaseAlgorithm | Planner, shapes: Shapes) -> None:
    """Check that a learner with `base` can be restored exactly from a snapshot.

    The learners are made for problems of these `shapes`.
    """
    for shape, updater in product(shapes, (Active(), Lazy(2))):
        require_restorable(part_name(base), base, updater, sample_case(shape, 5, episodes=48))


def engines_agree(base: BaseAlgorithm | Planner, shapes: Shapes) -> None:
    """Check that runs of `base` are bit-identical with every engine and planning mode.

    The runs use random worlds of these `shapes`.
    """
    law = never(0.1, otherwise=geometric(3))
    can_pool = isinstance(base, BaseAlgorithm) and not base.stepwise
    variants: Sequence[BaseAlgorithm | Planner] = (
        with_smaller_bonuses(base) if isinstance(base, BaseAlgorithm) else [base]
    )
    for variant, (seed, shape) in product(variants, enumerate(shapes)):
        world = random_world(shape, seed)
        setting = Simulation(world=world, base=variant, updater=Lazy(2), delay=law, episodes=40)
        require_equal_runs(part_name(base), setting)
        pooled = replace(
            setting,
            world=random_world(shape, seed, climbs=True),
            updater=Active(),
            stages="pooled" if can_pool else "each",
        )
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
