"""Checks of a base's plans, whether it is compiled or a plain Python object."""

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Final

import numpy as np

from belated.checks.learners import counts_in, learner_of, plan_in, same_plan
from belated.checks.samples import EPISODES, Case, cases, observed
from belated.checks.suite import called, hold
from belated.episode import Floats, Ints, Shape
from belated.learner.bases.base import Base
from belated.learner.plan import Plan, Planner, plan

CLOSE: Final = 1e-9
INPUTS: Final = ("visits", "transitions", "rewards")

Shapes = Sequence[Shape]


def planned(base: Base | Planner, case: Case) -> Plan:
    """What the base makes of a case."""
    if not isinstance(base, Base):
        return base.plan(case.n.copy(), case.m.copy(), case.rewards.copy(), EPISODES)
    if not base.stepwise:
        return plan(base, case.n, case.m, case.rewards, episodes=EPISODES)
    learner = learner_of(base, case)
    learner.observe(case.episodes)
    return plan_in(learner)


def fits(base: Base | Planner, shapes: Shapes) -> None:
    """A plan is a policy (H, S), q (H, S, A) and v (H + 1, S): finite, and v is 0 at the end."""
    for case in chain.from_iterable(map(cases, shapes)):
        H, S, A = case.shape.table
        made = planned(base, case)
        for name, wanted in (("policy", (H, S)), ("q", (H, S, A)), ("v", (H + 1, S))):
            array = np.asarray(getattr(made, name, None))
            hold(
                array.shape == wanted,
                f"The plan of {called(base)} has {name} of shape {array.shape}; "
                f"it must be {wanted}.",
            )
            hold(
                array.dtype.kind in "iuf" and np.isfinite(array).all(),
                f"The plan of {called(base)} has {name} that are not all finite numbers.",
            )
        policy, v = np.asarray(made.policy), np.asarray(made.v)
        hold(
            policy.dtype.kind in "iu",
            f"The policy of {called(base)} is of type {policy.dtype}; actions are integers.",
        )
        for action in policy[(policy < 0) | (policy >= A)][:1]:
            raise AssertionError(
                f"The policy of {called(base)} holds action {action}; allowed are 0 .. {A - 1}."
            )
        hold((v[H] == 0).all(), f"{called(base)} gives v[H] = {v[H]}; nothing follows, so it is 0.")


def is_greedy(base: Base | Planner, shapes: Shapes) -> None:
    """The policy takes an action with the largest q, and v is that q."""
    for case in chain.from_iterable(map(cases, shapes)):
        made = planned(base, case)
        q, v = np.asarray(made.q), np.asarray(made.v)
        best = q.max(axis=2)
        taken = np.take_along_axis(q, np.asarray(made.policy)[..., None], axis=2)[..., 0]
        for h, s in np.argwhere(taken < best - CLOSE)[:1]:
            raise AssertionError(
                f"{called(base)} takes an action worth {taken[h, s]} at step {h}, state {s}, "
                f"where the best is worth {best[h, s]}."
            )
        gap = v[:-1] - best
        # a base that learns step by step may cap v and let q be
        wrong = gap > CLOSE if isinstance(base, Base) and base.stepwise else abs(gap) > CLOSE
        for h, s in np.argwhere(wrong)[:1]:
            raise AssertionError(
                f"{called(base)} gives v[{h}, {s}] = {v[h, s]}; the largest q there is "
                f"{best[h, s]}."
            )


def stays_in_range(base: Base | Planner, shapes: Shapes) -> None:
    """No v promises less than nothing, or more than a reward of 1 at every step that is left."""
    for case in chain.from_iterable(map(cases, shapes)):
        v = np.asarray(planned(base, case).v)
        left = np.arange(case.shape.horizon, -1, -1.0)[:, None]
        for h, s in np.argwhere((v < -CLOSE) | (v > left + CLOSE))[:1]:
            raise AssertionError(
                f"{called(base)} gives v[{h}, {s}] = {v[h, s]}; with {left[h, 0]:g} steps left "
                f"it must lie in 0 .. {left[h, 0]:g}."
            )


def is_pure(base: Base | Planner, shapes: Shapes) -> None:
    """The same counts give the same plan, whatever was planned before, and stay as they are."""
    for shape in shapes:
        _, little, much = cases(shape)
        first = planned(base, much)
        planned(base, little)
        again = planned(base, much), planned(base, much)
        hold(
            same_plan(first, again[0]) and same_plan(first, again[1]),
            f"{called(base)} makes another plan of the same counts when it is asked again; "
            "a plan may depend on nothing else.",
        )
        learner = learner_of(base, much, planning="full")
        for episode in much.episodes[:50]:
            learner.observe([episode])
        learner.observe(much.episodes[50:])
        now = counts_in(learner) if isinstance(base, Base) else used(base, much)
        given = much.n, much.m, much.rewards
        for name, before, after in zip(INPUTS, given, now, strict=True):
            hold(
                np.array_equal(before, after),
                f"{called(base)} changes the {name} it is given; it may only read them.",
            )
        if timeless(base, shape):
            hold(
                same_plan(first, plan_in(learner)),
                f"{called(base)} plans otherwise in a learner than from the same counts alone; "
                "a plan may depend on nothing else.",
            )


def used(base: Planner, case: Case) -> tuple[Ints, Ints, Floats]:
    """What a base was given, after it has planned."""
    given = case.n.copy(), case.m.copy(), case.rewards.copy()
    base.plan(*given, EPISODES)
    return given


def timeless(base: Base | Planner, shape: Shape) -> bool:
    """Whether the number of earlier plans cannot matter."""
    if not isinstance(base, Base):
        return True
    return not (base.ties == "random" or base.stepwise or base.monotone or draws(base, shape))


def draws(base: Base | Planner, shape: Shape) -> bool:
    """Whether its plans are drawn at random."""
    return isinstance(base, Base) and base.kernel(shape, EPISODES).drawn


def ignores_order(base: Base | Planner, shapes: Shapes) -> None:
    """The order in which episodes come back cannot change a plan."""
    for shape in shapes:
        some = observed(shape, 3, episodes=40)
        batches = (8, 8, 1, 40) if timeless(base, shape) else (8, 8)
        made = []
        for seed, parts in enumerate(batches):
            learner = learner_of(base, some, planning="full")
            for part in np.array_split(np.random.default_rng(seed).permutation(40), parts):
                learner.observe([some.episodes[i] for i in part])
            made.append(plan_in(learner))
        for one, other in pairwise(made):
            hold(
                same_plan(one, other),
                f"{called(base)} makes another plan when the same episodes come back in another "
                "order; a plan is a function of the counts.",
            )


def takes_pooled_counts(base: Base | Planner, shapes: Shapes) -> None:
    """Counts pooled over the stages mean the same as those counts at every stage."""
    for shape in shapes:
        if draws(base, shape):  # one draw for all stages is not a draw for each
            continue
        some = observed(shape, 4, episodes=60)
        n, m, H = some.n[0], some.m[0], shape.horizon
        if isinstance(base, Base):
            one = plan(base, n, m, some.rewards, episodes=EPISODES, horizon=H)
        else:
            one = base.plan(n[None].copy(), m[None].copy(), some.rewards.copy(), EPISODES)
        spread = some._replace(n=np.stack([n] * H), m=np.stack([m] * H))
        other = planned(base, spread)
        hold(
            np.shape(one.v) == np.shape(other.v) and np.allclose(one.v, other.v, atol=CLOSE),
            f"{called(base)} plans otherwise from counts pooled over the stages, "
            f"visits (1, S, A), than from the same counts at every stage, (H, S, A).",
        )
