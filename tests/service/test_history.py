"""The history of a problem over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from belated.ledger import Ledger
from belated.online.history import MICROSECONDS_PER_SECOND, OpenEpisode
from belated.online.history import History as Counted
from belated.service.responses import History
from belated.service.status import version_bins
from service.site import PLAYED, Site

URL = "/v1/problems/clinic/history"
START = 1_794_750_602 * MICROSECONDS_PER_SECOND


class Clock:
    """Clock that returns the time `seconds` after the start."""

    seconds = 0.0

    def __call__(self) -> int:
        return START + round(self.seconds * MICROSECONDS_PER_SECOND)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}", clock=clock) as opened:
        yield opened


def answer(site: Site, id: str, *rewards: float) -> None:
    sent = site.post(f"/v1/episodes/{id}/feedback", PLAYED | {"rewards": list(rewards)})
    assert sent.status_code == 201, sent.text


def told(site: Site) -> dict[str, Any]:
    said = site.get(URL)
    assert said.status_code == 200, said.text
    TypeAdapter(History).validate_python(said.json())
    return dict(said.json())


def empty(start: str, opened: int) -> dict[str, Any]:
    late = dict.fromkeys(("delay", "longest", "episodes"))
    return {"start": start, "opened": opened, "returned": 0, **late}


def test_a_history_has_arrivals_delays_and_returns(site: Site, clock: Clock) -> None:
    site.define()
    site.host.step()
    clock.seconds = 0.5
    first = site.open()
    clock.seconds = 0.75
    second, _ = site.open(), site.open()
    clock.seconds = 2.5
    answer(site, first, 0, 0.5, 1)
    clock.seconds = 2.75
    answer(site, second, 1, 1, 1)
    before = told(site)
    assert [one["returned"] for one in before["times"]["bins"]] == [0]
    site.host.step()
    said = told(site)
    assert said["problem"] == "clinic"
    assert said["seq"] == site.ledger.last
    assert said["times"]["width"] == 1.0
    assert said["times"]["bins"] == [
        empty("2026-11-15T13:50:02Z", 3),
        empty("2026-11-15T13:50:03Z", 0),
        {
            "start": "2026-11-15T13:50:04Z",
            "opened": 0,
            "returned": 2,
            "delay": 2.0,
            "longest": 2.0,
            "episodes": 1.5,
        },
    ]
    assert said["arrivals"] == said["times"]
    assert said["versions"] == {
        "width": 1,
        "bins": [
            {
                "first": 1,
                "last": 1,
                "opened": 3,
                "returned": 2,
                "mean_return": 2.25,
                "error": 0.75,
            }
        ],
    }


def test_equal_returns_have_a_standard_error_of_zero(site: Site) -> None:
    site.define()
    ids = [site.open() for _ in range(7)]
    for id in ids:
        answer(site, id, 0.1, 0.7, 0.3)
    site.host.step()
    [version] = told(site)["versions"]["bins"]
    assert version["error"] == pytest.approx(0, abs=1e-7)


def test_the_last_bin_of_versions_ends_with_the_newest() -> None:
    counted = Counted()
    for version in range(1, 258):
        counted.add_opening(OpenEpisode(1, START, START, version, 1))
    view = counted.view()
    said = version_bins(view.versions, view.newest)
    assert said["width"] == 2
    ends = [(one["first"], one["last"]) for one in said["bins"]]
    assert ends[-2:] == [(255, 256), (257, 257)]


def test_a_problem_without_episodes_has_no_bins(site: Site) -> None:
    site.define()
    said = told(site)
    assert said["seq"] == site.ledger.last
    assert said["times"] == {"width": 1.0, "bins": []}
    assert said["versions"] == {"width": 1, "bins": []}


def test_a_problem_that_cannot_be_folded_has_no_history(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.define()
    site.open()

    def broken(self: object, event: object) -> None:
        raise ValueError("The learner is out of order.")

    monkeypatch.setattr("belated.online.fold.Fold.apply", broken)
    assert told(site) == {
        "problem": "clinic",
        "seq": None,
        "times": {"width": 1.0, "bins": []},
        "arrivals": {"width": 1.0, "bins": []},
        "versions": {"width": 1, "bins": []},
    }
