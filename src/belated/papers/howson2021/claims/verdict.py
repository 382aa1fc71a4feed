"""Registry of the claims of the paper, and the rule by which all of them are judged.

In each setting, a claim is tested in both directions. A setting confirms the claim if the opposite
of the claim is rejected, and refutes it if the claim is rejected; otherwise the setting does not
resolve it. The false discovery rate over the settings of a claim is at most `FALSE_DISCOVERY_RATE`
in each direction, by the procedure of Benjamini and Yekutieli. This procedure is used because it is
valid for dependent tests, and the tests are dependent because settings share seeds.

A claim is confirmed if all settings confirm it, and refuted if any setting refutes it. If a claim
is true in all settings, the probability that it is refuted is therefore at most
`FALSE_DISCOVERY_RATE`.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple

from belated.papers.howson2021.evidence import Evidence
from belated.papers.statistics import Interval, PValues, discoveries

FALSE_DISCOVERY_RATE: Final = 0.025
"""Maximum false discovery rate over the settings of a claim, in each of the two directions.

A claim that is tested in a single setting is confirmed if the 95 % confidence interval excludes the
opposite of the claim, and refuted if the interval excludes the claim.
"""

Numbers = dict[str, Any]
"""Results of a test: map from labels to values, each a number, a text or an `Interval`."""

Answer = Literal["confirmed", "refuted", "not resolved", "says nothing", "not tested"]
"""Verdict on a claim, in one setting or over all settings.

"says nothing" means that the claim cannot fail in the setting. An example is a bound that is above
the largest possible value. "not tested" means that no setting has the runs that the test needs.
"""


class Tested(NamedTuple):
    """P-values of a claim in one setting, before all settings are judged together."""

    setting: str
    test: PValues | None
    """P-values of the claim; None if the claim says nothing in this setting."""
    numbers: Numbers


@dataclass(frozen=True)
class Detail:
    """Verdict on a claim in one setting, with the measured values."""

    setting: str
    verdict: Answer
    numbers: Numbers


@dataclass(frozen=True)
class Verdict:
    """Claim of the paper, and the verdict of our runs on it."""

    name: str
    claim: str
    """Shortened sentence of the paper."""
    where: str
    """Section of the paper that makes the claim."""
    rule: str
    """Condition under which the claim holds in a setting."""
    verdict: Answer
    """Verdict over all settings."""
    outcome: str
    """Text with the verdict and the numbers of settings that confirm, refute or do not resolve the
    claim."""
    numbers: Numbers
    """Labelled values that summarise the results of all settings."""
    details: tuple[Detail, ...]

    def count(self, verdict: Answer) -> int:
        """Return the number of settings in which the claim has the verdict `verdict`."""
        return sum(detail.verdict == verdict for detail in self.details)


Claim = Callable[[Evidence], Verdict]
"""Function that tests one claim against the runs, and returns the verdict."""

CLAIMS: Final[list[Claim]] = []
"""Functions that test the claims, in the order in which the claims are defined."""


def average_numbers(details: Sequence[Detail]) -> Numbers:
    """Return the mean over the settings of each labelled value in `details`.

    The value of an interval is its estimate. Texts are omitted.
    """
    values: dict[str, list[float]] = {}
    for detail in details:
        for label, number in detail.numbers.items():
            value = number.estimate if isinstance(number, Interval) else number
            if not isinstance(value, str):
                values.setdefault(f"{label}, on average", []).append(float(value))
    return {label: fmean(found) for label, found in values.items()}


def claim(
    name: str,
    text: str,
    where: str,
    *,
    summary: Callable[[Sequence[Detail]], Numbers] = average_numbers,
    existential: bool = False,
) -> Callable[[Callable[[Evidence], Iterator[Tested]]], Claim]:
    """Return a decorator that converts a test function to a claim, and adds the claim to `CLAIMS`.

    The test function yields a test for each setting in which the claim can be tested. The docstring
    of the test function is the rule: the condition under which the claim holds in a setting.

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
        Whether it is enough that the claim holds in one setting. Otherwise it must hold in all.

    Returns
    -------
    callable
        The decorator.
    """

    def register(test: Callable[[Evidence], Iterator[Tested]]) -> Claim:
        rule = " ".join((inspect.getdoc(test) or "").split())

        def judge(evidence: Evidence) -> Verdict:
            details = judge_settings(list(test(evidence)))
            answers = [detail.verdict for detail in details]
            verdict = judge_claim(answers, existential=existential)
            outcome = format_outcome(verdict, answers)
            numbers = summary(details) if details else {}
            return Verdict(name, text, where, rule, verdict, outcome, numbers, details)

        CLAIMS.append(judge)
        return judge

    return register


def judge_settings(tested: Sequence[Tested]) -> tuple[Detail, ...]:
    """Return the verdict on a claim in each setting, with control of the false discovery rate.

    `tested` contains the p-values of the claim in each setting.
    """
    p_values = [one.test for one in tested if one.test is not None]
    sides = zip(*p_values, strict=True) if p_values else ((), ())
    confirmed, refuted = (iter(discoveries(side, FALSE_DISCOVERY_RATE)) for side in sides)
    details = []
    for one in tested:
        verdict: Answer = "says nothing"
        if one.test is not None:
            held, failed = next(confirmed), next(refuted)
            verdict = "confirmed" if held else "refuted" if failed else "not resolved"
        details.append(Detail(one.setting, verdict, one.numbers))
    return tuple(details)


def judge_claim(answers: Sequence[Answer], *, existential: bool = False) -> Answer:
    """Return the verdict on a claim over all settings. `answers` are the verdicts in each setting.

    The claim is confirmed if all settings confirm it, and refuted if any setting refutes it. If
    `existential`, it is confirmed if any setting confirms it, and refuted if all settings refute
    it. Settings in which the claim says nothing are ignored.
    """
    found = {answer for answer in answers if answer != "says nothing"}
    decisive, other = ("confirmed", "refuted") if existential else ("refuted", "confirmed")
    if not answers:
        return "not tested"
    if decisive in found:
        return "confirmed" if existential else "refuted"
    return "not resolved" if found != {other} else "refuted" if existential else "confirmed"


def format_outcome(verdict: Answer, answers: Sequence[Answer]) -> str:
    """Return the outcome of a claim as text; see `Verdict.outcome`.

    `verdict` is the verdict on the claim, and `answers` are its verdicts in all settings.
    """
    trivial = answers.count("says nothing")
    tested = len(answers) - trivial
    text: str = verdict
    if tested and answers.count(verdict) == tested:
        text = f"{verdict} in all {tested} settings" if tested > 1 else verdict
    elif tested:
        kinds = ("confirmed", "refuted", "not resolved")
        counts = [f"{kind} in {answers.count(kind)}" for kind in kinds if kind in answers]
        text = f"{verdict}: {', '.join(counts)} of {tested} settings"
    return text + (f"; says nothing in {trivial} of {len(answers)}" if trivial else "")
