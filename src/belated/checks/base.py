"""Conformance suite for a base, or for a Python object with a method `plan`."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, product
from typing import Any, Final

import numpy as np

from belated.checks import samples
from belated.checks.samples import EPISODES, current_plan, make_learner, plans_equal, sample_case
from belated.checks.suite import Check, by_name, require, select_checks
from belated.delays.laws import geometric, never
from belated.episode import Shape
from belated.learner.backup import Backup, as_backup
from belated.learner.bases.base import BackupRule, Base, BaseAlgorithm
from belated.learner.plan import Plan, Planner, plan
from belated.learner.updaters import Active, Lazy
from belated.options import Stages
from belated.simulation.compiled_run import why_not_compiled
from belated.simulation.simulation import Simulation

RUNS: Final = 20
"""Number of runs in the check of optimism."""

TOLERANCE: Final = 1e-9
"""Largest difference between two values that are considered equal."""

Shapes = Sequence[Shape]
AnyBase = BaseAlgorithm | Planner

STAGES: Final[tuple[Stages, ...]] = ("each", "pooled")
SCALES: Final = (1.0, 0.1, 0.01)
"""Factors by which the checks multiply the bonus. Small factors are included because most values
equal their upper limit if the bonus is large."""


def base_checks(
    base: AnyBase, *, shape: Shape | None = None, without: Collection[str] = ()
) -> list[Check]:
    """Return the checks that apply to a base, to be called one by one.

    Checks that do not apply are omitted:

    - A `stepwise` base learns from single steps in order of arrival. The checks of the order of
      arrival, of pooled counts and of the values that a backup reads are omitted.
    - A `monotone` base prevents each Q_h(s, a) from growing from one plan to the next, so its plans
      depend on earlier plans. The check of the order of arrival is omitted.
    - An object with a method `plan` has no backup. The check of the values that a backup reads is
      omitted.

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
    omitted = set()
    if not isinstance(base, BaseAlgorithm):
        omitted = {"declares_reads"}
    elif base.stepwise:
        omitted = {"ignores_arrival_order", "accepts_pooled_counts", "declares_reads"}
    elif base.monotone:
        omitted = {"ignores_arrival_order"}
    selected = select_checks(CHECKS, without, (base, samples.SHAPES if shape is None else (shape,)))
    return [check for check in selected if check.name not in omitted]


def check_base(base: AnyBase, *, shape: Shape | None = None, without: Collection[str] = ()) -> None:
    """Run the checks of a base; raise AssertionError at the first failure.

    Parameters
    ----------
    base, shape, without
        Arguments of `base_checks`.
    """
    for check in base_checks(base, shape=shape, without=without):
        check()


def make_plan(base: AnyBase, case: samples.Case) -> Plan:
    """Return the plan of `base` for the observations of `case`; it must be a valid plan."""
    if isinstance(base, BaseAlgorithm) and base.stepwise:
        learner = make_learner(base, case)
        learner.observe(case.episodes)
        return current_plan(learner)
    counts = case.n, case.m, case.rewards
    try:
        return plan(base, *counts, episodes=EPISODES, horizon=case.shape.horizon)
    except ValueError as error:
        raise AssertionError(f"The plan of {type(base).__name__} is invalid: {error}") from error


def sample_plans(base: AnyBase, shapes: Shapes) -> Iterator[tuple[Shape, Plan]]:
    """Yield a pair (shape, plan) for each sample problem with a shape in `shapes`.

    `base` computes the plan from the observations of the sample problem.
    """
    for shape in shapes:
        for case in samples.sample_cases(shape):
            yield shape, make_plan(base, case)


def has_valid_shapes(base: AnyBase, shapes: Shapes) -> None:
    """Check that plans of `base` consist of finite arrays of the right shapes.

    A plan has three arrays: policy of shape (H, S), q of shape (H, S, A) and v of shape (H + 1, S).
    Actions must be integers in 0 .. A - 1.
    Plans are computed for problems of these `shapes`.
    """
    who = type(base).__name__
    for _, made in sample_plans(base, shapes):  # shapes and actions are checked there
        for name, array in (("q", made.q), ("v", made.v)):
            require(
                np.isfinite(array).all(),
                f"The plan of {who} has {name} that are not all finite numbers.",
            )


