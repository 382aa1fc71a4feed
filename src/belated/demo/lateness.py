"""Lateness: what is sent of whom, and when; a pure function of the seed and the patient.

Time is counted in patients, as delays are everywhere else.

>>> late = Lateness(mean=60, never=0.03, seed=7)
>>> for patient in (4, 8, 16, 75):  # once, twice, in pieces, never
...     print(patient, [(one.delay, one.visits, one.again) for one in late.sendings(patient)])
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

IN_PIECES: Final = 0.2
"""How many of the outcomes come in pieces."""
TWICE: Final = 0.1
"""How many of them have something that is sent twice."""

HABITS: Final = 100
"""A stream of random numbers, apart from those of `belated.randomness`."""


class Sending(NamedTuple):
    """Something that is sent of a patient."""

    id: int
    """The patient."""
    delay: int
    """How many patients come in the meantime."""
    visits: range
    """What it tells of."""
    again: bool = False
    """Whether it has been on its way before."""

    @property
    def whole(self) -> bool:
        """Whether it tells of all visits."""
        return len(self.visits) == VISITS


@dataclass(frozen=True)
class Lateness:
    """How late outcomes are on average, in patients, and how many never come."""

    mean: float
    never: float
    seed: int

    def __post_init__(self) -> None:
        check_seed(self.seed)
        _ = self._first, self._later  # which refuse what they cannot be

    @cached_property
    def _later(self) -> Law:
        return geometric(self.mean)

    @cached_property
    def _first(self) -> Law:
        return never(self.never, otherwise=self._later)

    def sendings(self, patient: int) -> list[Sending]:
        """All that will be sent of a patient: nothing, an outcome, or its pieces."""
        first = self._delay(self._first, patient, 0)
        if first >= NEVER:
            return []
        sent = [Sending(patient, first, visits) for visits in self._pieces(patient)]
        sent[1:] = [
            one._replace(delay=self._delay(self._later, patient, i))
            for i, one in enumerate(sent[1:], 1)
        ]
        if self._uniform(patient, 0) < TWICE:
            more = 1 + self._delay(self._later, patient, len(sent))
            sent.append(sent[0]._replace(delay=first + more, again=True))
        return sent

    def _pieces(self, patient: int) -> list[range]:
        """The visits, cut once where they are cut."""
        if self._uniform(patient, 1) >= IN_PIECES:
            return [range(VISITS)]
        cut = 1 + int(self._uniform(patient, 2) * (VISITS - 1))
        return [range(cut), range(cut, VISITS)]

    def _delay(self, law: Law, patient: int, step: int) -> int:
        return int(law.draw(seed=self.seed, episodes=1, first=patient, step=step)[0])

    def _uniform(self, patient: int, step: int) -> float:
        return uniform(self.seed, HABITS, patient, step)
