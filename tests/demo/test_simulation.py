"""The simulation of the clinic, and its statistics."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from belated.client import Client, OpenEpisode, ServiceError
from belated.demo.clinic import VISITS
from belated.demo.simulation import ClinicSimulation, FeedbackSchedule
from belated.demo.status import DemoStatistics
from demo.policies import constant_policy

SCHEDULE = FeedbackSchedule(mean_delay=10, never=0.1, seed=3)


class Service(Client):
    """Client without a service that keeps the feedback it is given."""

    def __init__(self, refuses: dict[str, int] | None = None) -> None:
        super().__init__("http://nowhere")
        self.sent: list[tuple[str, tuple[int, ...]]] = []
        self.opened: list[str] = []
        self._refuses = refuses or {}

    def open_episode(self, problem: str, subject: str | None = None, **_: Any) -> OpenEpisode:
        assert problem == "clinic"
        assert subject is not None
        self.opened.append(subject)
        return OpenEpisode(subject, 1, constant_policy("wait"))

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
    service: Service,
    patients: int,
    *,
    first: int = 1,
    after_each: Callable[[], None] = lambda: None,
) -> DemoStatistics:
    clinic = ClinicSimulation(service, SCHEDULE, first=first)
    clinic.run(rate=1e9, episodes=patients, stop=threading.Event(), after_each=after_each)
    return clinic.statistics


def test_feedback_is_sent_as_scheduled() -> None:
    service = Service()
    statistics = played(service, 300)
    drawn = {k: SCHEDULE.deliveries(k) for k in range(1, 301)}
    assert service.opened == [f"patient-{k}" for k in drawn]
    assert Counter(service.sent) == Counter(
        (f"patient-{k}", tuple(one.visits)) for k in drawn for one in drawn[k]
    )
    assert statistics.never == sum(not some for some in drawn.values()) > 0
    assert statistics.twice == sum(one.repeated for some in drawn.values() for one in some) > 0
    assert statistics.repeats == statistics.twice
    assert (statistics.back, statistics.pending, statistics.rejected) == (
        300 - statistics.never,
        0,
        0,
    )


def test_feedback_is_late_and_out_of_order() -> None:
    service = Service()
    clinic = ClinicSimulation(service, SCHEDULE)
    before: list[int] = []
    clinic.run(
        rate=1e9,
        episodes=100,
        stop=threading.Event(),
        after_each=lambda: before.append(clinic.statistics.pending),
    )
    assert max(before) > 3
    order = [int(patient.split("-")[1]) for patient, _ in service.sent]
    assert order != sorted(order)


def test_it_ends_when_stop_is_set() -> None:
    stop = threading.Event()
    clinic = ClinicSimulation(Service(), SCHEDULE)
    clinic.run(rate=1e9, episodes=None, stop=stop, after_each=stop.set)
    assert clinic.statistics.opened == 1


@pytest.mark.parametrize("status", [409, 410])
def test_withdrawn_or_corrected_episodes_are_skipped(status: int) -> None:
    [patient, *_] = [k for k in range(1, 50) if SCHEDULE.deliveries(k)]
    service = Service({f"patient-{patient}": status})
    statistics = played(service, 50)
    assert statistics.rejected == 1
    assert statistics.back == 50 - statistics.never - 1
    assert statistics.pending == 0


def test_any_other_error_is_raised() -> None:
    [patient, *_] = [k for k in range(1, 50) if SCHEDULE.deliveries(k)]
    with pytest.raises(ServiceError, match="Not that one"):
        played(Service({f"patient-{patient}": 422}), 50)


def test_the_summary_covers_all_patients() -> None:
    statistics = DemoStatistics(
        5.0, [1.0] * 10 + [2.0] * 80 + [4.5] * 10, back=90, twice=9, repeats=9, never=4
    )
    first, second = statistics.summary(10).splitlines()
    assert first.startswith("100 patients. Outcomes: 90 sent, 4 never sent, 6 not yet sent; ")
    assert "10 pending" in first
    assert second.startswith("Mean return: 1.00 for the first 10 patients, 4.50 for the last 10; ")
    assert "5.00" in second
    assert DemoStatistics(5.0).summary(0) == "No patients."
