"""Episodes over HTTP."""

import secrets
from typing import Any

import pytest

from belated.client.policies import step_uniform
from ledger_samples import count_rows
from service.site import PLAYED, Site

MIXED = {"base": {"name": "epsilon-greedy", "options": {"epsilon": 1.0}}}


def test_an_opened_episode_has_its_policy(site: Site) -> None:
    site.define()
    opened = site.post("/v1/problems/clinic/episodes")
    assert opened.status_code == 201
    said = opened.json()
    assert said["version"] == said["policy"]["version"] == 1
    assert said["policy"] == site.get("/v1/problems/clinic/policy").json()
    assert len(said["policy"]["plan"]) == 3
    assert set(said["policy"]["plan"][0]) == {"ill", "well"}
    assert site.ledger.episode(said["episode"]) is not None


def test_opening_can_be_repeated_with_an_id(site: Site) -> None:
    site.define()
    given = {"id": secrets.token_urlsafe(16), "subject": "me"}
    first = site.post("/v1/problems/clinic/episodes", given)
    again = site.post("/v1/problems/clinic/episodes", given)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    other = site.post("/v1/problems/clinic/episodes", {**given, "subject": "you"})
    assert other.status_code == 409
    site.delete(f"/v1/episodes/{given['id']}")
    assert site.post("/v1/problems/clinic/episodes", given).status_code == 410


def test_an_episode_keeps_the_version_it_was_given(site: Site) -> None:
    site.define()
    id = secrets.token_urlsafe(16)
    site.post("/v1/problems/clinic/episodes", {"id": id})
    for _ in range(30):
        site.post(f"/v1/episodes/{site.open()}/feedback", PLAYED)
        site.host.step()
    assert site.get("/v1/problems/clinic/policy").json()["version"] > 1
    again = site.post("/v1/problems/clinic/episodes", {"id": id}).json()
    assert (again["version"], again["policy"]["version"]) == (1, 1)
    asked = {"state": "ill", "step": 0}
    assert site.post("/v1/problems/clinic/decide", {**asked, "episode": id}).json()["version"] == 1
    assert site.post("/v1/problems/clinic/decide", asked).json()["version"] > 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"id": "short"}, "id"),
        ({"subject": ""}, "subject"),
        ({"event_time": "yesterday"}, "event_time"),
        ({"event_time": "2026-01-01T00:00:00"}, "event_time"),
        ({"other": 1}, "other"),
    ],
)
def test_invalid_openings_are_rejected(site: Site, given: Any, field: str) -> None:
    site.define()
    answer = site.post("/v1/problems/clinic/episodes", given)
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert count_rows(site.ledger).episodes == 0


def test_deciding_follows_the_policy(site: Site) -> None:
    site.define(rewards=[[0, 1], [1, 0]])
    for state, action in (("ill", "treat"), ("well", "wait"), (1, "wait")):
        answer = site.post("/v1/problems/clinic/decide", {"state": state, "step": 2})
        assert answer.json() == {"action": action, "version": 1}


def test_the_same_decision_request_gets_the_same_action(site: Site) -> None:
    site.define(**MIXED)
    episodes = [site.open() for _ in range(20)]
    answers = []
    for id in episodes:
        asked = {"state": "ill", "step": 1, "episode": id}
        said = {site.post("/v1/problems/clinic/decide", asked).json()["action"] for _ in range(5)}
        assert len(said) == 1
        answers += said
    assert set(answers) == {"wait", "treat"}


def test_step_uniforms_lie_in_the_unit_interval() -> None:
    values = [step_uniform("episode", step) for step in range(2000)]
    assert values[0] == 0.0009878206550771873
    assert 0 <= min(values) < 0.01 < 0.99 < max(values) < 1


@pytest.mark.parametrize(
    ("given", "status", "field"),
    [
        ({"state": "i", "step": 0}, 422, "state"),
        ({"state": 2, "step": 0}, 422, "state"),
        ({"state": -1, "step": 0}, 422, "state"),
        ({"state": "ill", "step": 3}, 422, "step"),
        ({"state": "ill"}, 422, "step"),
        ({"state": True, "step": 0}, 422, "state"),
        ({"state": 1.0, "step": 0}, 422, "state"),
        ({"state": "ill", "step": False}, 422, "step"),
        ({"state": "ill", "step": "0"}, 422, "step"),
        ({"state": "ill", "step": 0.0}, 422, "step"),
        ({"state": "ill", "step": 0, "episode": "x"}, 404, "episode"),
    ],
)
def test_invalid_decision_requests_are_rejected(
    site: Site, given: Any, status: int, field: Any
) -> None:
    site.define()
    answer = site.post("/v1/problems/clinic/decide", given)
    assert answer.status_code == status
    assert answer.json()["field"] == field
