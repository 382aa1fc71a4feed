"""Registry of the claims of the paper, and the rule by which all of them are judged.

In each setting, a claim is tested in both directions. The settings in which its opposite is
rejected confirm the claim, and the settings in which the claim is rejected refute it; in all other
settings it is not resolved. The false discovery rate over the settings of a claim is at most
`FALSE_DISCOVERY_RATE` in each direction, by the procedure of Benjamini and Yekutieli: settings
share seeds, so the tests are dependent, and no simpler procedure is valid for every dependence.

A claim is confirmed if all settings confirm it, and refuted if any setting refutes it. If a claim
is true in all settings, the probability that it is refuted is therefore at most
`FALSE_DISCOVERY_RATE`.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal, NamedTuple

from belated.papers.howson2021.evidence import Evidence
from belated.papers.statistics import Interval, discoveries, p_value_above, p_value_below

FALSE_DISCOVERY_RATE: Final = 0.025
"""Maximum false discovery rate over the settings of a claim, in each of the two directions.

With a single setting, a claim is confirmed or refuted if its 95 % confidence interval is.
"""

Number = int | float | str | Interval
Numbers = tuple[tuple[str, Number], ...]
"""Results of a test, as pairs of a label and a value."""

Answer = Literal["confirmed", "refuted", "not resolved", "says nothing", "not tested"]
"""Verdict on a claim, in one setting or in all.

"says nothing": the claim cannot fail in this setting, as a bound above the largest possible value.
"not tested": there are no runs that the claim is about.
"""


class PValues(NamedTuple):
    """P-values of the two tests of a claim in one setting."""

    confirm: float
    """P-value of the hypothesis that the claim is false."""
    refute: float
    """P-value of the hypothesis that the claim is true."""


def is_above(interval: Interval, bound: float, seeds: int) -> PValues:
    """Test the claim that a value is above `bound`, given its interval from `seeds` seeds."""
    return PValues(p_value_above(interval, bound, seeds), p_value_below(interval, bound, seeds))


def is_below(interval: Interval, bound: float, seeds: int) -> PValues:
    """Test the claim that a value is below `bound`, given its interval from `seeds` seeds."""
    return PValues(*reversed(is_above(interval, bound, seeds)))


def is_within(interval: Interval, margin: float, seeds: int) -> PValues:
    """Test the claim that a value is between -`margin` and `margin` (equivalence)."""
    return all_hold([is_above(interval, -margin, seeds), is_below(interval, margin, seeds)])


def all_hold(tests: Iterable[PValues]) -> PValues:
    """Test the claim that several claims all hold.

    It is confirmed if each of them is, and refuted if one of them is, with Bonferroni's correction.
    """
    confirm, refute = zip(*tests, strict=True)
    return PValues(max(confirm), min(1.0, len(refute) * min(refute)))


def any_holds(tests: Iterable[PValues]) -> PValues:
    """Test the claim that at least one of several claims holds; see `all_hold`."""
    return PValues(*reversed(all_hold(PValues(*reversed(test)) for test in tests)))


class Tested(NamedTuple):
    """Test of a claim in one setting."""

    setting: str
    test: PValues | None
    """Results of the test; None if the claim says nothing in this setting."""
    numbers: Numbers


@dataclass(frozen=True)
class Detail:
    """Result of the test of a claim in one setting."""

    setting: str
    verdict: Answer
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
    verdict: Answer
    """Verdict over all settings."""
    outcome: str
    """The verdict, with the numbers of settings that confirm, refute and do not resolve it."""
    numbers: Numbers
    """Labelled values that summarise the results of all settings."""
    details: tuple[Detail, ...]

    def count(self, verdict: Answer) -> int:
        """Return the number of settings with this `verdict`."""
        return sum(detail.verdict == verdict for detail in self.details)


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
        Whether the claim holds as soon as it holds in one setting.

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
            numbers = summary(details) if details else ()
            return Verdict(name, text, where, rule, verdict, outcome, numbers, details)

        CLAIMS.append(judge)
        return judge

    return register


def judge_settings(tested: Sequence[Tested]) -> tuple[Detail, ...]:
    """Return the verdict in each setting, with control of the false discovery rate."""
    p_values = [one.test for one in tested if one.test is not None]
    confirmed, refuted = (
        iter(discoveries([test[side] for test in p_values], FALSE_DISCOVERY_RATE))
        for side in (0, 1)
    )
    details = []
    for one in tested:
        verdict: Answer = "says nothing"
        if one.test is not None:
            held, failed = next(confirmed), next(refuted)
            verdict = "confirmed" if held else "refuted" if failed else "not resolved"
        details.append(Detail(one.setting, verdict, one.numbers))
    return tuple(details)


def judge_claim(answers: Sequence[Answer], *, existential: bool = False) -> Answer:
    """Return the verdict on a claim from its verdicts in all settings.

    Settings in which the claim says nothing are ignored. If `existential`, the claim is confirmed
    if any setting confirms it, and refuted if all settings refute it.
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
    texts = []
    if tested and answers.count(verdict) == tested:
        texts.append(f"{verdict} in all {tested} settings" if tested > 1 else verdict)
    elif tested:
        parts = (
            f"{kind} in {answers.count(kind)}"
            for kind in ("confirmed", "refuted", "not resolved")
            if kind in answers
        )
        texts.append(f"{verdict}: {', '.join(parts)} of {tested} settings")
    else:
        texts.append(verdict)
    if trivial:
        texts.append(f"says nothing in {trivial} of {len(answers)}")
    return "; ".join(texts)
