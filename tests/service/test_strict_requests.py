"""Duplicate keys are refused, fields are named by a path, and methods are what Allow says."""

import json
from typing import Any

import pytest

from belated.service.bodies import parse_json
from service.site import CLINIC, NDJSON, PLAYED, Site

JSON = {"content-type": "application/json"}


@pytest.fixture
def clinic(site: Site) -> Site:
    site.define()
    return site


@pytest.mark.parametrize(
    "body",
    [
        '{"states": [0, 0, 0, 0], "states": [1, 1, 1, 1], "actions": [0, 0, 0]}',
        '{"steps": [{"step": 0, "state": 0, "state": 1, "action": 0, "next_state": 0}]}',
        '{"rewards": {"0": 1, "0": 0}}',
        '{"reward\\u0073": {"0": 1}, "rewards": {"1": 0}}',
    ],
)
def test_duplicate_keys_in_feedback_are_refused(clinic: Site, body: str) -> None:
    id = clinic.open()
    answer = clinic.post(f"/v1/episodes/{id}/feedback", content=body, headers=JSON)
    assert answer.status_code == 422
    assert "duplicate key" in answer.json()["message"]
    line = f'{{"episode": "{id}", {body[1:]}'
    [result] = clinic.post(
        "/v1/problems/clinic/feedback", content=line, headers=NDJSON
    ).text.splitlines()
    assert "duplicate key" in result
    assert clinic.ledger.episodes([id])  # it is open, and nothing was recorded for it
    assert not [event for event in clinic.ledger.events() if event.kind == "feedback"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/problems/clinic/episodes", '{"subject": "a", "subject": "b"}'),
        ("/v1/problems/clinic/rollback", '{"version": 1, "version": 2}'),
        ("/v1/problems/clinic/decide", '{"state": "ill", "step": 0, "step": 1}'),
    ],
)
def test_duplicate_keys_in_other_requests_are_refused(clinic: Site, path: str, body: str) -> None:
    answer = clinic.post(path, content=body, headers=JSON)
    assert answer.status_code == 422
    assert "duplicate key" in answer.json()["message"]


@pytest.mark.parametrize(
    "text",
    ['{"a": 1}', '{"a": "x:y", "b": {"a": [{"a": 1}]}}', "[1]", '":"', "null", '{"a": {"a": 1}}'],
)
def test_json_without_duplicate_keys_is_read(text: str) -> None:
    assert parse_json(text.encode()) == (json.loads(text), None)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"states": ["ill", 5]}, "states[1]"),
        ({"rewards": [[0, 1], [0, "1"]]}, "rewards"),
        ({"allowed": {"ill": ["wait", 3]}}, "allowed['ill'][1]"),
        ({"allowed": [{}, {"ill": [3]}, {}]}, "allowed[1]['ill'][0]"),
        ({"horizon": "3"}, "horizon"),
        ({"reward_range": [0, "x"]}, "reward_range"),
        ({"list[int]": 1}, "list[int]"),
    ],
)
def test_the_field_of_an_error_is_a_path(site: Site, changes: dict[str, Any], field: str) -> None:
    answer = site.post("/v1/problems", {**CLINIC, **changes})
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_the_field_of_an_error_in_feedback_is_a_path(clinic: Site) -> None:
    step = {"step": 0, "state": 0, "action": 0, "next_state": 0, "reward": 0}
    steps = [step, {**step, "step": 1}, {**step, "step": 2, "reward": 7}]
    answer = clinic.post(f"/v1/episodes/{clinic.open()}/feedback", {"steps": steps})
    assert answer.json()["field"] == "steps[2].reward"


@pytest.mark.parametrize("prefix", ["/v1/subjects", "/v1/problems/clinic/subjects"])
@pytest.mark.parametrize("subject", ["%0A", "a%0Ab", "%0Aa", "a%0A"])
def test_a_subject_with_a_line_break_is_malformed(clinic: Site, prefix: str, subject: str) -> None:
    answer = clinic.delete(f"{prefix}/{subject}")
    assert (answer.status_code, answer.json()["field"]) == (422, "subject")


@pytest.mark.parametrize("subject", ["a/b", "a%2Fb", "%20"])
def test_other_subjects_are_found(clinic: Site, subject: str) -> None:
    assert clinic.delete(f"/v1/subjects/{subject}").json()["result"] == "nothing kept"


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/problems", "GET, POST"),
        ("/v1/problems/clinic", "GET"),
        ("/v1/problems/clinic/feedback", "POST"),
        ("/v1/problems/clinic/policy", "GET"),
        ("/v1/episodes/x", "DELETE"),
        ("/healthz", "GET, HEAD"),
        ("/readyz", "GET, HEAD"),
        ("/", "GET, HEAD"),
    ],
)
def test_allow_lists_all_methods_of_a_path(clinic: Site, path: str, methods: str) -> None:
    for method in ("PUT", "PATCH", "OPTIONS", "HEAD"):
        answer = clinic.ask(method, path)
        if method in methods:
            assert answer.status_code in (200, 503)
        else:
            assert (answer.status_code, answer.headers["allow"]) == (405, methods)


def test_strictness_does_not_change_what_is_accepted(clinic: Site) -> None:
    played = {**PLAYED, "event_time": "2026-01-31T09:00:00Z"}
    assert clinic.post(f"/v1/episodes/{clinic.open()}/feedback", played).status_code == 201
