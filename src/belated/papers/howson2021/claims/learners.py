"""Claims that compare the updaters with each other, under one condition at a time.

Runs with the same seed have the same world and the same delays, so differences are paired by seed.
A condition is tested only if all updaters that the claim mentions have runs under this condition,
with at least five common seeds.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Final

import numpy as np

from belated.papers import statistics as stats
from belated.papers.howson2021.claims.verdict import Detail, Numbers, Tested, claim
from belated.papers.howson2021.evidence import Condition, Evidence, interpolate_regret
from belated.papers.howson2021.grid import (
    HIGH_VARIANCE_LAWS,
    LAZY_UPDATERS,
    LEARNERS,
    LOW_VARIANCE_LAWS,
    PROPOSED_UPDATERS,
)

NEARLY_IDENTICAL: Final = 0.05
"""Maximum relative difference of two mean regrets that are accepted as nearly identical."""

COMPARABLE: Final = 0.1
"""Maximum relative difference of two mean regrets that are accepted as comparable."""

CONVERGED: Final = 0.01
"""Regret per episode, as a fraction of V*, below which a learner is regarded as converged."""


def _compare_regret(
    evidence: Evidence,
    conditions: Sequence[Condition],
    reference: str,
    others: Sequence[str],
    holds: Callable[[stats.Interval, float, int], stats.PValues],
) -> Iterator[Tested]:
    """Test for each condition the regret of all `others` minus that of the updater `reference`.

    Without delay, explicit exploration is omitted, because it equals active updating there. `holds`
    is `is_above` if all differences shall be positive, and `is_below` if they shall be negative.
    """
    for condition in conditions:
        compared = [one for one in others if condition.mean > 0 or one != "explicit"]
        table = evidence.table([(condition, one) for one in (reference, *compared)])
        if table is None:
            continue
        gaps = {
            f"{LEARNERS[one]} - {LEARNERS[reference]}": stats.mean_interval(column - table[:, 0])
            for one, column in zip(compared, table.T[1:], strict=True)
        }
        test = stats.all_hold(holds(gap, 0, len(table)) for gap in gaps.values())
        yield Tested(str(condition), test, gaps)


def _intervals(details: Sequence[Detail], updater: str) -> list[stats.Interval]:
    """Return all intervals in `details` whose label begins with the label of `updater`."""
    return [
        number
        for detail in details
        for label, number in detail.numbers.items()
        if isinstance(number, stats.Interval) and label.startswith(f"{LEARNERS[updater]} ")
    ]


def _count(details: Sequence[Detail], updaters: Sequence[str], *, label: str, sign: str) -> Numbers:
    """Return, for each updater, the number of settings in which its interval has a given sign.

    `details` contains the results in all settings, with a labelled interval for each updater.
    `sign` is "is_positive" or "is_negative". `label` is the label of the returned numbers; its
    placeholder "{}" is replaced by the name of the updater.
    """
    return {
        label.format(LEARNERS[u]): sum(getattr(gap, sign) for gap in _intervals(details, u))
        for u in updaters
    }


def _count_wins_of_active(details: Sequence[Detail]) -> Numbers:
    others = (*PROPOSED_UPDATERS[1:], "explicit")
    return {
        **_count(details, others, label="settings in which active beats {}", sign="is_positive"),
        **_count(details, others, label="settings in which {} beats active", sign="is_negative"),
    }


@claim(
    "active-best",
    "Active updating gives the best performance, for all expected delays.",
    "Section 5 and Appendix C",
    summary=_count_wins_of_active,
)
def _active_is_best(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds in a setting if every other learner has more regret than active updating on
    the same chain. In settings without delay, explicit exploration is omitted, because it equals
    active updating there."""
    others = (*PROPOSED_UPDATERS[1:], "explicit")
    return _compare_regret(evidence, evidence.conditions(), "active", others, stats.is_above)


def _summarize_margins(details: Sequence[Detail], *, margin: float) -> Numbers:
    numbers: Numbers = {}
    for updater in LAZY_UPDATERS[1:]:
        values = np.array([ratio.estimate for ratio in _intervals(details, updater)])
        if values.size:
            sizes, name = np.abs(values), LEARNERS[updater]
            numbers |= {
                f"{name}: settings within {margin:.0%}": int((sizes <= margin).sum()),
                f"{name}: mean relative difference": float(np.mean(values)),
                f"{name}: largest relative difference, either way": float(sizes.max()),
            }
    return numbers


