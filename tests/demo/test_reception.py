"""Patients come, and are heard of later."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from belated.client import Client, OpenEpisode, ServiceError
from belated.demo.clinic import VISITS
from belated.demo.lateness import Lateness
from belated.demo.reception import Reception
from belated.demo.tally import HEADER, Tally
from demo.plans import plan_of

LATE = Lateness(mean=10, never=0.1, seed=3)


class Service(Client):
    """Says what a service would, and keeps what it was sent."""

    def __init__(self, refuses: dict[str, int] | None = None) -> None:
        super().__init__("http://nowhere")
        self.sent: list[tuple[str, tuple[int, ...]]] = []
        self.opened: list[str] = []
        self._refuses = refuses or {}

    def open_episode(self, problem: str, subject: str | None = None, **_: Any) -> OpenEpisode:
        assert problem == "clinic"
        assert subject is not None
        self.opened.append(subject)
        return OpenEpisode(subject, 1, plan_of("wait"))

    def feedback(self, episode: Any, states: Any, actions: Any, *_: Any, **__: Any) -> str:
        assert (len(states), len(actions)) == (VISITS + 1, VISITS)
        return self._take(episode.id, range(VISITS))

    def steps(self, episode: Any, steps: Any) -> str:
        return self._take(episode.id, [step["step"] for step in steps])

    def _take(self, patient: str, visits: Sequence[int]) -> str:
        if patient in self._refuses:
            raise ServiceError("Not that one.", self._refuses[patient])
        one = patient, tuple(visits)
        said = "already recorded" if one in self.sent else "recorded"
        self.sent.append(one)
        return said


def played(
    service: Service, patients: int, *, first: int = 1, look: Callable[[], None] = lambda: None
) -> Tally:
    reception = Reception(service, LATE, first=first)
    reception.run(rate=1e9, episodes=patients, stop=threading.Event(), look=look)
    return reception.tally


def test_each_outcome_is_sent_once_twice_or_never_as_drawn() -> None:
    service = Service()
    tally = played(service, 300)
    drawn = {k: LATE.sendings(k) for k in range(1, 301)}
    assert service.opened == [f"patient-{k}" for k in drawn]
    assert Counter(service.sent) == Counter(
        (f"patient-{k}", tuple(one.visits)) for k in drawn for one in drawn[k]
    )
    assert tally.never == sum(not some for some in drawn.values()) > 0
    assert tally.twice == sum(one.again for some in drawn.values() for one in some) > 0
    assert tally.repeats == tally.twice
    assert (tally.back, tally.coming, tally.refused) == (300 - tally.never, 0, 0)


def test_outcomes_come_late_and_out_of_order() -> None:
    service = Service()
    reception = Reception(service, LATE)
    before: list[int] = []
    reception.run(
        rate=1e9,
        episodes=100,
        stop=threading.Event(),
        look=lambda: before.append(reception.tally.coming),
    )
    assert max(before) > 3
    order = [int(patient.split("-")[1]) for patient, _ in service.sent]
    assert order != sorted(order)


def test_it_ends_when_it_is_told_to() -> None:
    stop = threading.Event()
    reception = Reception(Service(), LATE)
    reception.run(rate=1e9, episodes=None, stop=stop, look=stop.set)
    assert reception.tally.opened == 1


def test_it_goes_on_with_the_next_patient_where_there_were_some_before() -> None:
    service = Service()
    played(service, 3, first=11)
    assert service.opened == ["patient-11", "patient-12", "patient-13"]


@pytest.mark.parametrize("status", [409, 410])
def test_what_somebody_withdrew_or_corrected_is_let_be(status: int) -> None:
    [patient, *_] = [k for k in range(1, 50) if LATE.sendings(k)]
    service = Service({f"patient-{patient}": status})
    tally = played(service, 50)
    assert tally.refused == 1
    assert tally.back == 50 - tally.never - 1
    assert tally.coming == 0


def test_any_other_error_is_not_swallowed() -> None:
    [patient, *_] = [k for k in range(1, 50) if LATE.sendings(k)]
    with pytest.raises(ServiceError, match="Not that one"):
        played(Service({f"patient-{patient}": 422}), 50)


def test_the_summary_tells_of_all_patients() -> None:
    tally = Tally(5.0, [1.0] * 10 + [2.0] * 80 + [4.5] * 10, back=90, twice=9, repeats=9, never=4)
    first, second = tally.summary(10).splitlines()
    assert first.startswith("100 patients: 90 back, 4 never sent, 6 on their way; ")
    assert "10 pending" in first
    assert second.startswith("Mean return: 1.00 of the first 10, 4.50 of the last 10; ")
    assert "5.00" in second
    assert Tally(5.0).summary(0) == "Nobody came."


def test_the_line_stands_in_the_columns_of_its_header() -> None:
    tally = Tally(5.0, [1.0] * 100 + [4.0] * 200, back=250, twice=25, never=9)
    line = tally.line(61, {"missing": 50, "serving": {"version": 12}})
    assert line.split() == ["1:01", "300", "250", "50", "25", "9", "12", "4.00", "of", "5.00"]
    assert len(line) == len(HEADER) < 80
