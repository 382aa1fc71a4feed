"""Policies and status over HTTP."""

import json

import numpy as np
import pytest
import sqlalchemy as sa

from belated.episode import Policy
from belated.ledger import schema
from belated.service.policies import PolicyDocument, policy_changes
from histories import make_spec
from ledger_samples import count_rows
from service.site import PLAYED, Site

BASE = "/v1/problems/clinic"


def learn(site: Site, count: int = 30) -> int:
    """Send feedback until a new version is published; return it."""
    for _ in range(count):
        site.post(f"/v1/episodes/{site.open()}/feedback", PLAYED)
        site.host.step()
    return int(site.get(f"{BASE}/versions").json()["versions"][-1]["version"])


def test_a_policy_is_not_sent_to_a_client_that_has_it(site: Site) -> None:
    site.define()
    first = site.get(f"{BASE}/policy")
    tag = first.headers["etag"]
    for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = site.get(f"{BASE}/policy", headers={"if-none-match": given})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
    assert site.get(f"{BASE}/policy", headers={"if-none-match": '"x"'}).status_code == 200
    assert learn(site) > 1
    newer = site.get(f"{BASE}/policy", headers={"if-none-match": tag})
    assert newer.status_code == 200
    assert newer.headers["etag"] != tag


def test_a_version_never_changes(site: Site) -> None:
    site.define()
    first = site.get(f"{BASE}/policy").json()
    newest = learn(site)
    assert site.get(f"{BASE}/policy/1").json() == first
    assert site.get(f"{BASE}/policy/{newest}").json() == site.get(f"{BASE}/policy").json()
    for version, status in ((newest + 1, 404), (0, 422), ("x", 422), (2**70, 422)):
        assert site.get(f"{BASE}/policy/{version}").status_code == status


def test_the_diff_lists_all_differences(site: Site) -> None:
    site.define()
    newest = learn(site)
    old, new = (site.get(f"{BASE}/policy/{v}").json()["plan"] for v in (1, newest))
    said = site.get(f"{BASE}/policy/diff?from=1&to={newest}").json()
    assert said["changes"]
    for change in said["changes"]:
        step, state = change["step"], change["state"]
        assert change["before"] == [old[step][state]]
        assert change["after"] == [new[step][state]]
        old[step][state] = new[step][state]
    assert old == new
    assert site.get(f"{BASE}/policy/diff?from=1&to=99").status_code == 404
    assert site.get(f"{BASE}/policy/diff?from=1").status_code == 422


def test_a_policy_that_explores_lists_its_actions() -> None:
    spec = make_spec()
    explore = np.zeros((3, 4, 2), np.bool_)
    plain = Policy(np.zeros((3, 4), np.int32), explore.copy(), 0.25)
    explore[1, 2] = True
    mixed = Policy(np.zeros((3, 4), np.int32), explore, 0.0)
    said = json.loads(PolicyDocument.of(spec, 7, mixed).text)
    assert said["explore"] == [{}, {"state 2": ["action 0", "action 1"]}, {}]
    assert json.loads(PolicyDocument.of(spec, 7, plain).text)["epsilon"] == 0.25
    [change] = policy_changes(spec, plain, mixed)
    assert change == {
        "step": 1,
        "state": "state 2",
        "before": ["action 0"],
        "after": ["action 0", "action 1"],
    }


def test_the_status_has_the_missing_episodes(site: Site) -> None:
    site.define()
    ids = [site.open() for _ in range(5)]
    site.post(f"/v1/episodes/{ids[0]}/feedback", PLAYED)
    site.host.step()
    said = site.get(f"{BASE}/status").json()
    assert (said["begun"], said["observed"], said["missing"]) == (5, 1, 4)
    assert said["ages"]["counts"]["inf"] == 4
    assert 0 <= said["ages"]["median"] <= said["ages"]["oldest"]
    assert said["psi"] > 0
    assert said["in_flight"]["most"] == 1.0
    assert said["alpha"] == 10
    assert said["failure"] is None
    assert said["serving"]["version"] == said["serving"]["newest"]


def test_a_problem_that_is_folded_for_the_first_time_is_not_reported_as_failed(site: Site) -> None:
    site.define()
    problem = site.ledger.problem("clinic")
    assert problem is not None
    with site.host.learners.get(problem).lock:
        assert 'belated_failed{problem="clinic"} 0.0' in site.get("/metrics").text


