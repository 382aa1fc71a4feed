"""Event times over HTTP: ages, delays and the history, with the times of recording beside them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from belated.ledger import Ledger
from belated.service.status import format_utc
from service.site import ID, PLAYED, Site

NOW = 1_794_750_602 * 10**6  # 2026-11-15T13:50:02Z
JANUARY = "2026-01-01T00:00:00Z"
AGE_S = 1_794_750_602 - 1_767_225_600


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}", clock=lambda: NOW) as opened:
        yield opened


def test_episodes_of_january_are_months_old(site: Site) -> None:
    site.define()
    site.open(event_time=JANUARY)
    status = site.get("/v1/problems/clinic/status").json()
    assert status["ages"]["oldest"] == AGE_S
    assert status["ages"]["counts"]["60"] == 0
    assert status["recorded_ages"]["oldest"] == 0
    assert status["recorded_ages"]["counts"]["60"] == 1


def test_the_history_begins_in_january(site: Site) -> None:
    site.define()
    id = site.open(event_time=JANUARY)
    content = PLAYED | {"event_time": "2026-01-02T00:00:00Z"}
    assert site.post(f"/v1/episodes/{id}/feedback", content).status_code == 201
    site.host.step()
    history = site.get("/v1/problems/clinic/history").json()
    assert history["times"]["bins"][0]["start"] == JANUARY
    assert history["times"]["bins"][-1]["delay"] == 86_400
    [arrived] = history["arrivals"]["bins"]
    assert (arrived["start"], arrived["delay"]) == ("2026-11-15T13:50:02Z", 0)


def test_an_episode_that_starts_tomorrow_has_the_age_zero(site: Site) -> None:
    site.define()
    site.open(event_time="9999-12-31T23:59:59Z")
    status = site.get("/v1/problems/clinic/status").json()
    assert status["ages"]["oldest"] == 0
    [bin] = site.get("/v1/problems/clinic/history").json()["times"]["bins"]
    assert bin["start"] == "2026-11-15T13:50:02Z"


def test_the_year_1970_is_shown_and_no_earlier_time_is_accepted(site: Site) -> None:
    site.define()
    for time in ("1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        site.open(event_time=time)
    history = site.get("/v1/problems/clinic/history").json()
    assert history["times"]["bins"][0]["start"] == "1970-01-01T00:00:00Z"
    early = {"event_time": "1026-11-15T12:00:00Z"}
    for path, body in (
        ("problems/clinic/episodes", early),
        (f"episodes/{site.open()}/feedback", PLAYED | early),
    ):
        answer = site.post(f"/v1/{path}", body)
        assert (answer.status_code, answer.json()["field"]) == (422, "event_time")
        assert "not before 1970-01-01T00:00:00Z" in answer.json()["message"]


def test_the_event_time_of_a_repeated_request_is_not_compared(site: Site) -> None:
    site.define()
    for time in (JANUARY, "2026-02-01T00:00:00Z"):
        answer = site.post("/v1/problems/clinic/episodes", {"id": ID, "event_time": time})
        assert answer.json()["episode"] == ID
    assert answer.status_code == 200
    assert site.get("/v1/problems/clinic/status").json()["ages"]["oldest"] == AGE_S


def test_times_of_old_ledgers_can_be_shown() -> None:
    assert format_utc(-(2**62)) == "0001-01-01T00:00:00Z"
