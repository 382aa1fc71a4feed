"""Claims about how the final regret depends on the expected delay, and on its law.

Slopes are those of least squares through the mean final regrets at every E[tau] that was run,
zero included. Their intervals resample seeds, the same ones at every E[tau] and for every law.
"""

import math
from collections import Counter
from typing import Final, NamedTuple

import numpy as np

from belated.episode import Floats
from belated.papers.howson2021.claims.learners import (
    LAZY,
    OURS,
    STEADY,
    VARIED,
    decreasing,
    descent,
)
from belated.papers.howson2021.claims.verdict import Detail, Finding, Number, averages, stated
from belated.papers.howson2021.evidence import Evidence, Place, place_of
from belated.papers.howson2021.grid import LAWS, LEARNERS
from belated.papers.statistics import (
    bend_of,
    interval,
    line,
    mean_interval,
    resampled,
    slope_of,
)

STRAIGHT: Final = 0.95
"""The least R² of a line."""


@stated(
    "linear-in-delay",
    "The regret penalty of delays is linear in the expected delay, for active and lazy updating.",
    "Section 5",
)
def linear_in_delay(evidence: Evidence) -> Finding:
    """For one learner, chain and law, the line through the mean final regrets has R² of at least
    0.95 and a slope above zero beyond its interval. A quadratic term is tested beside it, and
    reported, but does not decide."""
    details, fits, bends = [], [], []
    for states in evidence.chains():
        for law in LAWS:
            for learner in OURS:
                means = evidence.means(states, (law,), (learner,))
                if len(means) < 3:
                    continue
                table = evidence.table([(place_of(states, law, m), learner) for m in means])
                if table is None:
                    continue
                r2 = line(means, table.mean(axis=0)).r2
                slope = mean_interval(table @ slope_of(means))
                bend = mean_interval(table @ bend_of(means))
                fits.append(r2)
                bends.append(bend)
                found = (("slope", slope), ("R²", r2), ("quadratic term", bend))
                setting = f"S = {states}, {law}, {LEARNERS[learner]}"
                details.append(Detail(setting, r2 >= STRAIGHT and slope.above, found))
    numbers = (
        ("least R²", min(fits, default=math.nan)),
        ("settings bent down beyond the interval (concave)", sum(b.below for b in bends)),
        ("settings bent up beyond the interval (convex)", sum(b.above for b in bends)),
    )
    return Finding(tuple(details), numbers if details else ())


def slopes(
    evidence: Evidence, states: int, laws: tuple[str, ...], learners: tuple[str, ...]
) -> Floats | None:
    """(seeds, laws, learners) the slope of each seed's final regret in E[tau]."""
    means = evidence.means(states, laws, learners)
    if len(means) < 2:
        return None
    places = [[place_of(states, law, mean) for mean in means] for law in laws]
    table = evidence.table([(place, u) for row in places for u in learners for place in row])
    if table is None:
        return None
    by_mean = table.reshape(len(table), len(laws), len(learners), len(means))
    found: Floats = by_mean @ slope_of(means)
    return found


@stated(
    "varied-delays-cost-less",
    "Uniform and Geometric delays cost less than Constant and Poisson ones of the same mean.",
    "Figures of delay dependence",
)
def light_laws_cost_less(evidence: Evidence) -> Finding:
    """For one learner and chain, the slopes under Uniform and Geometric delays are below those
    under Constant and Poisson ones, all four beyond the interval of the paired difference."""
    details = []
    for states in evidence.chains():
        for learner in OURS:
            found = slopes(evidence, states, (*VARIED, *STEADY), (learner,))
            if found is None:
                continue
            slope = found[:, :, 0]
            less = [mean_interval(slope[:, j] - slope[:, i]) for i in (0, 1) for j in (2, 3)]
            numbers = tuple(
                (f"slope, {law}", mean_interval(slope[:, i]))
                for i, law in enumerate((*VARIED, *STEADY))
            )
            setting = f"S = {states}, {LEARNERS[learner]}"
            details.append(Detail(setting, all(gap.above for gap in less), numbers))
    return Finding(tuple(details), averages(details))


