"""Conformance suite that every base passes with all of its options."""

import itertools
import typing
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.checks import base_checks
from belated.learner.bases import OPTIMISTIC
from random_problems import random_counts, random_episodes, random_shape

SHARED = {field.name for field in fields(bl.Base)}
EPISODES = 500


def variants() -> list[bl.Base]:
    """Every base with every choice of its own options."""
    made = []
    for base in OPTIMISTIC.values():
        hints = typing.get_type_hints(base)
        own = [field.name for field in fields(base) if field.name not in SHARED]
        choices = [typing.get_args(hints[name]) for name in own]
        for words in itertools.product(*choices):
            made.append(base(**dict(zip(own, words, strict=True))))
    return made


def label(base: bl.Base) -> str:
    own = [getattr(base, field.name) for field in fields(base) if field.name not in SHARED]
    return "-".join([base.name, *own])


every_variant = pytest.mark.parametrize("base", variants(), ids=label)
every_base = pytest.mark.parametrize("base", [base() for base in OPTIMISTIC.values()], ids=label)
every_class = pytest.mark.parametrize("base", list(OPTIMISTIC.values()), ids=list(OPTIMISTIC))


def cases(seed: int, count: int) -> list[tuple[bl.Shape, Any, Any, Any]]:
    """Shapes with visits, transitions and rewards."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        shape = random_shape(rng, least=1)
        n, m = random_counts(rng, shape, most=int(rng.choice([5, 60, 5000])))
        made.append((shape, n, m, rng.random(shape.table)))
    return made


def left(shape: bl.Shape) -> Any:
    """H - h + 1 for h = 1 .. H, as (H, 1, 1)."""
    return np.arange(shape.horizon, 0, -1.0)[:, None, None]


def learner(base: bl.Base, shape: bl.Shape, rewards: Any, **options: Any) -> bl.Learner:
    return bl.Learner(
        shape, base=base, updater=bl.Active(), rewards=rewards, episodes=EPISODES, **options
    )


def table(learner: bl.Learner) -> dict[str, Any]:
    made: dict[str, Any] = learner.snapshot()["instances"][0]["table"]
    return {**made, "q": made["q"].reshape(learner.shape.table)}


def test_the_seven_bases_of_the_paper_are_there_and_every_option_is_tried() -> None:
    paper = {"ubev", "ucbvi-ch", "ucbvi-bf", "ucrl2", "ucrl2b", "kl-ucrl", "chi2-ucrl"}
    assert paper <= set(OPTIMISTIC)
    names = {label(base) for base in variants()}
    assert {"ucbvi-bf-two_term", "ucrl2-bonus-jaksch", "kl-ucrl-exact-uniform"} <= names


@every_variant
def test_every_variant_is_optimistic_stays_in_range_and_declares_what_it_reads(
    base: bl.Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All checks run for one variant of each base, see tests/checks."""
    monkeypatch.setattr("belated.checks.base.SCALES", (0.1,))
    for check in base_checks(base, shape=bl.Shape(3, 2, 3)):
        if check.name in ("is_optimistic", "stays_in_range", "declares_reads"):
            check()


@pytest.mark.plain
@every_variant
@pytest.mark.parametrize("scale", [0, 1])
def test_nothing_observed_is_worth_all_that_could_follow(base: bl.Base, scale: int) -> None:
    rng = np.random.default_rng(3)
    shape = bl.Shape(3, 2, 3)
    rewards = rng.random(shape.table)
    nothing = np.zeros((3, 3, 2, 3))
    q = bl.plan(
        replace(base, scale=scale), nothing.sum(axis=3), nothing, rewards, episodes=EPISODES
    ).q
    whole_simplex = getattr(base, "form", "") == "exact" or base.name == "ubev"
    best = 0.0
    for h in (2, 1, 0):
        follows = best if whole_simplex else 2.0 - h
        np.testing.assert_allclose(q[h], np.minimum(3.0 - h, rewards[h] + follows), rtol=1e-15)
        best = q[h].max()


@pytest.mark.parametrize(
    "base",
    [
        base
        for base in variants()
        if getattr(base, "form", "") == "exact" or label(base) in ("ucbvi-ch-H", "ubev-H-h")
    ],
    ids=label,
)
def test_more_doubt_never_lowers_a_value(base: bl.Base) -> None:
    """A larger set has a larger maximum; a bonus made of V's variance or span may well fall."""
    for _, n, m, rewards in cases(7, 12):
        values = [
            bl.plan(replace(base, scale=scale), n, m, rewards, episodes=EPISODES).q
            for scale in (0.0, 0.03, 0.3, 1.0)
        ]
        for less, more in itertools.pairwise(values):
            assert (less <= more + 1e-9).all()


