"""Schedule of the feedback of each patient, a pure function of the seed and the patient's number.

Time is counted in patients, as delays are counted in episodes.

>>> schedule = FeedbackSchedule(mean_delay=60, never=0.03, seed=7)
>>> for patient in (4, 8, 16, 75):  # once, repeated, in two parts, never
...     print(patient, [(d.delay, d.visits, d.repeated) for d in schedule.deliveries(patient)])
4 [(18, range(0, 6), False)]
8 [(10, range(0, 6), False), (17, range(0, 6), True)]
16 [(23, range(0, 2), False), (8, range(2, 6), False)]
75 []
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from belated.delays.laws import NEVER, Law, geometric, never
from belated.demo.clinic import VISITS
from belated.randomness import check_seed, uniform

SPLIT_PROBABILITY: Final = 0.2
"""Probability that the feedback of a patient arrives in two parts."""
REPEAT_PROBABILITY: Final = 0.1
"""Probability that a part of it is sent twice."""

SCHEDULE_STREAM: Final = 100
"""Stream of random numbers, distinct from those of `belated.randomness`."""


class Delivery(NamedTuple):
    """Feedback of some visits of a patient, to be sent once."""

    id: int
    """Number of the patient."""
    delay: int
    """Number of patients after which it is sent."""
    visits: range
    """Visits that it reports."""
    repeated: bool = False
    """Whether the same feedback was sent before."""


@dataclass(frozen=True)
class FeedbackSchedule:
    """Times at which feedback is sent."""

    mean_delay: float
    """Mean delay in patients."""
    never: float
    """Probability that the feedback of a patient is never sent."""
    seed: int
    """Seed of all random numbers."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        _ = self._delay_or_never, self._delay_law  # raise ValueError if a parameter is invalid

    @cached_property
    def _delay_law(self) -> Law:
        return geometric(self.mean_delay)

    @cached_property
    def _delay_or_never(self) -> Law:
        return never(self.never, otherwise=self._delay_law)

    def deliveries(self, patient: int) -> list[Delivery]:
        """Return all deliveries of the feedback of `patient`; none if it is never sent."""
        first = self._draw_delay(self._delay_or_never, patient, 0)
        if first >= NEVER:
            return []
        parts = self._split(patient)
        delays = [first]
        delays += [self._draw_delay(self._delay_law, patient, i) for i in range(1, len(parts))]
        deliveries = [
            Delivery(patient, delay, visits) for delay, visits in zip(delays, parts, strict=True)
        ]
        if self._uniform(patient, 0) < REPEAT_PROBABILITY:
            later = 1 + self._draw_delay(self._delay_law, patient, len(parts))
            deliveries.append(Delivery(patient, first + later, parts[0], repeated=True))
        return deliveries

    def _split(self, patient: int) -> list[range]:
        """Return the visits in one or two parts."""
        if self._uniform(patient, 1) >= SPLIT_PROBABILITY:
            return [range(VISITS)]
        cut = 1 + int(self._uniform(patient, 2) * (VISITS - 1))
        return [range(cut), range(cut, VISITS)]

    def _draw_delay(self, law: Law, patient: int, step: int) -> int:
        return int(law.draw(seed=self.seed, episodes=1, first=patient, step=step)[0])

    def _uniform(self, patient: int, step: int) -> float:
        return uniform(self.seed, SCHEDULE_STREAM, patient, step)
