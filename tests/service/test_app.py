"""The application as a whole: startup, errors, metrics, shutdown."""

from typing import Any

import pytest
import sqlalchemy as sa

from belated.ledger import Ledger
from service.site import CLINIC, PLAYED, Site, wait_until


def test_it_is_ready_once_its_host_has_folded_the_ledger(ledger: Ledger) -> None:
    with Site(ledger, plan=True) as site:
        wait_until(lambda: site.get("/readyz").json()["ready"])
        said = site.get("/readyz").json()
        assert said == {
            "ready": True,
            "reasons": [],
            "store": True,
            "caught_up": True,
            "plans": True,
            "failed": 0,
        }


def test_a_shutdown_records_queued_events(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    with Site(ledger, plan=True) as site:
        site.define()
        ids = [site.open() for _ in range(20)]
        waiting = [
            site.start(site.asking("POST", f"/v1/episodes/{id}/feedback", json=PLAYED))
            for id in ids
        ]
        answers = [wait() for wait in waiting]
    recorded = {event.episode for event in ledger.events(kinds=["feedback"])}
    assert {answer.status_code for answer in answers} == {201}
    assert recorded == set(ids)
    with Site(ledger) as again:
        assert again.post(f"/v1/episodes/{ids[0]}/feedback", PLAYED).status_code == 200


def test_a_stopped_service_rejects_events(ledger: Ledger) -> None:
    with Site(ledger) as site:
        site.define()
        id = site.open()
        site.run(site.app.state.belated.group_commit.stop())
        answer = site.post(f"/v1/episodes/{id}/feedback", PLAYED)
        assert answer.status_code == 503
        assert "stopping" in answer.json()["message"]


def test_an_unavailable_store_gives_503(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.define()
    id = site.open()

    def lost(*given: Any, **options: Any) -> Any:
        raise sa.exc.OperationalError("SELECT secret", {}, Exception())

    monkeypatch.setattr(site.app.state.belated.group_commit, "_append", lost)
    monkeypatch.setattr(Ledger, "problems", lost)
    monkeypatch.setattr(type(site.ledger.store), "probe", lost)
    for answer in (
        site.post(f"/v1/episodes/{id}/feedback", PLAYED),
        site.get("/v1/problems"),
    ):
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert "secret" not in answer.text
    assert site.get("/readyz").json()["store"] is False
    assert site.get("/healthz").status_code == 200


def test_an_internal_error_does_not_reveal_its_message(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "-".join(["patient", "17"])  # the log shows lines of the source

    def broken(*given: Any, **options: Any) -> Any:
        raise KeyError(secret)

    monkeypatch.setattr(Ledger, "problems", broken)
    answer = site.get("/v1/problems")
    assert answer.status_code == 500
    assert answer.json()["error"] == "internal"
    assert "GET /v1/problems failed with KeyError" in caplog.text
    assert secret not in answer.text + caplog.text


def test_unknown_addresses_and_methods_are_rejected(site: Site) -> None:
    assert site.get("/v1/nothing").json()["error"] == "unknown"
    answer = site.ask("PUT", "/v1/problems", json=CLINIC)
    assert answer.status_code == 405
    assert "allow" in answer.headers
    assert answer.json()["message"] == "Method PUT not allowed."


def test_a_trailing_slash_is_not_redirected(site: Site) -> None:
    answer = site.get("/v1/problems/", headers={"host": "localhost:1"})
    assert (answer.status_code, "location" in answer.headers) == (404, False)


def test_metrics_count_requests_and_events(site: Site) -> None:
    site.define()
    site.post(f"/v1/episodes/{site.open()}/feedback", PLAYED)
    site.open()
    site.host.step()
    page = site.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    for line in (
        'belated_requests_total{method="POST",route="/v1/problems",status="201"} 1.0',
        'belated_outcomes_total{outcome="recorded"} 5.0',
        "belated_queue_events 0.0",
        'belated_missing_episodes{problem="clinic"} 1.0',
        "belated_plans 1.0",
    ):
        assert line in page.text.splitlines()
    site.get("/made/up/address")
    assert "made" not in site.get("/metrics").text