def is_greedy(base: AnyBase, shapes: Shapes) -> None:
    """Check that the policy of `base` is greedy with respect to q, and that v = max_a q.

    A `stepwise` base learns from single steps instead of counts. For such a base, v may be smaller
    than max_a q. Plans are computed for problems of these `shapes`.
    """
    who = type(base).__name__
    for _, made in sample_plans(base, shapes):
        q, v = np.asarray(made.q), np.asarray(made.v)
        best = q.max(axis=2)
        taken = np.take_along_axis(q, np.asarray(made.policy)[..., None], axis=2)[..., 0]
        for h, s in np.argwhere(taken < best - TOLERANCE)[:1]:
            raise AssertionError(
                f"{who} takes an action with q = {taken[h, s]} at step {h}, state {s}; the largest "
                f"q is {best[h, s]}."
            )
        gap = v[:-1] - best
        # a stepwise base may limit v but not q
        stepwise = isinstance(base, BaseAlgorithm) and base.stepwise
        for h, s in np.argwhere(gap > TOLERANCE if stepwise else abs(gap) > TOLERANCE)[:1]:
            raise AssertionError(
                f"{who} gives v[{h}, {s}] = {v[h, s]}; the largest q is {best[h, s]}."
            )


def stays_in_range(base: AnyBase, shapes: Shapes) -> None:
    """Check that values v of `base` lie between 0 and the number of remaining steps.

    Plans are computed for problems of these `shapes`.
    """
    for shape, made in sample_plans(base, shapes):
        v = np.asarray(made.v)
        left = np.arange(shape.horizon, -1, -1.0)[:, None]
        for h, s in np.argwhere((v < -TOLERANCE) | (v > left + TOLERANCE))[:1]:
            raise AssertionError(
                f"{type(base).__name__} gives v[{h}, {s}] = {v[h, s]}; with {left[h, 0]:g} steps "
                f"left it must lie in 0 .. {left[h, 0]:g}."
            )


def is_pure(base: AnyBase, shapes: Shapes) -> None:
    """Check that plans of `base` depend only on their inputs and leave the inputs unchanged.

    The inputs are the visits, the transitions and the rewards. For problems of these `shapes`, a
    plan is computed several times from the same inputs, also directly after a plan from other
    inputs; all results must be equal. If plans of `base` depend on the counts only, a learner with
    the same observations must compute the same plan.
    """
    who = type(base).__name__
    for shape in shapes:
        _, few, many = samples.sample_cases(shape)
        first = make_plan(base, many)
        make_plan(base, few)
        repeated = make_plan(base, many), make_plan(base, many)
        require(
            plans_equal(first, repeated[0]) and plans_equal(first, repeated[1]),
            f"{who} gives a different plan for the same counts when it plans again; a plan may "
            "depend only on the counts.",
        )
        learner = make_learner(base, many, planning="full")
        for episode in many.episodes[:50]:
            learner.observe([episode])
        learner.observe(many.episodes[50:])
        n, m, rewards = samples.current_counts(learner)
        require(np.array_equal(many.n, n), f"{who} changes the visits that it reads.")
        require(np.array_equal(many.m, m), f"{who} changes the transitions that it reads.")
        require(np.array_equal(many.rewards, rewards), f"{who} changes the rewards that it reads.")
        if depends_on_counts_only(base, shape):
            require(
                plans_equal(first, current_plan(learner)),
                f"{who} gives a different plan in a learner than for the same counts alone; a plan "
                "may depend only on the counts.",
            )


def depends_on_counts_only(base: AnyBase, shape: Shape) -> bool:
    """Return whether plans of `base` for a problem of size `shape` depend on the counts only.

    Otherwise the plans also depend on earlier plans, on random numbers or on the order of arrival.
    """
    if not isinstance(base, BaseAlgorithm):
        return True
    return not (base.ties == "random" or base.stepwise or base.monotone or is_sampled(base, shape))


