import subprocess
import sys

import numpy as np
import pytest

import belated as bl
from belated.mdp.deep_sea import deep_sea
from belated.mdp.garnet import garnet
from belated.mdp.gridworld import gridworld
from belated.mdp.riverswim import riverswim
from belated.mdp.worlds import KINDS, MissingExtraError, examples, look_up, parse

PLAIN = [kind for kind in KINDS if kind.needs is None]
BORROWED = [kind for kind in KINDS if kind.needs is not None]


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
    found = parse(name)
    assert found.shape == world.shape
    assert found.reward_draws == world.reward_draws
    for field in ("ptr", "succ", "prob", "rewards", "start"):
        np.testing.assert_array_equal(getattr(found, field), getattr(world, field))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.form)
def test_every_kind_has_an_example_of_its_own(kind):
    assert look_up(kind.example).kind is kind
    assert kind.about.endswith(".")
    assert kind.source


def test_there_is_an_example_of_every_kind():
    assert [named.kind for named in examples()] == list(KINDS)


@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.form)
def test_names_of_actions_and_layouts_fit_the_world(kind):
    named = look_up(kind.example)
    world = named.make()
    assert len(kind.actions) in (0, world.shape.actions)
    if isinstance(named.layout, tuple):
        assert np.prod(named.layout) == world.shape.states


@pytest.mark.parametrize("kind", BORROWED, ids=lambda kind: kind.form)
def test_worlds_that_others_wrote_are_made_on_demand(kind):
    pytest.importorskip(kind.needs[0])
    named = look_up(kind.example)
    world = named.make()
    assert len(kind.actions) in (0, world.shape.actions)
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
def test_other_names_get_a_sentence_with_all_forms(name):
    with pytest.raises(ValueError, match=r"^world is .*; it must be one of chain-S, ") as error:
        look_up(name)
    for kind in KINDS:
        assert kind.form in str(error.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("chain-1", r"^S is 1; it must be at least 2\.$"),
        ("grid-0x3", r"^rows is 0; it must be at least 1\.$"),
        ("garnet-3-2-9", r"^branching is 9; it must be at most the 3 states\.$"),
    ],
)
def test_impossible_numbers_get_the_sentence_of_the_world(name, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse(name)


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("frozen-lake-4x4", "gymnasium", "gym"), ("icu-sepsis", "icu_sepsis", "icu")],
)
def test_a_missing_extra_is_named(name, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as error:
        parse(name)
    remedy = f"pip install 'belated[{extra}]'"
    assert str(error.value) == f"world is {name!r}, which needs {package}: {remedy}."
    assert error.value.remedy == remedy


def test_looking_names_up_loads_no_extra():
    script = (
        "import sys\n"
        "from belated.mdp.worlds import examples\n"
        "examples()\n"
        "print(sorted({'gymnasium', 'icu_sepsis'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
