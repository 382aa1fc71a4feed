"""Claims about the dependence of the final regret on the expected delay and on the delay law.

Slopes are those of least squares through the mean final regrets at every E[tau] that was run,
including zero. Their intervals resample seeds, the same ones at every E[tau] and for every law.
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
"""Minimum R² of points that count as a straight line."""

SPREADS: Final = ("relative", "absolute")
"""Kinds of spread over the laws: relative to the regret without delay, and in units of regret."""


def _summarize_lines(details: Sequence[Detail]) -> Numbers:
    numbers: list[dict[str, Any]] = [dict(detail.numbers) for detail in details]
    bends = [found["quadratic term"] for found in numbers]
    return (
        ("least R²", min(found["R²"] for found in numbers)),
        ("settings bent down beyond the interval (concave)", sum(b.is_negative for b in bends)),
        ("settings bent up beyond the interval (convex)", sum(b.is_positive for b in bends)),
    )


@claim(
    "linear-in-delay",
    "The regret penalty of delays is linear in the expected delay, for active and lazy updating.",
    "Section 5",
    summary=_summarize_lines,
)
def _regret_is_linear_in_delay(evidence: Evidence) -> Iterator[Detail]:
    """For one learner, chain and law, the line through the mean final regrets has R² of at least
    0.95 and a slope above zero beyond its interval. A quadratic term is tested and reported as
    well, but does not decide."""
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
    """Return the slope of each seed's final regret in E[tau], (seeds, laws, updaters)."""
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
    """For one learner and chain, the slopes under Uniform and Geometric delays are below those
    under Constant and Poisson ones, all four beyond the interval of the paired difference."""
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
    """For one chain and law, the slope is larger with α = 1 than with α = 100 beyond the interval
    of the paired difference, and from 1 to 10 to 100 no step is up beyond the interval. (The
    factor 1 / log(1 + 1/α) of the paper's bound increases with α.)"""
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
    """On one chain, the spread of the mean final regret over the four laws (largest less smallest,
    averaged over E[τ] > 0), relative to the learner's regret without delay, is smaller with α = 1
    than for active updating and every other α. Its lead and the spread in units of regret are
    reported as well. (The estimates decide: resampled spreads are too wide.)"""
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
    """Return the relative and the absolute spread over the laws, averaged over E[tau] > 0.

    `regret` is (n, conditions, updaters): the condition without delay, then by mean and law. The
    results are (n, updaters).
    """
    delayed = regret[:, 1:].reshape(len(regret), -1, len(LAWS), regret.shape[-1])
    absolute = np.ptp(delayed, axis=2).mean(axis=1)
    return absolute / regret[:, 0], absolute