@claim(
    "lazy-100-near-active",
    "Lazy updating performs nearly identically when α is a large enough constant.",
    "Section 5",
    summary=partial(_summarize_margins, margin=NEARLY_IDENTICAL),
)
def _lazy_100_is_near_active(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds in a setting if the mean regret of lazy updating with α = 100 differs by at
    most 5% from the mean regret of active updating."""
    return _within_margin(evidence, ("lazy:100",), NEARLY_IDENTICAL)


@claim(
    "lazy-comparable",
    "Lazy updating with α = 10 or 100 is comparable to active updating.",
    "Appendix C",
    summary=partial(_summarize_margins, margin=COMPARABLE),
)
def _lazy_is_comparable(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds in a setting if the mean regrets of lazy updating with α = 10 and with
    α = 100 both differ by at most 10% from the mean regret of active updating."""
    return _within_margin(evidence, ("lazy:10", "lazy:100"), COMPARABLE)


def _within_margin(
    evidence: Evidence, updaters: tuple[str, ...], margin: float
) -> Iterator[Tested]:
    """Test for each condition whether all `updaters` have nearly the regret of active updating.

    The mean regret of an updater may differ from the mean regret of active updating by at most the
    fraction `margin` of the latter.
    """
    for condition, table in evidence.tables(("active", *updaters)):
        if not (table[:, 0] > 0).all():
            continue
        ratios = {
            f"{LEARNERS[u]} / Active - 1": stats.relative_difference(column, table[:, 0])
            for u, column in zip(updaters, table.T[1:], strict=True)
        }
        test = stats.all_hold(
            stats.is_within(ratio, margin, len(table)) for ratio in ratios.values()
        )
        yield Tested(str(condition), test, ratios)


@claim(
    "closer-to-active",
    "Lazy updating gets closer to active updating as α increases.",
    "Sections 4.3 and 5",
)
def _lazy_approaches_active(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds in a setting if the absolute difference between the mean regrets of lazy and
    active updating is smaller with α = 10 than with α = 1, and smaller with α = 100 than with
    α = 10."""
    for condition, table in evidence.tables(("active", *LAZY_UPDATERS)):
        gaps = table[:, 1:] - table[:, :1]
        distances, draws = np.abs(gaps.mean(axis=0)), np.abs(stats.resample_means(gaps))
        steps = [
            stats.bootstrap_interval(
                distances[i] - distances[i + 1], draws[:, i] - draws[:, i + 1], len(gaps)
            )
            for i in (0, 1)
        ]
        numbers = {
            f"|{LEARNERS[u]} - Active|": float(distances[i]) for i, u in enumerate(LAZY_UPDATERS)
        }
        test = stats.all_hold(stats.is_above(step, 0, len(gaps)) for step in steps)
        yield Tested(str(condition), test, numbers)


@claim(
    "beat-explicit",
    "Active and lazy updating are superior to explicit exploration in all experiments.",
    "Section 5",
    summary=partial(
        _count,
        updaters=PROPOSED_UPDATERS,
        label="settings in which {} beats explicit exploration",
        sign="is_negative",
    ),
)
def _beat_explicit(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds in a setting if active updating, and lazy updating with each α, have less
    regret than explicit exploration on the same chain. Settings without delay are omitted, because
    explicit exploration equals active updating there."""
    delayed = evidence.conditions(delayed=True)
    return _compare_regret(evidence, delayed, "explicit", PROPOSED_UPDATERS, stats.is_below)


@claim(
    "varied-delays-favour-ours",
    "They give better performance especially for delay distributions with higher variances.",
    "Appendix C",
)
def _beat_explicit_more_when_delays_vary(evidence: Evidence) -> Iterator[Tested]:
    """The advantage of a learner is the regret of explicit exploration on the same chain minus the
    regret of the learner. The claim holds on a chain with one E[τ] if active updating, and lazy
    updating with each α, have a larger advantage under Uniform and under Geometric delays than
    under Constant and under Poisson delays."""
    laws = (*HIGH_VARIANCE_LAWS, *LOW_VARIANCE_LAWS)
    updaters = ("explicit", *PROPOSED_UPDATERS)
    for states, mean in sorted({(c.states, c.mean) for c in evidence.conditions(delayed=True)}):
        table = evidence.table(
            [(Condition(states, law, mean), u) for law in laws for u in updaters]
        )
        if table is None:
            continue
        regret = table.reshape(len(table), len(laws), len(updaters))
        extra = regret[:, :, :1] - regret[:, :, 1:]
        test = stats.all_positive(
            extra[:, high, u] - extra[:, low, u]
            for high, low, u in product((0, 1), (2, 3), range(len(PROPOSED_UPDATERS)))
        )
        numbers = {
            f"explicit - active, {law}": float(extra[:, i, 0].mean()) for i, law in enumerate(laws)
        }
        yield Tested(f"S = {states}, E[τ] = {mean:g}", test, numbers)


def _count_converged(details: Sequence[Detail]) -> Numbers:
    count = sum(detail.verdict == "confirmed" for detail in details)
    return {"settings with a converged learner": count, "settings tested": len(details)}


@claim(
    "converged-first",
    "In some cases ours have converged before explicit exploration finishes.",
    "Section 5",
    summary=_count_converged,
    existential=True,
)
def _converged_before_explicit(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds in a setting if active updating, or lazy updating with some α, has converged
    before explicit exploration on the same chain draws its last random action. A learner has
    converged if its mean regret per episode is below 1% of V*, over the last tenth of the episodes
    before that action in the run with the same seed. One such setting is enough for the claim."""
    for condition in evidence.conditions(delayed=True):
        explicit = evidence.groups.get((condition, "explicit"))
        if explicit is None:
            continue
        last_explored = zip(explicit["seed"].tolist(), explicit["last_explored"], strict=True)
        ends = {seed: int(end) for seed, end in last_explored if end > 0}
        if not ends:
            continue
        tests = []
        numbers: Numbers = {"exploration ends, median": float(np.median(list(ends.values())))}
        for updater in PROPOSED_UPDATERS:
            if (condition, updater) not in evidence.groups:
                continue
            found = [
                np.diff(interpolate_regret(at, regret, [0.9 * ends[seed], ends[seed]]))[0]
                / (0.1 * ends[seed])
                for seed, at, regret in evidence.curves((condition, updater))
                if seed in ends
            ]
            if len(found) >= stats.MIN_SEEDS:
                rate = stats.mean_interval(np.array(found) / optimal_chain_value(condition.states))
                tests.append(stats.is_below(rate, CONVERGED, len(found)))
                numbers[f"{LEARNERS[updater]}: regret / V*"] = rate
        if tests:
            yield Tested(str(condition), stats.any_holds(tests), numbers)


def optimal_chain_value(states: int) -> float:
    """Return V*_1(s_1) of the paper's chain with `states` states.

    This value is the probability that every step to the right succeeds.
    """
    return (1 - 1 / states) ** (states - 1)
