"""Claims of the paper and the verdicts on them."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from belated.papers.howson2021.evidence import Evidence
from belated.papers.statistics import Interval

Number = int | float | str | Interval
Numbers = tuple[tuple[str, Number], ...]
"""Labels and values."""


@dataclass(frozen=True)
class Detail:
    """Result of a claim in one setting."""

    setting: str
    holds: bool
    numbers: Numbers


@dataclass(frozen=True)
class Verdict:
    """A claim and its outcome."""

    name: str
    claim: str
    """The paper's sentence, shortened."""
    where: str
    """Section of the paper."""
    rule: str
    """Condition under which the claim holds in a setting."""
    outcome: str
    """"holds", "holds in n of m settings", "does not hold" or "not tested"."""
    numbers: Numbers
    """Numbers that summarise all settings."""
    details: tuple[Detail, ...]


Claim = Callable[[Evidence], Verdict]
"""Function that judges one claim by the runs."""

CLAIMS: Final[list[Claim]] = []
"""All claims, in the order of their definition."""


def average_numbers(details: Sequence[Detail]) -> Numbers:
    """Return each number of `details`, averaged over the settings."""
    values: dict[str, list[float]] = {}
    for detail in details:
        for label, number in detail.numbers:
            value = number.estimate if isinstance(number, Interval) else number
            if not isinstance(value, str):
                values.setdefault(label, []).append(float(value))
    return tuple((f"{label}, on average", fmean(found)) for label, found in values.items())


def claim(
    name: str,
    text: str,
    where: str,
    *,
    summary: Callable[[Sequence[Detail]], Numbers] = average_numbers,
    existential: bool = False,
) -> Callable[[Callable[[Evidence], Iterator[Detail]]], Claim]:
    """Return a decorator that makes a claim of a function and adds it to CLAIMS.

    The function yields the result of each setting in which the claim can be tested, and its
    docstring is the rule by which the claim holds there.

    Parameters
    ----------
    name : str
        Identifier of the claim.
    text : str
        The paper's sentence, shortened.
    where : str
        Section of the paper.
    summary : callable
        Function from all results to the numbers that summarise them.
    existential : bool
        Whether the claim says that something happens somewhere, so that one setting is enough.

    Returns
    -------
    callable
        The decorator.
    """

    def register(test: Callable[[Evidence], Iterator[Detail]]) -> Claim:
        rule = " ".join((inspect.getdoc(test) or "").split())

        def judge(evidence: Evidence) -> Verdict:
            details = tuple(test(evidence))
            outcome = format_outcome([detail.holds for detail in details], existential=existential)
            numbers = summary(details) if details else ()
            return Verdict(name, text, where, rule, outcome, numbers, details)

        CLAIMS.append(judge)
        return judge

    return register


def format_outcome(held: Sequence[bool], *, existential: bool = False) -> str:
    """Return the outcome of a claim; `held` says for each setting whether it holds there.

    If `existential`, one setting is enough for the claim to hold.
    """
    if not held:
        return "not tested"
    if all(held) or (existential and any(held)):
        return "holds"
    return f"holds in {sum(held)} of {len(held)} settings" if any(held) else "does not hold"
