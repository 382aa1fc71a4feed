import sys

import numpy as np
import pytest

import belated as bl
from belated.mdp.classics import deep_sea, garnet, riverswim
from belated.mdp.gridworld import gridworld
from belated.mdp.worlds import WORLD_FAMILIES, MissingExtraError, example_worlds, parse_name


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("chain-30", bl.chain(30)),
        ("chain-4-right", bl.chain(4, reward_on="state_right")),
        ("riverswim-9", riverswim(9)),
        ("deep-sea-7", deep_sea(7)),
        ("deep-sea-7-noisy", deep_sea(7, noisy=True)),
        ("garnet-9-3-2", garnet(9, 3, horizon=20, branching=2)),
        ("garnet-9-3-2-5", garnet(9, 3, horizon=20, branching=2, seed=5)),
        ("grid-2x7", gridworld(2, 7, horizon=18)),
    ],
)
def test_a_name_is_a_world(name, world):
    found = bl.world(name)
    assert found.shape == world.shape
    assert found.reward_draws == world.reward_draws
    for field in ("ptr", "succ", "prob", "rewards", "start"):
        np.testing.assert_array_equal(getattr(found, field), getattr(world, field))


@pytest.mark.parametrize("family", WORLD_FAMILIES, ids=lambda family: family.pattern)
def test_the_example_of_a_family_belongs_to_it(family):
    assert parse_name(family.example).family is family
    assert family.description.endswith(".")
    assert family.source


def test_there_is_an_example_of_every_family():
    assert [named.family for named in example_worlds()] == list(WORLD_FAMILIES)


@pytest.mark.parametrize("family", WORLD_FAMILIES, ids=lambda family: family.pattern)
def test_names_of_actions_and_layouts_fit_the_world(family):
    if family.requires is not None:
        pytest.importorskip(family.requires[0])
    named = parse_name(family.example)
    world = named.build()
    assert len(family.action_names) in (0, world.shape.actions)
    if isinstance(named.layout, tuple):
        assert np.prod(named.layout) == world.shape.states


@pytest.mark.parametrize(
    "name",
    [
        "",
        "chain",
        "chain-",
        "chain-x",
        "chain--3",
        "chain-3-left",
        "Chain-3",
        "chain-³",
        " chain-3",
        "chain-3\n",
        "garnet-3-2",
        "garnet-3-2-1-",
        "grid-5",
        "grid-5x",
        "frozen-lake-5x5",
        "taxis",
    ],
)
def test_an_unknown_name_is_an_error_that_lists_all_patterns(name):
    with pytest.raises(ValueError, match=r"^world must be one of chain-S, .*, got ") as error:
        parse_name(name)
    for family in WORLD_FAMILIES:
        assert family.pattern in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chain-1", r"^S must be at least 2, got 1\.$"),
        ("grid-0x3", r"^rows must be at least 1, got 0\.$"),
        ("garnet-3-2-9", r"^branching must be at most the number of states, 3, got 9\.$"),
    ],
)
def test_numbers_out_of_range_raise_the_error_of_the_world(name, message):
    with pytest.raises(ValueError, match=message):
        bl.world(name)


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("frozen-lake-4x4", "gymnasium", "gym"), ("icu-sepsis", "icu_sepsis", "icu")],
)
def test_a_missing_extra_is_named(name, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as error:
        bl.world(name)
    command = f"pip install 'belated[{extra}]'"
    assert str(error.value) == f"world {name!r} needs {package}: {command}."
    assert error.value.install_command == command
