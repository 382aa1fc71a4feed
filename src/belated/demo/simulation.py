"""Simulation of the clinic: the served policy treats patients, and feedback is sent later."""

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from belated.client import Client, OpenEpisode, ServiceError
from belated.delays.queue import Queue
from belated.demo.clinic import PROBLEM, VISITS, Outcome, treat, world
from belated.demo.schedule import Delivery, FeedbackSchedule
from belated.demo.status import DemoStatistics
from belated.exact.values import optimal_value

NAME: Final[str] = PROBLEM["name"]


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
