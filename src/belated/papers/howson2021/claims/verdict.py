"""Verdict: a sentence of the paper, what was found, and the numbers behind it."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from belated.papers.howson2021.evidence import Evidence
from belated.papers.statistics import Interval

Number = int | float | str | Interval
Numbers = tuple[tuple[str, Number], ...]


@dataclass(frozen=True)
class Detail:
    """What was found in one setting."""

    setting: str
    holds: bool
    numbers: Numbers


@dataclass(frozen=True)
class Finding:
    """What a claim comes to: setting by setting, and in a few numbers.

    `anywhere` is for claims that something happens, and hold if it does in one setting.
    """

    details: tuple[Detail, ...]
    numbers: Numbers
    anywhere: bool = False

    @property
    def outcome(self) -> str:
        count, total = sum(detail.holds for detail in self.details), len(self.details)
        if total == 0:
            return "not tested"
        if count == total or (self.anywhere and count):
            return "holds"
        return f"holds in {count} of {total} settings" if count else "does not hold"


@dataclass(frozen=True)
class Verdict:
    """A claim and what became of it."""

    name: str
    claim: str  # the paper's sentence, shortened
    where: str
    rule: str  # when it holds in a setting
    outcome: str  # "holds", "holds in n of m settings", "does not hold" or "not tested"
    numbers: Numbers
    details: tuple[Detail, ...]


Claim = Callable[[Evidence], Verdict]


def stated(name: str, claim: str, where: str) -> Callable[[Callable[[Evidence], Finding]], Claim]:
    """Make a claim of a function that looks for it; its docstring is the rule."""

    def make(look: Callable[[Evidence], Finding]) -> Claim:
        rule = " ".join((inspect.getdoc(look) or "").split())

        def judge(evidence: Evidence) -> Verdict:
            found = look(evidence)
            return Verdict(name, claim, where, rule, found.outcome, found.numbers, found.details)

        judge.__doc__ = look.__doc__
        return judge

    return make


def averages(details: Sequence[Detail]) -> Numbers:
    """Each number of the details, averaged over the settings."""
    found: dict[str, list[float]] = {}
    for detail in details:
        for label, number in detail.numbers:
            value = number.estimate if isinstance(number, Interval) else number
            if not isinstance(value, str):
                found.setdefault(label, []).append(float(value))
    return tuple((f"{label}, on average", fmean(values)) for label, values in found.items())
