"""A request with an idempotency key has one effect, and each repetition the same response."""

from typing import Any

import httpx
import pytest

from belated.ledger import Ledger
from service.site import CLINIC, PLAYED, Site

OPENINGS = "/v1/problems/clinic/episodes"


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def same(one: httpx.Response, other: httpx.Response) -> bool:
    return (one.status_code, one.content, one.headers["content-type"]) == (
        other.status_code,
        other.content,
        other.headers["content-type"],
    )


def begun(site: Site) -> int:
    return int(site.get("/v1/problems/clinic/status").json()["begun"])


@pytest.fixture
def clinic(site: Site) -> Site:
    site.define()
    return site


def test_an_opening_without_an_id_is_repeated_safely(clinic: Site) -> None:
    first = clinic.post(OPENINGS, headers=keyed("one"))
    again = clinic.post(OPENINGS, headers=keyed("one"))
    assert first.status_code == 201
    assert same(first, again)
    assert begun(clinic) == 1
    other = clinic.post(OPENINGS, headers=keyed("two"))
    assert other.json()["episode"] != first.json()["episode"]
    assert begun(clinic) == 2


def test_a_key_outlives_the_process(ledger: Ledger) -> None:
    with Site(ledger) as site:
        site.define()
        first = site.post(OPENINGS, {"subject": "Ann"}, headers=keyed("one"))
    with Site(ledger) as site:
        assert same(first, site.post(OPENINGS, {"subject": "Ann"}, headers=keyed("one")))
        assert begun(site) == 1


def test_an_opening_is_repeated_safely_even_if_its_response_was_not_stored(clinic: Site) -> None:
    first = clinic.post(OPENINGS, headers=keyed("one"))
    with clinic.ledger.store.writing() as connection:
        connection.exec_driver_sql("DELETE FROM idempotency_keys")
    again = clinic.post(OPENINGS, headers=keyed("one"))
    assert (again.status_code, again.content) == (200, first.content)
    assert begun(clinic) == 1


def test_concurrent_requests_with_one_key_open_one_episode(clinic: Site) -> None:
    answers = clinic.ask_together(
        [clinic.asking("POST", OPENINGS, headers=keyed("one")) for _ in range(8)]
    )
    assert all(same(answers[0], answer) for answer in answers)
    assert begun(clinic) == 1


@pytest.mark.parametrize("body", [{"subject": "Ann"}, {"event_time": "2026-01-01T00:00:00Z"}])
def test_another_request_with_the_same_key_is_rejected(clinic: Site, body: Any) -> None:
    clinic.post(OPENINGS, headers=keyed("one"))
    answer = clinic.post(OPENINGS, body, headers=keyed("one"))
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")
    elsewhere = clinic.post("/v1/problems/clinic/freeze", headers=keyed("one"))
    assert elsewhere.status_code == 422
    assert begun(clinic) == 1


def test_every_post_replays_its_response(clinic: Site) -> None:
    id = clinic.open()
    requests: list[tuple[str, Any]] = [
        ("/v1/problems", {**CLINIC, "name": "second"}),
        (f"/v1/episodes/{id}/feedback", PLAYED),
        (f"/v1/episodes/{id}/correction", {**PLAYED, "rewards": [1, 1, 1]}),
        ("/v1/problems/clinic/decide", {"state": "ill", "step": 0}),
        ("/v1/problems/clinic/freeze", None),
        ("/v1/problems/clinic/archive", None),
    ]
    for number, (path, body) in enumerate(requests):
        first = clinic.post(path, body, headers=keyed(f"key-{number}"))
        assert first.status_code in (200, 201), first.text
        before = clinic.ledger.last
        assert same(first, clinic.post(path, body, headers=keyed(f"key-{number}")))
        assert clinic.ledger.last == before


def test_a_late_repetition_of_a_control_has_no_effect(clinic: Site) -> None:
    first = clinic.post("/v1/problems/clinic/freeze", headers=keyed("one"))
    clinic.post("/v1/problems/clinic/unfreeze")
    assert same(first, clinic.post("/v1/problems/clinic/freeze", headers=keyed("one")))
    assert clinic.get("/v1/problems/clinic/status").json()["serving"]["frozen"] is False


def test_a_rejected_request_may_be_corrected_under_the_same_key(clinic: Site) -> None:
    assert clinic.post(OPENINGS, {"id": "short"}, headers=keyed("one")).status_code == 422
    assert clinic.post(OPENINGS, headers=keyed("one")).status_code == 201
    clinic.post("/v1/problems/clinic/archive")
    assert clinic.post(OPENINGS, headers=keyed("two")).status_code == 409
    clinic.post("/v1/problems/clinic/unarchive")
    assert clinic.post(OPENINGS, {"subject": "Ann"}, headers=keyed("two")).status_code == 201


def test_keys_belong_to_a_token(clinic: Site) -> None:
    tokens = [clinic.token("decide") for _ in range(2)]
    answers = [clinic.post(OPENINGS, token=token, headers=keyed("one")) for token in tokens]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json()["episode"] != answers[1].json()["episode"]


@pytest.mark.parametrize("key", ["", "a" * 256, "a b", "\x7f"])
def test_a_malformed_key_is_rejected(clinic: Site, key: str) -> None:
    answer = clinic.post(OPENINGS, headers=keyed(key))
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")
