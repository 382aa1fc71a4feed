"""Feedback, taken apart and put together."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ledger_samples as samples
from belated.ledger import ProblemSpec
from belated.ledger.content import ContentError, parse_content
from belated.ledger.schema import canonical, digest

UNKNOWN = samples.spec(late="rewards")
KNOWN = ProblemSpec.of({**samples.spec().body, "rewards": np.full((3, 2), 0.5)})

STATES = st.lists(st.integers(0, 2), min_size=4, max_size=4)
ACTIONS = st.lists(st.integers(0, 1), min_size=3, max_size=3)
REWARDS = st.lists(st.floats(0, 1), min_size=3, max_size=3)


@given(STATES, ACTIONS, REWARDS, st.sets(st.integers(0, 2), min_size=1))
def test_columns_are_read_back_from_their_content(states, actions, rewards, some) -> None:
    whole = {"states": states, "actions": actions, "rewards": rewards}
    columns = parse_content(whole, UNKNOWN)
    assert columns.content() == whole
    for form, name in (("steps", "step"), ("path", "reward")):
        rest = columns.only(form, {(name, h) for h in some})
        assert rest.steps == sorted(some)
        assert parse_content(json.loads(canonical(rest.content())), UNKNOWN) == rest
    path = columns.only("path", columns.parts("path", UNKNOWN))
    assert path == columns._replace(form="path")
    assert parse_content(json.loads(canonical(path.content())), UNKNOWN) == path


@given(STATES, ACTIONS, REWARDS)
def test_the_same_content_has_the_same_text_however_it_is_written(s, a, r) -> None:
    plain = {"states": s, "actions": a, "rewards": r}
    others = [
        {"rewards": tuple(r), "actions": np.array(a), "states": tuple(s)},
        json.loads(json.dumps(plain, indent=2)),
        {**plain, "rewards": [-0.0 if x == 0 else int(x) if x == 1 else x for x in r]},
    ]
    texts = {canonical(parse_content(body, UNKNOWN).content()) for body in [plain, *others]}
    assert len(texts) == 1


@given(STATES, ACTIONS, REWARDS, st.data())
def test_names_and_indices_may_be_mixed_and_mean_the_same(s, a, r, data) -> None:
    def told(numbers, names):
        return [names[i] if data.draw(st.booleans()) else i for i in numbers]

    plain = parse_content({"states": s, "actions": a, "rewards": r}, UNKNOWN)
    states, actions = told(s, UNKNOWN.states), told(a, UNKNOWN.actions)
    assert parse_content({"states": states, "actions": actions, "rewards": r}, UNKNOWN) == plain
    steps = [
        {
            "step": h,
            "state": states[h],
            "action": actions[h],
            "next_state": states[h + 1],
            "reward": r[h],
        }
        for h in range(3)
    ]
    assert parse_content({"steps": steps}, UNKNOWN) == plain._replace(form="steps")
    path = {"states": states, "actions": actions}
    assert parse_content({"path": path}, UNKNOWN) == plain.only("path", {("path", -1)})


def test_canonical_json_and_its_digest_are_known() -> None:
    text = canonical({"b": [1, 1.0, None, True], "a": {"é": "\0"}})
    assert text == '{"a":{"\\u00e9":"\\u0000"},"b":[1,1.0,null,true]}'
    assert digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest("b", b"a") == digest("ab") != digest("b")


def test_rewards_may_be_left_out_where_they_are_known() -> None:
    bare = {"states": [0, 1, 2, 0], "actions": [0, 1, 0]}
    assert parse_content(bare, KNOWN) == parse_content({**bare, "rewards": None}, KNOWN)
    step = {"step": 1, "state": 1, "action": 1, "next_state": 2}
    columns = parse_content({"steps": [step]}, KNOWN)
    assert columns.content() == {"steps": [{**step, "reward": None}]}
    assert columns == parse_content(bare, KNOWN).only("steps", {("step", 1)})


def test_steps_that_say_the_same_twice_say_it_once() -> None:
    step = samples.step(1, 5)
    assert parse_content({"steps": [step, dict(step)]}, UNKNOWN).content() == {"steps": [step]}


@pytest.mark.parametrize(
    ("content", "field", "sentence"),
    [
        ("whole", None, "content must be an object, got 'whole'."),
        ({"state": 1}, None, "content must have states and actions, or steps, or a path, or"),
        ({"states": [0] * 4}, "actions", "actions must be a list of 3 items, got null."),
        (
            {**samples.whole(), "colour": 1},
            "colour",
            "content must have only the fields states, actions, rewards, event_time, got 'colour'.",
        ),
        (
            {**samples.whole(), "rewards": [0, 0, math.nan]},
            "rewards[2]",
            "rewards[2] must lie in [0, 1]",
        ),
        ({**samples.whole(), "no name": 1}, None, "content must have only the fields"),
        (
            {**samples.whole(), "states": [0] * 99},
            "states",
            "states must be a list of 4 items, got 99 items.",
        ),
        ({"steps": [1]}, "steps[0]", "steps[0] must be an object, got 1."),
        ({"steps": {"0": 1}}, "steps", "steps must be a list of at least one step, got {'0': 1}."),
        (
            {"steps": [{**samples.step(0), "x": 1}]},
            "steps[0].x",
            "steps[0] must have only the fields step, state, action, next_state, reward, got 'x'.",
        ),
        ({"path": [0]}, "path", "path must be an object, got [0]."),
        (
            {"path": {"states": [0] * 4}},
            "path.actions",
            "path.actions must be a list of 3 items, got",
        ),
        ({"rewards": {}}, "rewards", "rewards must be an object with at least one reward by step"),
        (
            {"rewards": [0.5]},
            "rewards",
            "rewards must be an object with at least one reward by step",
        ),
        ({"rewards": {"3": 0.5}}, "rewards", "A step in rewards must lie in 0 .. 2, got '3'."),
        (
            {"rewards": {"9" * 5000: 0.5}},
            "rewards",
            "A step in rewards must lie in 0 .. 2, got '9999",
        ),
        ({"rewards": {"01": 0.5}}, "rewards", "A step in rewards must lie in 0 .. 2, got '01'."),
        ({"rewards": {"²": 0.5}}, "rewards", "A step in rewards must lie in 0 .. 2, got '²'."),
        ({"rewards": {True: 0.5}}, "rewards", "A step in rewards must lie in 0 .. 2, got true."),
        (
            {"rewards": {"1": "x" * 99}},
            "rewards[1]",
            "rewards[1] must be a number, got 'xxxxx",
        ),
    ],
)
def test_nonsense_gets_a_sentence_and_a_field(content, field, sentence: str) -> None:
    with pytest.raises(ContentError) as raised:
        parse_content(content, UNKNOWN)
    assert str(raised.value).startswith(sentence)
    assert raised.value.field == field
    assert len(str(raised.value)) < 200


def test_a_path_alone_is_for_late_rewards() -> None:
    with pytest.raises(ContentError, match="may arrive separately only if late is 'rewards'"):
        parse_content({"path": samples.path()}, KNOWN)
