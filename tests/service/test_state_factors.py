"""States that are combinations of factors."""

from typing import Any

import pytest

from belated.client import NamedPolicy
from belated.client.wire import from_dict
from service.site import CLINIC, Site

FACTORS = {"stage": ["new", "returning"], "severity": ["mild", "severe"]}
NAMES = ["new/mild", "new/severe", "returning/mild", "returning/severe"]
MILD = {"severity": "mild", "stage": "returning"}
PLAYED: dict[str, Any] = {
    "states": [{"stage": "new", "severity": "mild"}, "new/severe", 2, MILD],
    "actions": ["wait", "treat", "wait"],
    "rewards": [0, 0, 1],
}


def test_states_are_all_combinations_of_the_factors(site: Site) -> None:
    site.define(states=FACTORS)
    problem = site.get("/v1/problems/clinic").json()
    assert problem["states"] == NAMES
    assert problem["state_factors"] == [
        {"name": "stage", "values": ["new", "returning"]},
        {"name": "severity", "values": ["mild", "severe"]},
    ]


def test_the_definition_that_is_returned_is_the_same_definition(site: Site) -> None:
    site.define(states=FACTORS)
    returned = site.get("/v1/problems/clinic").json()
    assert site.post("/v1/problems", returned).status_code == 200
    assert site.post("/v1/problems", {**CLINIC, "states": FACTORS}).status_code == 200
    other = dict(reversed(FACTORS.items()))
    assert site.post("/v1/problems", {**CLINIC, "states": other}).status_code == 409


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"states": {}}, "At least one factor is needed"),
        ({"states": {"stage": []}}, "stage must have at least one value"),
        ({"states": {"stage": ["a/b"]}}, "must not be empty or contain '/'"),
        ({"states": {"stage": ["a", "a"]}}, "values of stage must differ"),
        ({"states": ["a"], "state_factors": [{"name": "x", "values": ["b"]}]}, "all combinations"),
        ({"states": {f"f{i}": ["0", "1"] for i in range(64)}}, "horizon x states x actions"),
    ],
)
def test_factors_that_make_no_sense_are_refused(site: Site, change: Any, words: str) -> None:
    answer = site.post("/v1/problems", {**CLINIC, **change})
    assert answer.status_code == 422
    assert words in answer.json()["message"]


def test_feedback_gives_a_state_by_its_factors(site: Site) -> None:
    site.define(states=FACTORS)
    path = f"/v1/episodes/{site.open()}/feedback"
    assert site.post(path, PLAYED).status_code == 201
    assert site.post(path, PLAYED | {"states": [0, 1, 2, 2]}).status_code == 200
    step = {"step": 2, "state": MILD, "action": 0, "next_state": MILD, "reward": 1}
    assert site.post(path, {"steps": [step]}).status_code == 200


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"stage": "new"}, "states[0] needs the factor 'severity', one of mild, severe."),
        (MILD | {"x": 1}, "states[0] has no factor 'x'; its factors are stage, severity."),
        (MILD | {"stage": "old"}, "states[0].stage must be one of new, returning, got 'old'."),
        (MILD | {"stage": ["new"]}, "states[0].stage must be one of new, returning, got ['new']."),
    ],
)
def test_a_state_with_wrong_factors_is_rejected(site: Site, state: Any, words: str) -> None:
    site.define(states=FACTORS)
    answer = site.post(
        f"/v1/episodes/{site.open()}/feedback", PLAYED | {"states": [state, 1, 2, 3]}
    )
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(words)


def test_an_action_is_chosen_for_factors(site: Site) -> None:
    site.define(states=FACTORS)
    by_factors = site.post("/v1/problems/clinic/decide", {"state": MILD, "step": 0}).json()
    by_name = site.post("/v1/problems/clinic/decide", {"state": NAMES[2], "step": 0}).json()
    assert by_factors == by_name
    policy = from_dict(NamedPolicy, site.get("/v1/problems/clinic/policy").json())
    assert policy.factors == ["stage", "severity"]
    assert policy.act(0, MILD) == policy.act(0, 2) == by_name["action"]
    for state, words in (
        ({"stage": "new"}, "state needs the factor 'severity', one of mild, severe"),
        (MILD | {"x": 1}, "state has no factor 'x'; its factors are stage, severity"),
        (MILD | {"stage": "old"}, "stage must be one of new, returning, got 'old'"),
    ):
        with pytest.raises(ValueError, match=words):
            policy.act(0, state)


def test_a_policy_without_factors_keeps_its_text(site: Site) -> None:
    site.define()
    policy = site.get("/v1/problems/clinic/policy").json()
    assert not {"factors", "terminal", "allowed"} & set(policy)