@every_variant
def test_without_doubt_a_well_known_world_has_its_true_values(base: bl.Base) -> None:
    """Counts that are proportional to the truth, and a scale of zero: V~ is V*."""
    rng = np.random.default_rng(8)
    shape = bl.Shape(3, 2, 4)
    m = rng.integers(1, 9, (4, 3, 2, 3))
    rewards = rng.random(shape.table)
    world = bl.MDP.dense(m / m.sum(axis=3, keepdims=True), rewards, start=1)
    plan = bl.plan(replace(base, scale=0), m.sum(axis=3), m, rewards, episodes=EPISODES)
    assert plan.v[0, 1] == pytest.approx(bl.optimal_value(world), abs=1e-12)


@pytest.mark.parametrize(
    "exact", [base for base in variants() if getattr(base, "form", "") == "exact"], ids=label
)
def test_the_exact_form_is_never_above_the_bonus_form(exact: Any) -> None:
    below = False
    for _, n, m, rewards in cases(12, 40):
        for scale in (0.02, 0.3, 1.0):
            lower, upper = (
                bl.plan(replace(exact, form=form, scale=scale), n, m, rewards, episodes=EPISODES).q
                for form in ("exact", "bonus")
            )
            assert (lower <= upper + 1e-12).all()
            below |= bool((lower < upper - 1e-3).any())
    assert below


@every_base
def test_random_ties_take_each_of_the_best_actions_equally_often(base: bl.Base) -> None:
    rewards = np.array([[[0.5, 0.1, 0.5, 0.5]]])
    nothing = np.zeros((1, 1, 4, 1))
    tied = replace(base, ties="random")
    drawn = [
        bl.plan(tied, nothing[..., 0], nothing, rewards, episodes=9, seed=seed).policy[0, 0]
        for seed in range(300)
    ]
    counts = np.bincount(drawn, minlength=4)
    assert counts[1] == 0
    assert (counts[[0, 2, 3]] > 70).all()


@every_base
def test_a_monotone_q_never_grows(base: bl.Base) -> None:
    rng = np.random.default_rng(16)
    shape = bl.Shape(3, 2, 4)
    rewards = rng.random(shape.table)
    episodes = random_episodes(rng, shape, 80)
    grew = {}
    for monotone in (True, False):
        taught = learner(replace(base, scale=0.05, monotone=monotone), shape, rewards)
        grew[monotone] = False
        before = table(taught)["q"]
        for episode in episodes:
            taught.observe([episode])
            after = table(taught)
            grew[monotone] |= bool((after["q"] > before).any())
            np.testing.assert_array_equal(after["v"][:-1], after["q"].max(axis=2))
            before = after["q"]
    assert grew == {True: False, False: True}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"visits": np.zeros((2, 2, 2))},
            r"^visits must have shape .*, got \(2, 2, 2\)\.$",
        ),
        ({"transitions": np.zeros((2, 2))}, r"^transitions must have shape .*, got \(2, 2\)\.$"),
        ({"transitions": np.full((2, 3, 2, 3), 0.5)}, r"^transitions must be whole numbers"),
        ({"transitions": np.full((2, 3, 2, 3), np.nan)}, r"^transitions must be whole numbers"),
        (
            {"visits": np.full((2, 3, 2), -1)},
            r"^visits must be whole numbers of at least 0, got -1\.$",
        ),
        ({"visits": np.ones((2, 3, 2))}, r"^visits\[0, 0, 0\] must be 0, .*, got 1\.$"),
        (
            {"rewards": np.full((2, 3, 2), np.nan)},
            r"^rewards must lie in .*, got nan at \[0",
        ),
        ({"rewards": np.full((3, 2), 1.5)}, r"^rewards must lie in \[0, 1\], got 1\.5 at \[0, 0\]"),
        ({"rewards": np.zeros((3, 3))}, r"^rewards must have shape .*, got \(3, 3\)\.$"),
        ({"episodes": 0}, r"^episodes must be at least 1, got 0\.$"),
        ({"horizon": 3}, r"^horizon must be 2, .*, got 3\.$"),
        ({"visits": np.zeros((3, 2)), "transitions": np.zeros((3, 2, 3))}, r"^horizon is missing;"),
        (
            {
                "visits": np.zeros((3, 2)),
                "transitions": np.zeros((3, 2, 3)),
                "rewards": np.zeros((3, 2)),
                "horizon": 0,
            },
            r"^horizon must be at least 1, got 0\.$",
        ),
        ({"base": "ucrl"}, r"^base must be one of .*, got 'ucrl'\."),
    ],
)
def test_a_plan_refuses_what_are_no_counts(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "base": bl.UCRL2(),
        "visits": np.zeros((2, 3, 2)),
        "transitions": np.zeros((2, 3, 2, 3)),
        "rewards": np.zeros((2, 3, 2)),
        "episodes": 10,
    }
    bl.plan(**given)
    with pytest.raises((TypeError, ValueError), match=message):
        bl.plan(**{**given, **change})
