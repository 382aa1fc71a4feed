"""Reception: patients come, are treated by the plan that is served, and are heard of later."""

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from belated.client import Client, OpenEpisode, ServiceError
from belated.delays.queue import Queue
from belated.demo.clinic import PROBLEM, Outcome, best_value, treat
from belated.demo.lateness import Lateness, Sending
from belated.demo.tally import Tally

NAME: Final[str] = PROBLEM["name"]


@dataclass
class Patient:
    """Somebody who came, and what is to be sent of them."""

    episode: OpenEpisode
    outcome: Outcome
    mail: list[Sending]

    @property
    def back(self) -> bool:
        """Whether all visits have been told of."""
        return all(sending.again for sending in self.mail)


class Reception:
    """A clinic at a service; `first` is the number of the first patient."""

    def __init__(self, client: Client, lateness: Lateness, *, first: int = 1) -> None:
        self.tally = Tally(best_value())
        self._client = client
        self._lateness = lateness
        self._first = first
        self._patients: dict[int, Patient] = {}  # of whom something is to be sent
        self._mail: Queue[Sending] = Queue()

    def run(
        self,
        *,
        rate: float,
        episodes: int | None,
        stop: threading.Event,
        look: Callable[[], None],
    ) -> None:
        """Let patients come, `rate` of them a second at most, until `stop`.

        With `episodes` no more than these come, and it ends when all is sent that will be. `look`
        is called after each.
        """
        began = time.monotonic()
        for number in itertools.count():
            if stop.wait(max(0.0, began + number / rate - time.monotonic())):
                return
            k = self._first + number
            for sending in self._mail.due(k):
                self.send(sending)
            if episodes is None or number < episodes:
                self.admit(k)
            elif not self._mail:
                return
            look()

    def admit(self, number: int) -> None:
        """Open an episode, play it, and leave what is to be sent of it in the mail."""
        episode = self._client.open_episode(NAME, subject=f"patient-{number}")
        outcome = treat(episode.plan, patient=number, seed=self._lateness.seed)
        self.tally.totals.append(outcome.total)
        mail = self._lateness.sendings(number)
        if not mail:
            self.tally.never += 1
            return
        self._patients[number] = Patient(episode, outcome, mail)
        for sending in mail:
            self._mail.push(sending, sending.delay)

    def send(self, sending: Sending) -> None:
        """Send something of a patient."""
        patient = self._patients.get(sending.id)
        if patient is None:  # the service took no more of them
            return
        try:
            said = self._say(patient, sending)
        except ServiceError as error:
            if error.status not in (409, 410):
                raise
            # somebody corrected or withdrew it
            self.tally.refused += not patient.back
            del self._patients[sending.id]
            return
        self.tally.repeats += said == "already recorded"
        self.tally.twice += sending.again
        patient.mail.remove(sending)
        self.tally.back += patient.back and not sending.again
        if not patient.mail:
            del self._patients[sending.id]

    def _say(self, patient: Patient, sending: Sending) -> str:
        episode, outcome = patient.episode, patient.outcome
        if sending.whole:
            return self._client.feedback(episode, outcome.states, outcome.actions)
        return self._client.steps(episode, outcome.steps(sending.visits))
