"""`bl.lateness`: how late feedback is, and whether what returns early is representative."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from belated.check import check_integer
from belated.survival.dependence import (
    Cohorts,
    DependenceTest,
    adjust,
    compare_cohorts,
    compare_groups,
    correlate_return,
)
from belated.survival.estimate import DelayEstimate, Tail, Unit
from belated.survival.kaplan_meier import Bands, kaplan_meier
from belated.survival.records import DelayRecords, records_of, records_of_rows

if TYPE_CHECKING:
    from belated.delays.laws import Law


@dataclass(frozen=True, eq=False)
class Lateness:
    """Estimated delays of episodes, and tests of what they depend on; returned by `lateness`.

    `print` shows all of it, and `summary` is one sentence.
    """

    episodes: DelayEstimate
    """Distribution of the delay in episodes."""
    seconds: DelayEstimate | None
    """Distribution of the delay in seconds; None if the records have no times."""
    tests: tuple[DependenceTest, ...]
    """Tests of whether lateness depends on groups, on the return or on the time of opening; empty
    if the records have no order of opening."""
    level: float
    """Level of all tests together: the chance that any rejects if lateness depends on nothing."""

    @property
    def estimate(self) -> DelayEstimate:
        """Estimate in the unit of the records: in seconds if there are times, else in episodes."""
        return self.episodes if self.seconds is None else self.seconds

    @property
    def dependences(self) -> tuple[DependenceTest, ...]:
        """Tests that reject independence at the level `level`, adjusted for all tests."""
        return tuple(test for test in self.tests if test.rejects(self.level))

    @property
    def early_returns_are_biased(self) -> bool | None:
        """Whether a test found that early returns are not representative of all episodes.

        False if every test was made and none found this. None if no test found it, and at least one
        test cannot be made yet, or there are no tests.
        """
        if self._biases:
            return True
        return None if self._open or not self.tests else False

    @property
    def _biases(self) -> list[DependenceTest]:
        return [test for test in self.dependences if not test.about.startswith("drift")]

    @property
    def _open(self) -> list[DependenceTest]:
        return [test for test in self.tests if test.p is None]

    @property
    def summary(self) -> str:
        """One sentence: whether early returns are representative, and what follows."""
        if self._biases:
            causes = " and ".join(map(_describe, self._biases))
            age = self.estimate.complete_age
            wait = (
                "all of a cohort is back, at an age that cannot be told yet"
                if age is None
                else f"its cohort is complete, at an age of {self.estimate.text(age)}"
            )
            return (
                f"Early returns are not representative, because lateness {causes}: averages over "
                f"what is back are biased, so count an episode only once {wait}."
            )
        if self.dependences:
            return (
                "Lateness changes over time, so that the estimate mixes different laws: use recent "
                "cohorts only, and do not compare versions by what is back."
            )
        if self._open or not self.tests:
            reasons = "; ".join(f"{test.about}: {test.reason}" for test in self._open)
            return (
                "Whether early returns are representative cannot be told yet "
                f"({reasons or 'the records have neither groups nor returns nor an order'})."
            )
        return (
            f"No dependence was found in {len(self.tests)} tests, so nothing speaks against "
            "treating early returns as representative of all."
        )

    def law(self, tail: Tail = "never", *, name: str | None = None) -> "Law":
        """Return the estimate in episodes as a delay law; see `DelayEstimate.law`."""
        return self.episodes.law(tail, name=name)

    def __str__(self) -> str:
        """Return the estimates, the tests and the summary as lines of text."""
        lines = [
            f"{self.estimate.episodes:,} episodes, {self.estimate.returned:,} back.",
            *(f"In {part.unit}: {part.summary}" for part in (self.episodes, self.seconds) if part),
        ]
        for test in self.tests:
            lines.append(f"{test.about} ({test.method}): {_format_result(test)}")
        return "\n".join([*lines, self.summary])

    def facts(self) -> dict[str, Any]:
        """Return the estimates and tests as a JSON object."""
        return {
            "episodes": self.episodes.facts(),
            "seconds": None if self.seconds is None else self.seconds.facts(),
            "tests": [
                {**vars(test), "correlation": test.correlation and list(test.correlation)}
                for test in self.tests
            ],
            "early_returns_are_biased": self.early_returns_are_biased,
            "summary": self.summary,
        }


def lateness(
    records: Any = None,
    *,
    opened: ArrayLike | Sequence[Any] | None = None,
    returned: ArrayLike | Sequence[Any] | None = None,
    now: Any = None,
    returns: ArrayLike | None = None,
    groups: Mapping[str, Any] | Sequence[str] | None = None,
    unit: Unit | None = None,
    confidence: float = 0.95,
    bands: Bands = "log-log",
    cohorts: int = 4,
    level: float = 0.05,
    seed: int = 0,
) -> Lateness:
    """Estimate how late feedback is, and test whether early returns are representative.

    Episodes that are still in flight count as not back at their age (right-censored), instead of
    being left out, which makes delays look short, or taken to be as late as they are so far, which
    does so too.

    Parameters
    ----------
    records : Run, Learner, rows or DelayRecords, optional
        Episodes: a simulated run, a learner, or rows (mappings) with the fields "opened",
        "returned" and optionally "return" and groups, such as the records of a data frame. Events
        of a service: `belated.online.delay_records`. Omit it to pass arrays.
    opened, returned : sequence, optional
        Arrays in place of `records`: the time at which each episode was opened, and at which its
        feedback was complete, None or NaN if it is not back. Numbers, datetimes or ISO 8601 texts.
    now : optional
        Time up to which returns are known; by default the latest time in the records.
    returns : array_like, optional
        Return (sum of the rewards) of each episode, with arrays; NaN where it is unknown.
    groups : mapping, or sequence of str, optional
        With arrays, the group of each episode by name of the grouping, such as {"arm": [...]}; None
        where it is unknown. With rows, the names of the fields that are groups; by default those of
        arm, action, first_action, state and first_state that occur.
    unit : {"seconds", "episodes"}, optional
        Unit of times that are numbers; by default "seconds". In episodes, an episode is opened at
        its number i and back at i + tau_i.
    confidence : float
        Confidence level of the band at each single time, between 0 and 1.
    bands : {"log-log", "linear"}
        Formula of the band; see `belated.survival.kaplan_meier`.
    cohorts : int
        Number of cohorts of equal size, by order of opening, that are compared for drift; at least
        2.
    level : float
        Level of all tests together, adjusted by Holm's method.
    seed : int
        Seed of the bootstrap of the rank correlation.

    Returns
    -------
    Lateness
        Estimates in episodes and in seconds, tests, and a summary.

    Raises
    ------
    TypeError
        If `records` is none of these.
    ValueError
        If there is no episode, arrays have different lengths, or a return precedes its opening.

    Examples
    --------
    >>> late = lateness(opened=[1, 2, 3, 4, 5], returned=[3, 6, 4, None, None], unit="episodes")
    >>> late.episodes.median
    Estimate(value=4.0, low=1.0, high=inf)
    >>> late.episodes.never.is_known
    False
    """
    check_integer("cohorts", cohorts, 2)
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}.")
    if hasattr(records, "delay_records"):
        if now is not None:
            raise TypeError("now is for rows and arrays; a Run or a Learner knows it. Omit it.")
        found: DelayRecords = records.delay_records()
    elif records is not None:
        found = records_of_rows(records, now=now, groups=groups, unit=unit)
    elif opened is None or returned is None:
        raise TypeError("lateness needs records, or both opened and returned.")
    else:
        found = records_of(opened, returned, now=now, returns=returns, groups=groups, unit=unit)
    if records is not None and not (opened is None and returned is None and returns is None):
        raise TypeError("opened, returned and returns are for arrays; omit them with records.")
    estimates = {
        unit: DelayEstimate(
            unit, kaplan_meier(durations, found.returned, confidence=confidence, bands=bands)
        )
        for unit, durations in found.durations.items()
    }
    main = estimates[found.unit]
    tests: tuple[DependenceTest, ...] = ()
    if found.ages:
        age = main.complete_age
        complete = None if age is None else found.ages[found.unit] >= age
        every = Cohorts(found.durations[found.unit], found.returned, complete)
        made = [compare_groups(every, name, labels) for name, labels in found.groups.items()]
        if found.returns is not None:
            made.append(correlate_return(every, found.returns, seed=seed))
        tests = adjust(made + compare_cohorts(every, cohorts))
    return Lateness(estimates["episodes"], estimates.get("seconds"), tests, level)


def _describe(test: DependenceTest) -> str:
    """Return how lateness depends on something, as the end of a sentence."""
    if test.correlation is None:
        return f"differs by {test.about}"
    direction = "rises" if test.correlation.value > 0 else "falls"
    return f"{direction} with the return"


def _format_result(test: DependenceTest) -> str:
    if test.p is None:
        return f"cannot be told yet, {test.reason}."
    assert test.adjusted_p is not None
    parts = [f"p {_format_p(test.p)}, adjusted {_format_p(test.adjusted_p)}"]
    if test.correlation is not None:
        value, low, high = test.correlation
        parts.append(f"rank correlation {value:.2f} ({low:.2f} to {high:.2f})")
    return f"{', '.join(parts)}, {test.episodes:,} episodes."


def _format_p(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"= {p:.2g}"
