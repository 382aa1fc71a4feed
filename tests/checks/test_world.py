"""The suite for a world: what is built in passes, and each check fails on one made to fail it."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.checks import check_world, world_checks
from belated.checks.world import CHECKS
from belated.mdp.worlds import WORLD_FAMILIES, parse_name

BUILT_IN = (
    *("chain-6", "chain-6-right", "chain-30", "riverswim-6", "deep-sea-5", "deep-sea-5-noisy"),
    *("garnet-8-3-3", "garnet-8-3-3-5", "grid-3x4", "frozen-lake-4x4", "frozen-lake-8x8"),
    *("cliff-walking", "taxi", "icu-sepsis"),
)


def test_every_kind_of_world_is_in_the_table() -> None:
    patterns = {family.pattern for family in WORLD_FAMILIES}
    assert {parse_name(name).family.pattern for name in BUILT_IN} == patterns


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_is_built_in_passes(name: str) -> None:
    check_world(bl.world(name))


def test_a_world_whose_rows_depend_on_the_stage_passes() -> None:
    random = np.random.default_rng(0)
    p, r = random.dirichlet(np.ones(3), (4, 3, 2)), random.random((4, 3, 2))
    check_world(bl.MDP.dense(p, r, start=[0.5, 0.25, 0.25], reward_draws="beta"))


WORLD = bl.MDP.dense(
    [[[0.5, 0.5, 0.0]] * 2, [[0.0, 0.5, 0.5]] * 2, [[0.0, 0.0, 1.0]] * 2],
    [[0.0, 0.1], [0.5, 0.0], [1.0, 0.2]],
    start=[0.5, 0.5, 0.0],
    horizon=4,
)


def but(name: str, *changes: tuple[Any, float]) -> bl.MDP:
    """The world with some entries of one array changed."""
    array = getattr(WORLD, name).copy()
    for at, value in changes:
        array[at] = value
    return replace(WORLD, **{name: array})


def impossible() -> bl.MDP:
    """Draws follow the sums, and these lead where there is no chance."""
    return replace(but("prob", (0, 1.0), (1, 0.0)), cum=WORLD.cum)


class Drifting(bl.MDP):
    """Its first state is drawn anew whenever somebody looks."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return np.array([np.random.default_rng().random(), 1, 1]) if name == "start_cum" else value


def drifting() -> bl.MDP:
    return Drifting(**{field.name: getattr(WORLD, field.name) for field in fields(WORLD)})


BROKEN = [
    ("rows", but("prob", (0, 0.7)), r"The chances of stage 0, state 0, action 0 are \[0.7 0.5\]"),
    ("rows", but("prob", (0, -0.5), (1, 1.5)), "they must be at least 0 and sum to 1"),
    ("rows", but("cum", (0, 0.9)), r"add up to \[0.5 1. \], but are drawn by \[0.9 1. \]"),
    ("rows", but("succ", (0, 1)), r"of stage 0, state 0, action 0 are \[1 1\]; they must rise"),
    ("rows", but("succ", (1, 3)), "succ holds 3; states are 0 .. 2"),
    ("rows", but("ptr", (1, 0)), "ptr must rise from 0 to the number of successors"),
    ("rows", replace(WORLD, ptr=WORLD.ptr[:-1]), "ptr has 6 entries; it must have"),
    ("rewards", but("rewards", ((0, 1, 0), 1.5)), "of stage 0, state 1, action 0 is 1.5; it must"),
    ("rewards", replace(WORLD, rewards=WORLD.rewards[0]), r"rewards has shape \(3, 2\); it must"),
    ("start", but("start", (0, 0.6)), r"The chances of the first state are \[0.6 0.5 0. \]"),
    ("start", replace(WORLD, start=WORLD.start[:2]), r"start has shape \(2,\); it must have"),
    (
        "value",
        but("rewards", ((0, 2, 0), 3.0)),
        "of state 1 at step 0 is 7.3125; it must lie in 0 .. 4",
    ),
    ("value", but("rewards", ((0, 0, 0), np.nan)), "The optimal value of state 0 at step 0 is nan"),
    ("playable", impossible(), "Action . in state 0 at step . leads to state 1, which has no"),
    ("playable", but("start", (0, 1.0), (1, 0.0)), "An episode begins in state 1, which has no"),
    ("playable", but("rewards", ((0, 1, 0), 1.5)), r"has rewards\[.\] = 1.5; rewards lie in"),
    ("addressed", drifting(), "is another one when it is played again; a world must not change"),
    (
        "returns",
        but("cum", (4, 0.0), (6, 0.0)),
        r"A policy is worth 2\..*, but 400 episodes earned",
    ),
    ("engines", drifting(), "does not give the same .* they must agree to the bit"),
]


def test_every_check_has_a_world_that_it_fails_on() -> None:
    check_world(WORLD)
    assert {name for name, _, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize(("name", "world", "sentence"), BROKEN, ids=[name for name, *_ in BROKEN])
def test_a_world_that_breaks_a_promise_is_told_which(
    name: str, world: bl.MDP, sentence: str
) -> None:
    [check] = [check for check in world_checks(world) if check.name == name]
    with pytest.raises(AssertionError, match=sentence) as raised:
        check()
    [line] = str(raised.value).splitlines()
    assert line.endswith(f". A part that does not claim this says without=['{name}'].")


def test_what_is_no_world_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^world is 'chain-3'; it must be an MDP\.$"):
        check_world("chain-3")  # type: ignore[arg-type]
