"""Claims about the dependence of the final regret on the expected delay and on the delay law.

A slope is the slope of the least-squares line through the mean final regrets at all values of
E[tau] that have runs, including zero. Confidence intervals are computed by a bootstrap over seeds.
Each resample uses the same seeds at every E[tau] and for every law, so that differences are paired.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final

import numpy as np

from belated.episode import Floats
from belated.papers.howson2021.claims.verdict import Detail, Number, Numbers, claim
from belated.papers.howson2021.evidence import Condition, Evidence, make_condition
from belated.papers.howson2021.grid import (
    HIGH_VARIANCE_LAWS,
    LAWS,
    LAZY_UPDATERS,
    LEARNERS,
    LOW_VARIANCE_LAWS,
    PROPOSED_UPDATERS,
)
from belated.papers.statistics import (
    bootstrap_interval,
    curvature_weights,
    is_decreasing,
    mean_interval,
    r_squared,
    resample_means,
    slope_weights,
)

MIN_LINE_R2: Final = 0.95
"""Minimum R² at which points count as a straight line."""

SPREADS: Final = ("relative", "absolute")
"""Kinds of spread, the largest minus the smallest regret across the delay laws.

A relative spread is divided by the regret without delay; see `_spreads`.
"""


def _summarize_lines(details: Sequence[Detail]) -> Numbers:
    numbers: list[dict[str, Any]] = [dict(detail.numbers) for detail in details]
    bends = [found["quadratic term"] for found in numbers]
    return (
        ("least R²", min(found["R²"] for found in numbers)),
        (
            "settings with a significantly negative quadratic term",
            sum(b.is_negative for b in bends),
        ),
        (
            "settings with a significantly positive quadratic term",
            sum(b.is_positive for b in bends),
        ),
    )


@claim(
    "linear-in-delay",
    "The regret penalty of delays is linear in the expected delay, for active and lazy updating.",
    "Section 5",
    summary=_summarize_lines,
)
def _regret_is_linear_in_delay(evidence: Evidence) -> Iterator[Detail]:
    """For one learner, chain and law, the least-squares line through the mean final regrets
    against E[τ] has R² of at least 0.95 and a significantly positive slope: its 95 % confidence
    interval lies above zero. A quadratic term is also tested and reported, but does not affect the
    outcome."""
    for states, law, updater in product(evidence.chains(), LAWS, PROPOSED_UPDATERS):
        means = evidence.means(states, (law,), (updater,))
        if len(means) < 3:
            continue
        table = evidence.table([(make_condition(states, law, mean), updater) for mean in means])
        if table is None:
            continue
        r2 = r_squared(means, table.mean(axis=0))
        slope = mean_interval(table @ slope_weights(means))
        bend = mean_interval(table @ curvature_weights(means))
        yield Detail(
            f"S = {states}, {law}, {LEARNERS[updater]}",
            r2 >= MIN_LINE_R2 and slope.is_positive,
            (("slope", slope), ("R²", r2), ("quadratic term", bend)),
        )


def _slopes(
    evidence: Evidence, states: int, laws: tuple[str, ...], updaters: tuple[str, ...]
) -> Floats | None:
    """Return the slope of final regret against E[tau] for each seed, (seeds, laws, updaters).

    The chain has `states` states. Return None if there are too few values of E[tau] or too few
    common seeds.
    """
    means = evidence.means(states, laws, updaters)
    if len(means) < 2:
        return None
    keys = product(laws, updaters, means)
    table = evidence.table([(make_condition(states, law, mean), u) for law, u, mean in keys])
    if table is None:
        return None
    slopes: Floats = table.reshape(-1, len(laws), len(updaters), len(means)) @ slope_weights(means)
    return slopes


@claim(
    "varied-delays-cost-less",
    "Uniform and Geometric delays cost less than Constant and Poisson ones of the same mean.",
    "Figures of delay dependence",
)
def _varied_delays_cost_less(evidence: Evidence) -> Iterator[Detail]:
    """For one learner and chain, the slope of regret against E[τ] is significantly smaller under
    Uniform and under Geometric delays than under Constant and under Poisson delays. In all four
    comparisons, the 95 % confidence interval of the paired difference excludes zero."""
    laws = (*HIGH_VARIANCE_LAWS, *LOW_VARIANCE_LAWS)
    for states, updater in product(evidence.chains(), PROPOSED_UPDATERS):
        slopes = _slopes(evidence, states, laws, (updater,))
        if slopes is None:
            continue
        slope = slopes[:, :, 0]
        holds = all(
            mean_interval(slope[:, low] - slope[:, high]).is_positive
            for high, low in product((0, 1), (2, 3))
        )
        numbers = tuple((f"slope, {law}", mean_interval(slope[:, i])) for i, law in enumerate(laws))
        yield Detail(f"S = {states}, {LEARNERS[updater]}", holds, numbers)


@claim(
    "gradient-falls-with-alpha",
    "For lazy updating, the gradient of this linear relationship decreases with α.",
    "Section 5",
)
def _gradient_falls_with_alpha(evidence: Evidence) -> Iterator[Detail]:
    """For one chain and law, the slope of regret against E[τ] decreases with α: the 95 % confidence
    interval of slope(α = 1) - slope(α = 100) lies above zero, and neither change, from α = 1 to 10
    or from 10 to 100, is a significant increase. (In contrast, the factor 1 / log(1 + 1/α) of the
    paper's bound increases with α.)"""
    for states, law in product(evidence.chains(), LAWS):
        slopes = _slopes(evidence, states, (law,), LAZY_UPDATERS)
        if slopes is None:
            continue
        slope = slopes[:, 0, :]
        falls = is_decreasing(slope.mean(axis=0), resample_means(slope), len(slope))
        numbers = tuple(
            (f"slope, {LEARNERS[u]}", mean_interval(slope[:, i]))
            for i, u in enumerate(LAZY_UPDATERS)
        )
        yield Detail(f"S = {states}, {law}", falls, numbers)


def _count_least_spreads(details: Sequence[Detail]) -> Numbers:
    numbers: list[dict[str, Any]] = [dict(detail.numbers) for detail in details]
    least = [
        (kind, min(PROPOSED_UPDATERS, key=lambda u: found[f"{kind} spread, {LEARNERS[u]}"]))
        for found in numbers
        for kind in SPREADS
    ]
    return tuple(
        (f"chains on which {LEARNERS[u]} has the least {kind} spread", least.count((kind, u)))
        for kind in SPREADS
        for u in PROPOSED_UPDATERS
    )


@claim(
    "lazy-1-most-robust",
    "Lazy updating with α = 1 is the most robust to the delay distribution.",
    "Section 5",
    summary=_count_least_spreads,
)
def _lazy_1_is_most_robust(evidence: Evidence) -> Iterator[Detail]:
    """The relative spread of lazy updating with α = 1 is smaller than that of active updating and
    of lazy updating with every other α, on the same chain. The absolute spread of a learner is the
    largest minus the smallest of its mean final regrets under the four laws with the same E[τ],
    averaged over all E[τ] > 0. The relative spread is the absolute spread divided by the learner's
    regret without delay. Estimates are compared, not confidence intervals, because resampling
    inflates spreads. Also reported: both spreads of each learner, and the lead of α = 1, the
    smallest relative spread of the other learners minus that of α = 1."""
    lazy_1 = PROPOSED_UPDATERS.index("lazy:1")
    for states in evidence.chains():
        means = evidence.means(states, LAWS, PROPOSED_UPDATERS)
        if means[:1] != [0] or len(means) < 2:
            continue
        conditions = [Condition(states, law, mean) for mean in means[1:] for law in LAWS]
        conditions.insert(0, Condition(states, "constant", 0))
        table = evidence.table(list(product(conditions, PROPOSED_UPDATERS)))
        if table is None or not (table > 0).all():
            continue
        shape = (-1, len(conditions), len(PROPOSED_UPDATERS))
        spreads = _spreads(table.mean(axis=0).reshape(shape))
        relative, draws = spreads[0][0], _spreads(resample_means(table).reshape(shape))[0]
        lead = bootstrap_interval(
            np.delete(relative, lazy_1).min() - relative[lazy_1],
            np.delete(draws, lazy_1, axis=1).min(axis=1) - draws[:, lazy_1],
            len(table),
        )
        numbers: list[tuple[str, Number]] = [("lead in relative spread", lead)]
        for kind, (values,) in zip(SPREADS, spreads, strict=True):
            for updater, value in zip(PROPOSED_UPDATERS, values, strict=True):
                numbers.append((f"{kind} spread, {LEARNERS[updater]}", float(value)))
        yield Detail(f"S = {states}", lead.estimate > 0, tuple(numbers))


def _spreads(regret: Floats) -> tuple[Floats, Floats]:
    """Return the relative and the absolute spread of regret across the delay laws.

    The absolute spread is the largest minus the smallest regret, averaged over all E[tau] > 0. The
    relative spread is the absolute spread divided by the regret without delay.

    `regret` has shape (n, conditions, updaters). The first condition has no delay; the others are
    ordered by mean, then by law. Both results have shape (n, updaters).
    """
    delayed = regret[:, 1:].reshape(len(regret), -1, len(LAWS), regret.shape[-1])
    absolute = np.ptp(delayed, axis=2).mean(axis=1)
    return absolute / regret[:, 0], absolute