def is_sampled(base: AnyBase, shape: Shape) -> bool:
    """Return whether plans of `base` for a problem of size `shape` use random numbers."""
    return isinstance(base, BaseAlgorithm) and base.backup_rule(shape, EPISODES).samples


def ignores_arrival_order(base: AnyBase, shapes: Shapes) -> None:
    """Check that plans of `base` do not depend on the order in which episodes arrive.

    Plans are computed for problems of these `shapes`.
    """
    for shape in shapes:
        case = sample_case(shape, 3, episodes=40)
        batches = (8, 8, 1, 40) if depends_on_counts_only(base, shape) else (8, 8)
        plans = []
        for seed, count in enumerate(batches):
            learner = make_learner(base, case, planning="full")
            for batch in np.array_split(np.random.default_rng(seed).permutation(40), count):
                learner.observe([case.episodes[i] for i in batch])
            plans.append(current_plan(learner))
        require(
            all(plans_equal(*pair) for pair in pairwise(plans)),
            f"{type(base).__name__} gives a different plan when the same episodes arrive in a "
            "different order; a plan must be a function of the counts.",
        )


def accepts_pooled_counts(base: AnyBase, shapes: Shapes) -> None:
    """Check that pooled counts give the same plan of `base` as equal counts at every step.

    Plans are computed for problems of these `shapes`.
    """
    for shape in shapes:
        if is_sampled(base, shape):  # one sample for all steps differs from a sample for each step
            continue
        case = sample_case(shape, 4, episodes=60)
        n, m, H = case.n[0], case.m[0], shape.horizon
        pooled = make_plan(base, case._replace(n=n, m=m))
        expected = make_plan(base, case._replace(n=np.stack([n] * H), m=np.stack([m] * H)))
        require(
            np.shape(pooled.v) == np.shape(expected.v)
            and np.allclose(pooled.v, expected.v, atol=TOLERANCE),
            f"{type(base).__name__} gives a different plan for pooled counts, visits (1, S, A), "
            "than for the same counts at every step, (H, S, A).",
        )


def with_smaller_bonuses(base: AnyBase) -> list[Any]:
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

    def __post_init__(self) -> None:
        for option in ("monotone", "ties"):
            object.__setattr__(self, option, getattr(self.inner, option))

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        return self.change(self.inner.backup_rule(shape, episodes))


def _read_everything(rule: BackupRule) -> BackupRule:
    return rule._replace(reads="order", reads_visits=True)


def _run_uncompiled(rule: BackupRule) -> BackupRule:
    return rule._replace(backup=Backup(as_backup(rule.backup).function, compiled=False))


def declares_reads(base: BaseAlgorithm, shapes: Shapes) -> None:
    """Check that the backup of `base` reads only the values that the base declares.

    Incremental planning relies on this declaration. The check compares incremental planning by
    `base` with full planning by a copy of `base` that declares all values, on problems of these
    `shapes`.
    """
    for scaled, shape, stages in product(with_smaller_bonuses(base), shapes, STAGES):
        case = sample_case(shape, 6, episodes=60)
        reads_all = ModifiedBase(scaled, _read_everything)
        full = make_learner(reads_all, case, planning="full", stages=stages)
        incremental = make_learner(scaled, case, stages=stages)
        rule = base.backup_rule(shape, EPISODES)
        for episode in case.episodes:
            full.observe([episode])
            incremental.observe([episode])
            require(
                plans_equal(current_plan(full), current_plan(incremental)),
                f"{type(base).__name__} declares reads={rule.reads!r} and "
                f"reads_visits={rule.reads_visits}, but reads more than that: incremental "
                "planning differs from full planning.",
            )


