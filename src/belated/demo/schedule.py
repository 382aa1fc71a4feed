"""Schedule of the feedback of each patient, determined by the seed and the number of the patient.

Each patient is one episode, so a delay is a number of patients: those who are admitted before the
feedback is sent.

>>> schedule = FeedbackSchedule(mean_delay=60, never=0.03, seed=7)
>>> for patient in (4, 8, 16, 75):  # once, repeated, in two parts, never
...     print(patient, [(d.delay, d.visits, d.repeated) for d in schedule.deliveries(patient)])
4 [(18, range(0, 6), False)]
8 [(10, range(0, 6), False), (17, range(0, 6), True)]
16 [(23, range(0, 2), False), (8, range(2, 6), False)]
75 []
"""

from typing import Final, NamedTuple

from belated.delays.laws import NEVER, Law, geometric
from belated.delays.laws import never as delays_or_never
from belated.demo.clinic import VISITS
from belated.randomness import check_seed, uniform

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
