"""Registry of the claims of the paper, and the verdicts on claims."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from belated.papers.howson2021.evidence import Evidence
from belated.papers.statistics import Interval

Number = int | float | str | Interval
Numbers = tuple[tuple[str, Number], ...]
"""Results of a test, as pairs of a label and a value."""


@dataclass(frozen=True)
class Detail:
    """Result of the test of a claim in one setting."""

    setting: str
    holds: bool
    numbers: Numbers


@dataclass(frozen=True)
class Verdict:
    """Claim of the paper, and its outcome in the runs."""

    name: str
    claim: str
    """Shortened sentence of the paper."""
    where: str
    """Section of the paper that makes the claim."""
    rule: str
    """Condition under which the claim holds in a setting."""
    outcome: str
    """"holds", "holds in n of m settings", "does not hold" or "not tested"."""
    numbers: Numbers
    """Labelled values that summarise the results of all settings."""
    details: tuple[Detail, ...]


Claim = Callable[[Evidence], Verdict]
"""Function that tests one claim against the runs, and returns the verdict."""

CLAIMS: Final[list[Claim]] = []
"""All claims, in the order of their definition."""


def average_numbers(details: Sequence[Detail]) -> Numbers:
    """Return the mean over the settings of each labelled value in `details`.

    The value of an interval is its estimate. Texts are omitted.
    """
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
    """Return a decorator that converts a test function to a claim, and adds the claim to `CLAIMS`.

    The test function yields a result for each setting in which the claim can be tested. The
    docstring of the test function is the rule: the condition under which the claim holds in a
    setting.

    Parameters
    ----------
    name : str
        Identifier of the claim.
    text : str
        Shortened sentence of the paper.
    where : str
        Section of the paper that makes the claim.
    summary : callable
        Function from the results of all settings to the labelled values in the verdict.
    existential : bool
        Whether the claim holds as soon as it holds in one setting.

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
    """Return the outcome of a claim as text; see `Verdict.outcome`.

    `held` contains for each setting whether the claim holds in the setting. If `existential`, the
    claim holds as soon as it holds in one setting.
    """
    if not held:
        return "not tested"
    if all(held) or (existential and any(held)):
        return "holds"
    return f"holds in {sum(held)} of {len(held)} settings" if any(held) else "does not hold"