def test_the_status_of_a_failed_problem_has_the_reason(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define()

    def broken(self: object, event: object) -> None:
        raise ValueError("The learner is out of order.")

    monkeypatch.setattr("belated.online.fold.Fold.apply", broken)
    said = site.get(f"{BASE}/status").json()
    assert said["failure"] == "The learner is out of order."
    assert said["missing"] is None
    assert 'belated_failed{problem="clinic"} 1.0' in site.get("/metrics").text
    site.host.step()
    assert site.get("/readyz").json()["failed"] == 1


def test_freeze_roll_back_and_shadow_mode(site: Site) -> None:
    site.define()
    assert site.post(f"{BASE}/freeze").json() == {
        "version": 1,
        "newest": 1,
        "frozen": True,
        "shadow": False,
    }
    newest = learn(site)
    assert newest > 1
    assert site.get(f"{BASE}/policy").json()["version"] == 1
    assert site.post(f"{BASE}/unfreeze").json()["version"] == newest
    assert site.post(f"{BASE}/rollback", {"version": 1}).json()["version"] == 1
    assert site.get(f"{BASE}/policy").json()["version"] == 1
    site.post(f"{BASE}/unfreeze")
    assert site.post(f"{BASE}/shadow", {"on": True}).json()["shadow"] is True
    assert site.post(f"{BASE}/shadow", {"on": False}).json()["version"] == newest
    assert site.post(f"{BASE}/rollback", {"version": newest + 1}).status_code == 422
    assert site.post(f"{BASE}/rollback", {}).status_code == 422
    assert site.post("/v1/problems/nowhere/freeze").status_code == 404
    actions = [event.body["by"] for event in site.ledger.events(kinds=["control"])]
    assert set(actions) == {"local"}


@pytest.mark.parametrize(
    ("control", "given"),
    [
        ("rollback", {"version": True}),
        ("rollback", {"version": "1"}),
        ("rollback", {"version": 1.0}),
        ("shadow", {"on": "no"}),
        ("shadow", {"on": 1}),
    ],
)
def test_a_control_with_an_invalid_body_is_rejected(
    site: Site, control: str, given: dict[str, object]
) -> None:
    site.define()
    answer = site.post(f"{BASE}/{control}", given)
    assert (answer.status_code, answer.json()["field"]) == (422, *given)
    assert list(site.ledger.events(kinds=["control"])) == []


def test_a_control_records_the_token(site: Site) -> None:
    site.define()
    token = site.token("admin", problem="clinic")
    site.ask("POST", f"{BASE}/freeze", token)
    [event] = site.ledger.events(kinds=["control"])
    assert event.body["by"] == token.split("_")[1]


def test_a_policy_with_a_digest_mismatch_is_not_served(site: Site) -> None:
    site.define()
    of = schema.policies
    with site.ledger.store.writing() as connection:
        connection.execute(sa.update(of).values(epsilon=0.5))
    for answer in (site.get(f"{BASE}/policy"), site.get(f"{BASE}/policy/1")):
        assert answer.status_code == 500
        assert answer.json()["error"] == "internal"
    assert site.post(f"{BASE}/episodes").status_code == 500
    assert count_rows(site.ledger).episodes == 0


def test_the_first_fold_of_a_problem_delays_only_its_own_requests(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define()
    site.define("other")
    problem = site.ledger.problem("clinic")
    assert problem is not None
    monkeypatch.setattr("belated.service.state.FOLD_CHECKS", 1000)
    with site.host.learners.get(problem).lock:
        waiting = [site.start(site.asking("GET", f"{BASE}/status")) for _ in range(12)]
        assert site.get("/v1/problems/other/status").status_code == 200
        assert "belated_" in site.get("/metrics").text
        with monkeypatch.context() as patched:
            patched.setattr("belated.service.state.FOLD_CHECKS", 1)
            told = site.get(f"{BASE}/history")
        assert (told.status_code, told.json()["message"]) == (
            503,
            "The problem is still being folded. Try again.",
        )
    assert [answer().status_code for answer in waiting] == [200] * 12
