"""Tests of the suite for a world: built-in worlds pass, and each check has one that fails."""

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
    *(
        "garnet-8-3-3",
        "garnet-8-3-3-5",
        "garnet-8-3-3-5-7",
        "grid-3x4",
        "frozen-lake-4x4",
        "frozen-lake-8x8",
    ),
    *("cliff-walking", "taxi", "icu-sepsis"),
)
TRIED = {parse_name(name).family.pattern for name in BUILT_IN}
BUILT_IN += tuple(family.example for family in WORLD_FAMILIES if family.pattern not in TRIED)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_worlds_pass(name: str) -> None:
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


RESTRICTED = bl.MDP.dense(
    np.broadcast_to([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5]], (3, 2, 3)),
    [[0.0, 0.1], [0.5, 0.0], [0.0, 0.0]],
    start=[0.5, 0.5, 0.0],
    horizon=4,
    terminal=[2],
    allowed={0: [1]},
)


def test_a_world_with_terminal_states_and_allowed_actions_passes() -> None:
    check_world(RESTRICTED)


def change(name: str, *changes: tuple[Any, float]) -> bl.MDP:
    """Return the world with some entries of one array changed."""
    array = getattr(WORLD, name).copy()
    for at, value in changes:
        array[at] = value
    return replace(WORLD, **{name: array})


class Drifting(bl.MDP):
    """World whose start distribution differs at every access."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        return np.array([np.random.default_rng().random(), 1, 1]) if name == "start_cum" else value


def drifting() -> bl.MDP:
    return Drifting(**{field.name: getattr(WORLD, field.name) for field in fields(WORLD)})


BROKEN = [
    (
        "has_attainable_value",
        change("rewards", ((0, 2, 0), 3.0)),
        "of state 1 at step 0 must lie in 0 .. 4, got 7.3125",
    ),
    (
        "has_attainable_value",
        change("rewards", ((0, 0, 0), np.nan)),
        "The optimal value of state 0 at step 0 must .* got nan|of the greedy policy is nan",
    ),
    (
        "matches_value",
        change("cum", (4, 0.0), (6, 0.0)),
        r"The value of a policy is 2\..*, but 400 episodes have a mean return",
    ),
    ("engines_agree", drifting(), "gives a different .* equal to the bit"),
]


def test_every_check_has_a_world_that_it_fails_on() -> None:
    check_world(WORLD)
    assert {name for name, _, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize(("name", "world", "message"), BROKEN, ids=[name for name, *_ in BROKEN])
def test_a_world_that_fails_a_check_gets_a_message_that_says_why(
    name: str, world: bl.MDP, message: str
) -> None:
    [check] = [check for check in world_checks(world) if check.name == name]
    with pytest.raises(AssertionError, match=message) as raised:
        check()
    [line] = str(raised.value).splitlines()
    assert line.endswith(f". To skip this check, pass without=['{name}'].")


def test_an_object_that_is_not_a_world_is_rejected() -> None:
    with pytest.raises(TypeError, match=r"^world must be an MDP, got 'chain-3'\.$"):
        check_world("chain-3")  # type: ignore[arg-type]