def runs_compiled(base: AnyBase, shapes: Shapes) -> None:
    """Check that `base` can be compiled, and that its plans are the same compiled and in Python.

    Plans are computed for problems of these `shapes`. The plans of a `stepwise` base, which learns
    from single steps instead of counts, are not compared.
    """
    world = samples.random_world(shapes[0], 0)
    setting = Simulation(world=world, base=base, updater=Active(), episodes=1)
    reason = why_not_compiled(setting.problem(0), 1)
    require(
        reason is None,
        f"{type(base).__name__} cannot run compiled: {reason}; it runs in the slower reference "
        "loop.",
    )
    assert isinstance(base, BaseAlgorithm)
    if base.stepwise:
        return
    try:
        make_learner(base, sample_case(shapes[0], 0, episodes=1))
    except TypeError as error:
        raise AssertionError(f"{type(base).__name__} cannot run compiled: {error}") from error
    cases = chain.from_iterable(map(samples.sample_cases, shapes))
    for scaled, case in product(with_smaller_bonuses(base), cases):
        python = ModifiedBase(scaled, _run_uncompiled)
        inputs = case.n, case.m, case.rewards
        try:
            with np.errstate(all="ignore"):  # compiled code also continues with inf and nan
                expected = plan(python, *inputs, episodes=EPISODES)
        except (ArithmeticError, IndexError, ValueError) as error:
            raise AssertionError(
                f"The backup of {type(base).__name__} raises {type(error).__name__} ({error}) in "
                "Python, where compiled code continues with a wrong value."
            ) from error
        require(
            plans_equal(expected, plan(scaled, *inputs, episodes=EPISODES)),
            f"The backup of {type(base).__name__} gives a different result compiled than in "
            "Python; use math functions on numbers, loops for sums, and x * x instead of x**2.",
        )


def is_optimistic(base: AnyBase, shapes: Shapes) -> None:
    """Check that optimism of `base` fails in at most a fraction delta of the runs.

    Optimism fails in a run if V~_1(s_1) < V*_1(s_1) in any episode. Delta is the failure
    probability of `base`, or 0.05 for an object with a method `plan`. The runs use random worlds of
    these `shapes`.
    """
    broken = 0
    for seed in range(RUNS):
        world = samples.random_world(shapes[seed % len(shapes)], seed)
        parts: dict[str, Any] = {"base": base, "updater": Active(), "delay": geometric(2)}
        setting = Simulation(world=world, **parts, episodes=100)
        run = replace(setting, engine=samples.fastest_engine(setting)).run(seed)
        broken += run.optimism_broken > 0
    delta = base.delta if isinstance(base, BaseAlgorithm) else 0.05
    require(
        broken <= delta * RUNS,
        f"{type(base).__name__} is not optimistic: in {broken} of {RUNS} runs its value was below "
        f"the optimal value; with delta={delta:g} at most {delta * RUNS:g} are allowed.",
    )


def survives_snapshot(base: AnyBase, shapes: Shapes) -> None:
    """Check that a learner with `base` can be restored exactly from a snapshot.

    The learners are made for problems of these `shapes`.
    """
    for shape, updater in product(shapes, (Active(), Lazy(2))):
        case = sample_case(shape, 5, episodes=48)
        samples.require_restorable(type(base).__name__, base, updater, case)


def engines_agree(base: AnyBase, shapes: Shapes) -> None:
    """Check that runs of `base` are bit-identical with every engine and planning mode.

    The runs use random worlds of these `shapes`.
    """
    law = never(0.1, otherwise=geometric(3))
    can_pool = isinstance(base, BaseAlgorithm) and not base.stepwise
    options: list[dict[str, Any]] = [
        {"updater": Lazy(2)},
        {"updater": Active(), "stages": "pooled" if can_pool else "each"},
    ]
    for scaled, (seed, shape) in product(with_smaller_bonuses(base), enumerate(shapes)):
        world = samples.random_world(shape, seed)
        for each in options:
            setting = Simulation(world=world, base=scaled, delay=law, episodes=40, **each)
            samples.require_equal_runs(type(base).__name__, setting)


CHECKS: Final = by_name(
    runs_compiled,
    has_valid_shapes,
    is_greedy,
    stays_in_range,
    is_pure,
    ignores_arrival_order,
    declares_reads,  # before what follows from a wrong declaration
    is_optimistic,
    accepts_pooled_counts,
    survives_snapshot,
    engines_agree,
)
