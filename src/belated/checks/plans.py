"""Checks of the plans of a base or of a Python object with a method `plan`."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Final

import numpy as np

from belated.checks.samples import (
    EPISODES,
    Case,
    current_counts,
    current_plan,
    make_learner,
    plans_equal,
    sample_case,
    sample_cases,
)
from belated.checks.suite import part_name, require
from belated.episode import Shape
from belated.learner.bases.base import BaseAlgorithm
from belated.learner.plan import Plan, Planner, plan

TOLERANCE: Final = 1e-9
"""Largest difference between two values that are considered equal."""

Shapes = Sequence[Shape]


def make_plan(base: BaseAlgorithm | Planner, case: Case) -> Plan:
    """Return the plan of `base` for the observations of `case`."""
    if isinstance(base, BaseAlgorithm) and base.stepwise:
        learner = make_learner(base, case)
        learner.observe(case.episodes)
        return current_plan(learner)
    horizon = case.shape.horizon
    return plan(base, case.n, case.m, case.rewards, episodes=EPISODES, horizon=horizon)


def sample_plans(base: BaseAlgorithm | Planner, shapes: Shapes) -> Iterator[tuple[Shape, Plan]]:
    """Yield a pair (shape, plan) for each sample problem with a shape in `shapes`.

    `base` computes the plan from the observations of the sample problem.
    """
    for shape in shapes:
        for case in sample_cases(shape):
            yield shape, make_plan(base, case)


def has_valid_shapes(base: BaseAlgorithm | Planner, shapes: Shapes) -> None:
    """Check that plans of `base` consist of finite arrays of the right shapes.

    A plan has three arrays: policy of shape (H, S), q of shape (H, S, A) and v of shape (H + 1, S).
    Actions must be integers in 0 .. A - 1, and v[H], the values after the last step, must be 0.
    Plans are computed for problems of these `shapes`.
    """
    who = part_name(base)
    for shape, case in product(shapes, range(3)):
        try:
            made = make_plan(base, sample_cases(shape)[case])
        except ValueError as error:
            raise AssertionError(f"The plan of {who} is invalid: {error}") from error
        policy, q, v = (np.asarray(array) for array in (made.policy, made.q, made.v))
        require(
            q.shape == shape.table,
            f"The plan of {who} must have q of shape {shape.table}, got {q.shape}.",
        )
        for name, array in (("policy", policy), ("q", q), ("v", v)):
            require(
                array.dtype.kind in "iuf" and np.isfinite(array).all(),
                f"The plan of {who} has {name} that are not all finite numbers.",
            )
        require(
            policy.dtype.kind in "iu",
            f"The policy of {who} has type {policy.dtype}; actions must be integers.",
        )
        require((v[-1] == 0).all(), f"v[H] of {who} must be 0 after the last step, got {v[-1]}.")


def is_greedy(base: BaseAlgorithm | Planner, shapes: Shapes) -> None:
    """Check that the policy of `base` is greedy with respect to q, and that v = max_a q.

    A `stepwise` base learns from single steps instead of counts. For such a base, v may be smaller
    than max_a q. Plans are computed for problems of these `shapes`.
    """
    who = part_name(base)
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


def stays_in_range(base: BaseAlgorithm | Planner, shapes: Shapes) -> None:
    """Check that values v of `base` lie between 0 and the number of remaining steps.

    Plans are computed for problems of these `shapes`.
    """
    for shape, made in sample_plans(base, shapes):
        v = np.asarray(made.v)
        left = np.arange(shape.horizon, -1, -1.0)[:, None]
        for h, s in np.argwhere((v < -TOLERANCE) | (v > left + TOLERANCE))[:1]:
            raise AssertionError(
                f"{part_name(base)} gives v[{h}, {s}] = {v[h, s]}; with {left[h, 0]:g} steps left "
                f"it must lie in 0 .. {left[h, 0]:g}."
            )


def is_pure(base: BaseAlgorithm | Planner, shapes: Shapes) -> None:
    """Check that plans of `base` depend only on their inputs and leave the inputs unchanged.

    The inputs are the visits, the transitions and the rewards. For problems of these `shapes`, a
    plan is computed several times from the same inputs, also directly after a plan from other
    inputs; all results must be equal. If plans of `base` depend on the counts only, a learner with
    the same observations must compute the same plan.
    """
    who = part_name(base)
    for shape in shapes:
        _, few, many = sample_cases(shape)
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
        before = {"visits": many.n, "transitions": many.m, "rewards": many.rewards}
        for (name, expected), array in zip(before.items(), current_counts(learner), strict=True):
            require(np.array_equal(expected, array), f"{who} changes the {name} that it reads.")
        if depends_on_counts_only(base, shape):
            require(
                plans_equal(first, current_plan(learner)),
                f"{who} gives a different plan in a learner than for the same counts alone; a plan "
                "may depend only on the counts.",
            )


def depends_on_counts_only(base: BaseAlgorithm | Planner, shape: Shape) -> bool:
    """Return whether plans of `base` for a problem of size `shape` depend on the counts only.

    Otherwise the plans also depend on earlier plans, on random numbers or on the order of arrival.
    """
    if not isinstance(base, BaseAlgorithm):
        return True
    return not (base.random_ties or base.stepwise or base.is_monotone or is_sampled(base, shape))


def is_sampled(base: BaseAlgorithm | Planner, shape: Shape) -> bool:
    """Return whether plans of `base` for a problem of size `shape` use random numbers."""
    return isinstance(base, BaseAlgorithm) and base.backup_rule(shape, EPISODES).samples


def ignores_arrival_order(base: BaseAlgorithm | Planner, shapes: Shapes) -> None:
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
            f"{part_name(base)} gives a different plan when the same episodes arrive in a "
            "different order; a plan must be a function of the counts.",
        )


def accepts_pooled_counts(base: BaseAlgorithm | Planner, shapes: Shapes) -> None:
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
            f"{part_name(base)} gives a different plan for pooled counts, visits (1, S, A), than "
            "for the same counts at every step, (H, S, A).",
        )
