"""Lost episodes are not missing, and archived problems are hidden."""

import json

import pytest

from belated.online.host import Host
from belated.online.status import ProblemStatus
from belated.online.verify import verify
from service.site import PLAYED, Site


@pytest.fixture
def clinic(site: Site) -> Site:
    site.define()
    return site


def status(site: Site) -> dict:
    site.host.step()
    return dict(site.get("/v1/problems/clinic/status").json())


def lose(site: Site, id: str, reason: str = "no answer") -> int:
    return site.post(f"/v1/episodes/{id}/lost", {"reason": reason}).status_code


def test_a_lost_episode_is_not_missing(clinic: Site) -> None:
    ids = [clinic.open(event_time="2026-01-01T00:00:00Z"), *(clinic.open() for _ in range(9))]
    before = status(clinic)
    assert (before["missing"], before["lost"], before["begun"]) == (10, 0, 10)
    assert (lose(clinic, ids[0]), lose(clinic, ids[0])) == (201, 200)
    assert lose(clinic, ids[0], "another reason") == 409
    for _ in range(10):
        clinic.post(f"/v1/episodes/{clinic.open()}/feedback", PLAYED)
        clinic.host.step()
    after = status(clinic)
    assert (after["missing"], after["lost"], after["begun"]) == (9, 1, 20)
    assert after["ages"]["counts"]["inf"] == after["recorded_ages"]["counts"]["inf"] == 9
    assert after["ages"]["oldest"] < before["ages"]["oldest"]
    # S_k is k for the first ten episodes, and 9 for the next ten; not 10
    assert after["mean_delay"] == (sum(range(10)) + 10 * 9) / 20


def test_later_feedback_revives_a_lost_episode(clinic: Site) -> None:
    id = clinic.open()
    lose(clinic, id)
    assert status(clinic)["lost"] == 1
    assert clinic.post(f"/v1/episodes/{id}/feedback", PLAYED).status_code == 201
    after = status(clinic)
    assert (after["missing"], after["lost"], after["observed"]) == (0, 0, 1)
    assert lose(clinic, id) == 409


def test_a_lost_episode_is_in_snapshots_exports_and_metrics(clinic: Site) -> None:
    id = clinic.open()
    clinic.open()
    lose(clinic, id)
    host = Host(clinic.ledger, snapshot_every=1)
    clinic.host.stop()
    host.step()
    host.stop()
    [problem] = clinic.ledger.problems()
    assert verify(clinic.ledger, problem).sound
    restored = Host(clinic.ledger).status(problem)
    assert isinstance(restored, ProblemStatus)
    assert (restored.lost, restored.learner.missing) == (1, 1)
    assert clinic.ledger.snapshots.newest(problem.id) is not None
    lines = [json.loads(line) for line in clinic.get("/v1/problems/clinic/events").iter_lines()]
    [event] = [line for line in lines if line["kind"] == "lost"]
    assert (event["episode"], event["body"]) == (id, {"reason": "no answer"})
    clinic.host.step()
    assert 'belated_lost_episodes{problem="clinic"} 1.0' in clinic.get("/metrics").text


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": "x" * 201}, {"reason": "a\nb"}])
def test_a_reason_is_required(clinic: Site, body: dict) -> None:
    answer = clinic.post(f"/v1/episodes/{clinic.open()}/lost", body)
    assert (answer.status_code, answer.json()["field"]) == (422, "reason")


def test_unknown_and_withdrawn_episodes_are_not_found(clinic: Site) -> None:
    assert lose(clinic, "a" * 22) == 404
    id = clinic.open()
    lose(clinic, id)
    clinic.delete(f"/v1/episodes/{id}")
    assert lose(clinic, id) == 410
    assert status(clinic)["lost"] == 0


def test_an_archived_problem_is_hidden_and_opens_no_episodes(clinic: Site) -> None:
    clinic.define("second")
    id = clinic.open()
    answer = clinic.post("/v1/problems/clinic/archive").json()
    assert answer["result"] == "recorded"
    assert clinic.post("/v1/problems/clinic/archive").json() == {
        **answer,
        "result": "already recorded",
    }

    def names(query: str = "") -> list:
        found = clinic.get(f"/v1/problems{query}").json()["problems"]
        return [(one["name"], one.get("archived")) for one in found]

    assert names() == [("second", None)]
    assert names("?archived=true") == [("clinic", True), ("second", None)]
    rejected = clinic.post("/v1/problems/clinic/episodes")
    assert rejected.status_code == 409
    assert "archived" in rejected.json()["message"]
    assert clinic.post(f"/v1/episodes/{id}/feedback", PLAYED).status_code == 201
    assert status(clinic)["observed"] == 1
    assert clinic.post("/v1/problems/clinic/unarchive").status_code == 200
    assert names() == [("clinic", None), ("second", None)]
    assert clinic.open()