@stated(
    "gradient-falls-with-alpha",
    "For lazy updating, the gradient of this linear relationship decreases with α.",
    "Section 5",
)
def gradient_falls(evidence: Evidence) -> Finding:
    """For one chain and law, the slope is larger with α = 1 than with α = 100 beyond the interval
    of the paired difference, and from 1 to 10 to 100 no step is up beyond the interval. (The
    factor 1 / log(1 + 1/α) of the paper's bound increases with α.)"""
    details = []
    for states in evidence.chains():
        for law in LAWS:
            found = slopes(evidence, states, (law,), LAZY)
            if found is None:
                continue
            slope = found[:, 0, :]
            falls = descent(slope.mean(axis=0), resampled(slope), len(slope))
            numbers = tuple(
                (f"slope, {LEARNERS[u]}", mean_interval(slope[:, i])) for i, u in enumerate(LAZY)
            )
            details.append(Detail(f"S = {states}, {law}", decreasing(falls), numbers))
    return Finding(tuple(details), averages(details))


@stated(
    "lazy-1-most-robust",
    "Lazy updating with α = 1 is the most robust to the delay distribution.",
    "Section 5",
)
def lazy_1_most_robust(evidence: Evidence) -> Finding:
    """On one chain, the spread of the mean final regret over the four laws (largest less smallest,
    averaged over E[τ] > 0), relative to the learner's regret without delay, is smaller with α = 1
    than for active updating and every other α. Its lead and the spread in units of regret are
    reported beside it. (The estimates decide: resampled spreads are too wide.)"""
    details = []
    least: Counter[tuple[str, str]] = Counter()
    mine = OURS.index("lazy:1")
    for states in evidence.chains():
        means = evidence.means(states, LAWS, OURS)
        if means[:1] != [0] or len(means) < 2:
            continue
        late = [Place(states, law, mean) for mean in means[1:] for law in LAWS]
        places = [Place(states, "constant", 0), *late]
        table = evidence.table([(place, learner) for learner in OURS for place in places])
        if table is None or not (table > 0).all():
            continue
        shape = (-1, len(OURS), len(places))
        wide = spread(table.mean(axis=0).reshape(shape))
        draws = spread(resampled(table).reshape(shape)).relative
        rivals = np.delete(wide.relative[0], mine), np.delete(draws, mine, axis=1)
        lead = interval(
            rivals[0].min() - wide.relative[0, mine],
            rivals[1].min(axis=1) - draws[:, mine],
            len(table),
        )
        numbers: list[tuple[str, Number]] = [("lead in relative spread", lead)]
        for kind, (values,) in wide._asdict().items():
            least[OURS[int(np.argmin(values))], kind] += 1
            for learner, value in zip(OURS, values, strict=True):
                numbers.append((f"{kind} spread, {LEARNERS[learner]}", float(value)))
        details.append(Detail(f"S = {states}", lead.estimate > 0, tuple(numbers)))
    counts = [
        (f"chains on which {LEARNERS[learner]} has the least {kind} spread", least[learner, kind])
        for kind in Spread._fields
        for learner in OURS
    ]
    return Finding(tuple(details), tuple(counts) if details else ())


class Spread(NamedTuple):
    """Largest less smallest mean regret over the laws, averaged over E[tau] > 0."""

    relative: Floats  # to the regret without delay
    absolute: Floats


def spread(regret: Floats) -> Spread:
    """Of regrets (..., learners, places): the place without delay, then by mean and law."""
    late = regret[..., 1:].reshape(*regret.shape[:-1], -1, len(LAWS))
    absolute = np.ptp(late, axis=-1).mean(axis=-1)
    return Spread(absolute / regret[..., 0], absolute)
