"""Product states: names, indices, coarsening, and use as a number of states."""

import numpy as np
import pytest

import belated as bl
from belated.factored_states import States

FACTORS = {"stage": ["new", "returning"], "severity": ["mild", "moderate", "severe"]}


def test_names_join_one_value_per_factor_and_the_last_factor_varies_fastest() -> None:
    assert list(States(FACTORS).names) == [
        "new/mild",
        "new/moderate",
        "new/severe",
        "returning/mild",
        "returning/moderate",
        "returning/severe",
    ]


def test_index_and_name_are_inverse() -> None:
    states = bl.states(**FACTORS)
    for i, name in enumerate(states):
        stage, severity = name.split("/")
        assert states.index(name) == states.index(severity=severity, stage=stage) == i
        assert states.name(i) == name


def test_integers_are_values_too() -> None:
    states = bl.states(week=range(3))
    assert states.names == ("0", "1", "2")
    assert states.index(week=2) == 2


def test_states_are_accepted_as_a_number_of_states() -> None:
    states = bl.states(**FACTORS)
    assert bl.Shape(states, 2, 4) == bl.Shape(6, 2, 4)
    assert np.zeros(states).shape == (6,)


def test_dropping_a_factor_maps_fine_states_to_coarse_ones() -> None:
    states = bl.states(**FACTORS)
    coarse, index = states.drop("stage")
    assert coarse == bl.states(severity=FACTORS["severity"])
    assert index.tolist() == [0, 1, 2, 0, 1, 2]
    assert index[[5, 3]].tolist() == [2, 0]


def test_merging_values_maps_fine_states_to_coarse_ones() -> None:
    coarse, index = bl.states(**FACTORS).merge(severity={"moderate": "severe"})
    assert coarse.names == ("new/mild", "new/severe", "returning/mild", "returning/severe")
    assert index.tolist() == [0, 1, 1, 2, 3, 3]


def test_merging_everything_of_a_factor_keeps_the_others_apart() -> None:
    coarse, index = bl.states(a=["x", "y"], b=["u", "v"]).merge(a={"x": "any", "y": "any"})
    assert coarse.names == ("any/u", "any/v")
    assert index.tolist() == [0, 1, 0, 1]


def test_states_print_as_they_are_written() -> None:
    assert repr(bl.states(stage=["new", "old"])) == "states(stage=['new', 'old'])"


def test_equal_states_have_the_same_factors_in_the_same_order() -> None:
    assert States({"a": ["1"], "b": ["2"]}) == bl.states(a=[1], b=[2])
    assert States({"b": ["2"], "a": ["1"]}) != bl.states(a=[1], b=[2])


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ({}, "At least one factor"),
        ({"stage": []}, "stage must have at least one value"),
        ({"stage": ["new", "new"]}, "must differ"),
        ({"stage": [1, "1"]}, "must differ"),
        ({"stage": ["new/old"]}, "contain '/'"),
        ({"stage": [""]}, "empty"),
    ],
)
def test_invalid_factors_are_refused(factors: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        States(factors)


@pytest.mark.parametrize("factors", [{"stage": "new"}, {"stage": [1.5]}, {"stage": [True]}])
def test_values_must_be_a_list_of_text_or_integers(factors: dict[str, list[str]]) -> None:
    with pytest.raises(TypeError, match="stage must be"):
        States(factors)


def test_an_unknown_state_is_refused_with_the_form_of_a_name() -> None:
    states = bl.states(**FACTORS)
    with pytest.raises(ValueError, match=r"form stage/severity, such as 'new/mild', got 'mild'"):
        states.index("mild")
    with pytest.raises(ValueError, match="severity must be one of mild, moderate, severe"):
        states.index(stage="new", severity="high")
    with pytest.raises(ValueError, match="each of stage, severity, got stage"):
        states.index(stage="new")
    with pytest.raises(ValueError, match=r"0 \.\. 5, got 6"):
        states.name(6)
    with pytest.raises(ValueError, match="factor must be one of stage, severity, got 'age'"):
        states.drop("age")
    with pytest.raises(ValueError, match="must be kept"):
        states.drop("stage", "severity")
    with pytest.raises(ValueError, match="severity must be one of"):
        states.merge(severity={"high": "severe"})
