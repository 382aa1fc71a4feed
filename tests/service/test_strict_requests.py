"""Duplicate keys are refused, fields are named by a path, and methods are what Allow says."""

import pytest

from service.site import NDJSON, Site

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
