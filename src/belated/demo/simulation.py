"""Simulation of the clinic: the served policy treats patients, and feedback is sent later.

Each patient is one episode, so a delay is a number of patients: those who are admitted before the
feedback is sent. The seed and the number of a patient determine when the feedback is sent:

>>> schedule = FeedbackSchedule(mean_delay=60, never=0.03, seed=7)
>>> for patient in (4, 8, 16, 75):  # once, repeated, in two parts, never
...     print(patient, [(d.delay, d.visits, d.repeated) for d in schedule.deliveries(patient)])
4 [(18, range(0, 6), False)]
8 [(10, range(0, 6), False), (17, range(0, 6), True)]
16 [(23, range(0, 2), False), (8, range(2, 6), False)]
75 []
"""

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from belated.client import Client, OpenEpisode, ServiceError
from belated.delays.laws import NEVER, Law, geometric
from belated.delays.laws import never as delays_or_never
from belated.delays.queue import Queue
from belated.demo.clinic import PROBLEM, VISITS, Outcome, treat, world
from belated.demo.status import DemoStatistics
from belated.exact.values import optimal_value
from belated.randomness import check_seed, uniform

NAME: Final[str] = PROBLEM["name"]

SPLIT_PROBABILITY: Final = 0.2
"""Probability that the feedback of a patient arrives in two parts."""
REPEAT_PROBABILITY: Final = 0.1
"""Probability that the first part of the feedback of a patient is sent twice."""

SCHEDULE_STREAM: Final = 100
"""Random stream of the schedule, distinct from the streams of `belated.randomness`."""


class Delivery(NamedTuple):
    """One message with the feedback of some visits of a patient."""

    id: int
    """Number of the patient."""
    delay: int
    """Number of later patients that are admitted before the message is sent."""
    visits: range
    """Visits that the message reports, numbered from 0."""
    repeated: bool = False
    """Whether the message repeats an earlier one."""


class FeedbackSchedule:
    """Random schedule of the messages with the feedback of each patient.

    Parameters
    ----------
    mean_delay : float
        Mean delay of the feedback: number of patients who are admitted before it is sent.
    never : float
        Probability that the feedback of a patient is never sent.
    seed : int
        Seed of all random numbers of the schedule.
    """

    def __init__(self, *, mean_delay: float, never: float, seed: int) -> None:
        self.mean_delay, self.never, self.seed = mean_delay, never, check_seed(seed)
        self._delay = geometric(mean_delay)
        self._delay_or_never = delays_or_never(never, otherwise=self._delay)

    def deliveries(self, patient: int) -> list[Delivery]:
        """Return all messages with feedback of the patient with the number `patient`.

        The list is empty if the feedback is never sent.
        """
        first = self._draw_delay(self._delay_or_never, patient, 0)
        if first >= NEVER:
            return []
        parts = self._split(patient)
        delays = [first]
        delays += [self._draw_delay(self._delay, patient, i) for i in range(1, len(parts))]
        deliveries = [
            Delivery(patient, delay, visits) for delay, visits in zip(delays, parts, strict=True)
        ]
        if self._uniform(patient, 0) < REPEAT_PROBABILITY:
            later = 1 + self._draw_delay(self._delay, patient, len(parts))
            deliveries.append(Delivery(patient, first + later, parts[0], repeated=True))
        return deliveries

    def _split(self, patient: int) -> list[range]:
        """Return the visits of `patient`, split into one or two ranges at random."""
        if self._uniform(patient, 1) >= SPLIT_PROBABILITY:
            return [range(VISITS)]
        cut = 1 + int(self._uniform(patient, 2) * (VISITS - 1))
        return [range(cut), range(cut, VISITS)]

    def _draw_delay(self, law: Law, patient: int, step: int) -> int:
        return int(law.draw(seed=self.seed, episodes=1, first=patient, step=step)[0])

    def _uniform(self, patient: int, step: int) -> float:
        return uniform(self.seed, SCHEDULE_STREAM, patient, step)


@dataclass
class Patient:
    """Patient whose messages with feedback have not all been sent yet."""

    episode: OpenEpisode
    outcome: Outcome
    deliveries: list[Delivery]  # messages still to be sent

    @property
    def is_back(self) -> bool:
        """Whether all visits have been reported, so that only repetitions remain to be sent."""
        return all(delivery.repeated for delivery in self.deliveries)


class ClinicSimulation:
    """Simulated patients who are treated by the policies that a service serves to one client.

    Parameters
    ----------
    client : Client
        Client of a service in which the problem `clinic.PROBLEM` is defined.
    schedule : FeedbackSchedule
        Times at which feedback is sent.
    first : int
        Number of the first patient.
    """

    def __init__(self, client: Client, schedule: FeedbackSchedule, *, first: int = 1) -> None:
        self.statistics = DemoStatistics(optimal_value(world()))
        self._client = client
        self._schedule = schedule
        self._first = first
        self._patients: dict[int, Patient] = {}  # by number
        self._in_flight: Queue[Delivery] = Queue()

    def run(
        self,
        *,
        rate: float,
        episodes: int | None,
        stop: threading.Event,
        after_each: Callable[[], None],
    ) -> None:
        """Simulate patients until all feedback has been sent, or until `stop` is set.

        Parameters
        ----------
        rate : float
            Maximum number of patients per second.
        episodes : int | None
            Number of patients; None for no limit.
        stop : threading.Event
            Event that another thread sets to end the simulation.
        after_each : Callable[[], None]
            Function that is called after each patient.
        """
        started = time.monotonic()
        for number in itertools.count():
            if stop.wait(max(0.0, started + number / rate - time.monotonic())):
                return
            k = self._first + number
            for delivery in self._in_flight.due(k):
                self.send(delivery)
            if episodes is None or number < episodes:
                self.admit(k)
            elif not self._in_flight:
                return
            after_each()

    def admit(self, number: int) -> None:
        """Open an episode for patient `number`, simulate its treatment, and schedule feedback."""
        episode = self._client.open_episode(NAME, subject=f"patient-{number}")
        outcome = treat(episode.policy, patient=number, seed=self._schedule.seed)
        self.statistics.returns.append(outcome.total)
        deliveries = self._schedule.deliveries(number)
        if not deliveries:
            self.statistics.never += 1
            return
        self._patients[number] = Patient(episode, outcome, deliveries)
        for delivery in deliveries:
            self._in_flight.push(delivery, delivery.delay)

    def send(self, delivery: Delivery) -> None:
        """Send the message `delivery` to the service, and update the statistics.

        If the service rejects feedback of a patient, further messages of this patient are dropped.
        """
        patient = self._patients.get(delivery.id)
        if patient is None:  # rejected before
            return
        try:
            result = self._send_feedback(patient, delivery.visits)
        except ServiceError as error:
            if error.status not in (409, 410):
                raise
            # Another client corrected or withdrew the episode.
            self.statistics.rejected += not patient.is_back
            del self._patients[delivery.id]
            return
        self.statistics.repeats += result == "already recorded"
        self.statistics.twice += delivery.repeated
        patient.deliveries.remove(delivery)
        self.statistics.back += patient.is_back and not delivery.repeated
        if not patient.deliveries:
            del self._patients[delivery.id]

    def _send_feedback(self, patient: Patient, visits: range) -> str:
        episode, outcome = patient.episode, patient.outcome
        if len(visits) == VISITS:
            return self._client.feedback(episode, outcome.states, outcome.actions)
        return self._client.steps(episode, outcome.steps(visits))
