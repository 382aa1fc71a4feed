"""Feedback and corrections over HTTP."""

import json
import re
from typing import Any

import pytest

from belated.online.host import Host
from belated.online.status import ProblemStatus
from ledger_samples import count_rows
from service.site import PLAYED, Site

JSON = {"content-type": "application/json"}
STEPS = [
    {"step": 0, "state": "ill", "action": "wait", "next_state": "ill", "reward": 0},
    {"step": 1, "state": 0, "action": 0, "next_state": "well", "reward": 0.5},
    {"step": 2, "state": "well", "action": "treat", "next_state": 1, "reward": 1},
]


def status(site: Site) -> ProblemStatus:
    host = Host(site.ledger)
    host.step()
    problem = site.ledger.problem("clinic")
    assert problem is not None
    found = host.status(problem)
    assert isinstance(found, ProblemStatus)
    host.stop()
    return found


def test_feedback_is_recorded_once(site: Site) -> None:
    site.define()
    path = f"/v1/episodes/{site.open()}/feedback"
    first, again = site.post(path, PLAYED), site.post(path, PLAYED)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["result"] == "recorded"
    assert again.json() == {"result": "already recorded", "seq": first.json()["seq"]}
    other = site.post(path, {**PLAYED, "rewards": [0, 0, 0]})
    assert other.status_code == 409
    assert count_rows(site.ledger).events["feedback"] == 1
    assert count_rows(site.ledger).quarantined == 1


def test_steps_may_arrive_in_any_order(site: Site) -> None:
    site.define()
    id = site.open()
    for step in reversed(STEPS):
        assert site.post(f"/v1/episodes/{id}/feedback", {"steps": [step]}).status_code == 201
    assert site.post(f"/v1/episodes/{id}/feedback", {"steps": STEPS}).status_code == 200
    assert site.post(f"/v1/episodes/{id}/feedback", PLAYED).status_code == 200
    assert status(site).learner.observed == 1


def test_rewards_may_arrive_after_the_path(site: Site) -> None:
    site.define(late="rewards")
    path = f"/v1/episodes/{site.open()}/feedback"
    walked = {"path": {"states": PLAYED["states"], "actions": PLAYED["actions"]}}
    for given in ({"rewards": {"2": 1}}, walked, {"rewards": {"0": 0, "1": 0.5}}):
        assert site.post(path, given).status_code == 201
    assert site.post(path, PLAYED).status_code == 200
    assert status(site).learner.observed == 1


def test_the_event_time_is_recorded(site: Site) -> None:
    site.define()
    given = {**PLAYED, "event_time": "2026-01-31T13:00:00+01:00"}
    assert site.post(f"/v1/episodes/{site.open()}/feedback", given).status_code == 201
    [event] = site.ledger.events(kinds=["feedback"])
    assert event.event_time == 1769860800 * 10**6


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({**PLAYED, "states": ["ill", "wel", "ill", "ill"]}, "states[1]"),
        ({**PLAYED, "actions": ["treat", 7, "wait"]}, "actions[1]"),
        ({**PLAYED, "rewards": [0, 0, 2]}, "rewards[2]"),
        ({**PLAYED, "rewards": None}, "rewards"),
        ({**PLAYED, "states": ["ill"]}, "states"),
        ({**PLAYED, "states": ["wel"]}, "states"),
        ({**PLAYED, "event_time": "soon"}, "event_time"),
        ({**PLAYED, "event_time": 5}, "event_time"),
        ({"steps": [{**STEPS[0], "next_state": "dead"}]}, "steps[0].next_state"),
        ({"steps": [7]}, "steps[0]"),
        ({"path": {"states": [], "actions": []}}, "path"),
        ({"states": {"a": 1}}, "states"),
        ({}, None),
        ([], None),
        (3, None),
        ("text", None),
    ],
)
def test_malformed_feedback_is_rejected_with_its_field_and_quarantined(
    site: Site, given: Any, field: str | None
) -> None:
    site.define()
    id = site.open()
    answer = site.post(f"/v1/episodes/{id}/feedback", content=json.dumps(given), headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert answer.json()["message"].endswith(".")
    [kept] = site.ledger.quarantine
    assert (kept.episode, kept.outcome) == (id, "refused")
    assert json.loads(str(kept.text)) == given


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"[" * 100_000, b"1" * 5000, b'{"states": [NaN], "actions": []}'],
)
def test_a_body_that_is_not_json_is_rejected_and_quarantined(site: Site, body: bytes) -> None:
    site.define()
    id = site.open()
    answer = site.post(f"/v1/episodes/{id}/feedback", content=body, headers=JSON)
    assert answer.status_code == 422
    [kept] = site.ledger.quarantine
    assert kept.episode == id
    assert kept.text is not None


def test_feedback_of_an_unknown_episode_is_quarantined(site: Site) -> None:
    for id in ("a" * 22, "short"):
        answer = site.post(f"/v1/episodes/{id}/feedback", PLAYED)
        assert answer.status_code == 404
    assert [kept.outcome for kept in site.ledger.quarantine] == ["unknown", "unknown"]


def test_another_content_type_is_rejected(site: Site) -> None:
    site.define()
    path = f"/v1/episodes/{site.open()}/feedback"
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = {"content-type": kind}
        answer = site.post(path, content=json.dumps(PLAYED), headers=headers)
        assert answer.status_code == 415
    headers = {"content-type": "application/json; charset=utf-8"}
    assert site.post(path, content=json.dumps(PLAYED), headers=headers).status_code == 201


def test_a_correction_replaces_earlier_feedback(site: Site) -> None:
    site.define()
    id = site.open()
    better = {**PLAYED, "rewards": [0, 0, 0]}
    site.post(f"/v1/episodes/{id}/feedback", PLAYED)
    first = site.post(f"/v1/episodes/{id}/correction", better)
    again = site.post(f"/v1/episodes/{id}/correction", better)
    assert (first.status_code, again.status_code) == (201, 200)
    part = site.post(f"/v1/episodes/{id}/correction", {"steps": STEPS[:1]})
    assert part.status_code == 422
    assert status(site).learner.observed == 1


def test_metrics_and_logs_contain_no_ids(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.define()
    with caplog.at_level("INFO", "belated.service.access"):
        id = site.open(subject="patient-17")
        token = site.token("admin")
        site.ask("POST", f"/v1/episodes/{id}/feedback", token, json=PLAYED)
        site.ask("DELETE", "/v1/subjects/patient-17", token)
        page = site.ask("GET", "/metrics", token).text
    assert "POST /v1/episodes/{episode}/feedback 201" in caplog.text
    said = caplog.text + page
    for secret in (id, token, token.split("_", 2)[2], "patient-17", "0.5,"):
        assert not re.search(re.escape(secret), said)
