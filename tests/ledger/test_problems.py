"""Specs of problems."""

import json
from typing import Any

import numpy as np
import pytest

import ledger_samples as samples
from belated.ledger import Ledger, Part, ProblemSpec, Recorded

GIVEN = {
    "name": "clinic",
    "states": ["ill", "well"],
    "actions": ["wait", "treat"],
    "horizon": 2,
    "rewards": [[0, 0.5], [1, 1]],
    "base": {"name": "ucrl2", "options": {"delta": 0.1}},
    "updater": {"name": "lazy"},
    "episodes": 100,
}


def test_a_spec_comes_back_from_json_as_it_was() -> None:
    spec = ProblemSpec.of(GIVEN)
    assert ProblemSpec.of(json.loads(spec.text)) == spec
    assert hash(ProblemSpec.of(json.loads(spec.text))) == hash(spec)
    assert spec != ProblemSpec.of({**GIVEN, "seed": 1})
    assert spec.updater == Part("lazy", {})
    assert spec.rewards is not None
    assert spec.rewards.tolist() == GIVEN["rewards"]


def test_equal_numbers_make_equal_specs() -> None:
    made = [
        ProblemSpec.of({**GIVEN, "rewards": rewards})
        for rewards in ([[0, 1], [0, 1]], [[-0.0, 1.0], [0.0, 1]], np.array([[0, 1], [0, 1]]))
    ]
    assert made[0] == made[1] == made[2]
    assert len({spec.text for spec in made}) == 1


def test_a_spec_cannot_be_changed_afterwards() -> None:
    spec = ProblemSpec.of(GIVEN)
    with pytest.raises(ValueError, match="read-only"):
        spec.rewards[0, 0] = 1  # type: ignore[index]


def without(key: str) -> dict[str, object]:
    return {name: value for name, value in GIVEN.items() if name != key}


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def test_an_option_is_one_value_or_a_list_of_values() -> None:
    options = {"a": 1, "b": 0.5, "c": "x", "d": True, "e": None, "f": [1, 0.5, "x", False, None]}
    spec = ProblemSpec.of({**GIVEN, "base": {"name": "x", "options": options}})
    assert ProblemSpec.of(json.loads(spec.text)).base.options == options


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ([], "A spec must be an object, got []."),
        (without("horizon"), "horizon is missing; a spec needs it."),
        ({**GIVEN, "colour": 1}, "A spec must have only the fields name, states, actions,"),
        ({**GIVEN, "name": "a/b"}, "name must be 1 .. 100 of the letters"),
        ({**GIVEN, "name": 7}, "name must be a text, got 7."),
        ({**GIVEN, "states": []}, "states must be a list of at least one name, got []."),
        ({**GIVEN, "states": "ab"}, "states must be a list of at least one name, got 'ab'."),
        ({**GIVEN, "states": ["a", "a"]}, "states must be different names, got 'a' twice."),
        ({**GIVEN, "actions": ["a", 1]}, "actions[1] must be a text, got 1."),
        ({**GIVEN, "horizon": 0}, "horizon must be at least 1, got 0."),
        (
            {**GIVEN, "rewards": [[1]]},
            "rewards must have shape (2, 2), or (2, 2, 2) by step, got (1",
        ),
        (
            {**GIVEN, "rewards": [[0, 2], [0, 0]]},
            "rewards must lie in [0, 1] unless the problem is defined with a reward_range "
            "[low, high], got 2.",
        ),
        (
            {**GIVEN, "rewards": [[0, float("nan")], [0, 0]]},
            "rewards must lie in [0, 1] unless the problem is defined with a reward_range "
            "[low, high], got nan.",
        ),
        (
            {**GIVEN, "rewards": [[0, -6], [0, 0]], "reward_range": [-5, 20]},
            "rewards must lie in [-5, 20], the reward_range of the problem, got -6.",
        ),
        (
            {**GIVEN, "reward_range": [20, -5]},
            "reward_range must be [low, high] with finite numbers and low < high, got [20, -5].",
        ),
        (
            {**GIVEN, "reward_range": [0, float("inf")]},
            "reward_range must be [low, high] with finite numbers and low < high, got [0, inf].",
        ),
        ({**GIVEN, "reward_range": [1]}, "reward_range must be [low, high] with finite numbers"),
        (
            {**GIVEN, "rewards": "much"},
            "rewards must be a rectangular table of numbers, got 'much'.",
        ),
        ({**GIVEN, "late": "rewards"}, "late is 'rewards', but the rewards are known; give"),
        ({**GIVEN, "late": "all"}, "late must be one of everything, rewards, got 'all'."),
        ({**GIVEN, "base": "ucrl2"}, "base must be an object such as {"),
        ({**GIVEN, "base": {"name": "x", "options": 1}}, "options of x must be a mapping, got 1."),
        (
            {**GIVEN, "base": {"name": "x", "options": {"a": float("inf")}}},
            "option 'a' of x must be a finite number, a text, true, false, null, or a list of",
        ),
        (
            {**GIVEN, "base": {"name": "x", "options": {"a": {"b": 1}}}},
            "option 'a' of x must be a finite number, a text, true, false, null, or a list of",
        ),
        (
            {**GIVEN, "base": {"name": "x", "options": {"a": 1, "b": [1, [2]]}}},
            "option 'b' of x must be a finite number, a text, true, false, null, or a list of",
        ),
        (
            {**GIVEN, "base": {"name": "x", "options": {"a": nested(100_000)}}},
            "option 'a' of x must be a finite number, a text, true, false, null, or a list of",
        ),
        ({**GIVEN, "episodes": 1.5}, "episodes must be an integer, got 1.5."),
        ({**GIVEN, "seed": -1}, "seed must be at least 0, got -1."),
    ],
)
def test_nonsense_gets_a_sentence(body, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        ProblemSpec.of(body)
    assert str(raised.value).startswith(sentence)
    assert str(raised.value).endswith(".")


def test_names_may_be_in_any_script(ledger: Ledger) -> None:
    spec = ProblemSpec.of({**GIVEN, "states": ["größer", "病気"], "actions": ["'; --", "🙂"]})
    assert isinstance(ledger.define(spec), Recorded)
    [problem] = ledger.problems()
    assert problem.spec == spec


def test_a_problem_is_found_by_name_and_by_id(memory: Ledger) -> None:
    id = samples.defined(memory, "clinic")
    assert memory.problem("clinic") == memory.problem(id)
    for other in ("nobody", "a\0", id + 1):
        assert memory.problem(other) is None
