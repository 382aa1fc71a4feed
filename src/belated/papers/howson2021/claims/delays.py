"""Claims about the dependence of regret on the expected delay, the delay law and the episodes.

A slope is the slope of the least-squares line through the mean final regrets at all values of
E[tau] that have runs, including zero. Confidence intervals are computed by a bootstrap over seeds.
Each resample uses the same seeds at every E[tau] and for every law, so that differences are paired.
Regret after K/4 and K/2 episodes is read from the checkpoints of the runs with K episodes.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Final

import numpy as np

from belated.episode import Floats
from belated.papers import statistics as stats
from belated.papers.howson2021.claims.verdict import Detail, Numbers, Tested, claim
from belated.papers.howson2021.evidence import Condition, Evidence, make_condition
from belated.papers.howson2021.grid import (
    HIGH_VARIANCE_LAWS,
    LAWS,
    LAZY_UPDATERS,
    LEARNERS,
    LOW_VARIANCE_LAWS,
    PROPOSED_UPDATERS,
)

LINE_MARGIN: Final = 0.1
"""Maximum distance of a mean regret from the least-squares line for which the dependence on E[tau]
is accepted as linear. It is a fraction of the rise of the line from the smallest to the largest
E[tau]."""

LAW_FACTOR: Final = 2.0
"""Maximum ratio of the mean regrets under two delay laws with the same E[tau]. If no ratio is
larger, the performance is accepted as good under every law."""

PENALTY_MARGIN: Final = 0.1
"""Maximum relative growth of the delay penalty for which it is accepted as constant. The growth is
measured while the number of episodes doubles. A penalty proportional to the square root of the
number of episodes would grow by 0.41."""

SPREADS: Final = ("relative", "absolute")
"""Kinds of spread of the regret across the delay laws.

The absolute spread is the largest minus the smallest regret. The relative spread is the absolute
spread divided by the regret without delay; see `_spreads`.
"""


def _summarize_lines(details: Sequence[Detail]) -> Numbers:
    bends = [detail.numbers["quadratic term"] for detail in details]
    return {
        "least R²": min(detail.numbers["R²"] for detail in details),
        "settings with a significantly negative quadratic term": sum(
            bend.is_negative for bend in bends
        ),
        "settings with a significantly positive quadratic term": sum(
            bend.is_positive for bend in bends
        ),
    }


@claim(
    "linear-in-delay",
    "The regret penalty of delays is linear in the expected delay, for active and lazy updating.",
    "Section 5",
    summary=_summarize_lines,
)
def _regret_is_linear_in_delay(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds for one learner, chain and law if the least-squares line through the mean
    final regrets against E[τ] rises, and if at every E[τ] the distance of the mean regret from the
    line is less than 10 % of the rise of the line from the smallest to the largest E[τ]. R² and a
    quadratic term are also reported."""
    for states, law, updater in product(evidence.chains(), LAWS, PROPOSED_UPDATERS):
        means = evidence.means(states, (law,), (updater,))
        if len(means) < 3:
            continue
        table = evidence.table([(make_condition(states, law, mean), updater) for mean in means])
        if table is None:
            continue
        slopes = table @ stats.slope_weights(means)
        line = table.mean(axis=1)[:, None] + np.outer(slopes, np.subtract(means, np.mean(means)))
        allowed = LINE_MARGIN * np.ptp(means) * slopes[:, None]
        slack = np.hstack([allowed - (table - line), allowed + (table - line)])
        numbers = {
            "slope": stats.mean_interval(slopes),
            "R²": stats.r_squared(means, table.mean(axis=0)),
            "quadratic term": stats.mean_interval(table @ stats.curvature_weights(means)),
        }
        yield Tested(
            f"S = {states}, {law}, {LEARNERS[updater]}", stats.all_positive(slack.T), numbers
        )


def _compare_slopes(
    evidence: Evidence,
    states: int,
    curves: Mapping[str, tuple[str, str]],
    falls: Sequence[tuple[int, int]],
) -> tuple[stats.PValues, Numbers] | None:
    """Test whether slopes of final regret against E[tau] are smaller than others.

    `curves` maps labels to pairs of a law and an updater, on the chain with `states` states; they
    have the same law or the same updater. `falls` contains pairs of indices of curves; the slope of
    the second shall be smaller than that of the first. Return None if the runs have fewer than two
    values of E[tau], or fewer than `MIN_SEEDS` common seeds.
    """
    laws, updaters = (list(dict.fromkeys(part)) for part in zip(*curves.values(), strict=True))
    means = evidence.means(states, laws, updaters)
    keys = product(laws, updaters, means)
    table = evidence.table([(make_condition(states, law, mean), u) for law, u, mean in keys])
    if table is None or len(means) < 2:
        return None
    regret = table.reshape(len(table), len(laws), len(updaters), len(means))
    slopes = (regret @ stats.slope_weights(means)).reshape(len(table), -1)
    test = stats.all_positive(slopes[:, i] - slopes[:, j] for i, j in falls)
    return test, {
        f"slope, {one}": stats.mean_interval(slopes[:, i]) for i, one in enumerate(curves)
    }


@claim(
    "varied-delays-cost-less",
    "Uniform and Geometric delays cost less than Constant and Poisson ones of the same mean.",
    "Figures of delay dependence",
)
def _varied_delays_cost_less(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds for one learner and chain if the slope of regret against E[τ] is smaller
    under Uniform delays than under Constant and under Poisson delays, and smaller under Geometric
    delays than under Constant and under Poisson delays."""
    for states, updater in product(evidence.chains(), PROPOSED_UPDATERS):
        curves = {law: (law, updater) for law in (*HIGH_VARIANCE_LAWS, *LOW_VARIANCE_LAWS)}
        falls = [(low, high) for high, low in product((0, 1), (2, 3))]
        if found := _compare_slopes(evidence, states, curves, falls):
            yield Tested(f"S = {states}, {LEARNERS[updater]}", *found)


@claim(
    "gradient-falls-with-alpha",
    "For lazy updating, the gradient of this linear relationship decreases with α.",
    "Section 5",
)
def _gradient_falls_with_alpha(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds for one chain and law if the slope of regret against E[τ] is smaller with
    α = 10 than with α = 1, and smaller with α = 100 than with α = 10. (In contrast, the factor
    1 / log(1 + 1/α) of the paper's bound increases with α.)"""
    for states, law in product(evidence.chains(), LAWS):
        curves = {LEARNERS[updater]: (law, updater) for updater in LAZY_UPDATERS}
        if found := _compare_slopes(evidence, states, curves, [(0, 1), (1, 2)]):
            yield Tested(f"S = {states}, {law}", *found)


def _count_least_spreads(details: Sequence[Detail]) -> Numbers:
    found = {}
    for kind in SPREADS:
        least = [
            min(PROPOSED_UPDATERS, key=lambda u: one.numbers[f"{kind} spread, {LEARNERS[u]}"])
            for one in details
        ]
        for u in PROPOSED_UPDATERS:
            label = f"chains on which {LEARNERS[u]} has the least {kind} spread"
            found[label] = least.count(u)
    return found


@claim(
    "lazy-1-most-robust",
    "Lazy updating with α = 1 is the most robust to the delay distribution.",
    "Section 5",
    summary=_count_least_spreads,
)
def _lazy_1_is_most_robust(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds on a chain if the relative spread of lazy updating with α = 1 is smaller than
    that of active updating and of lazy updating with every other α. The absolute spread of a
    learner is the largest minus the smallest of its mean final regrets under the four laws with the
    same E[τ], averaged over all E[τ] > 0. The relative spread is the absolute spread divided by the
    learner's regret without delay. Intervals are basic bootstrap intervals, because resampling
    inflates spreads. Also reported: both spreads of each learner, and the lead of α = 1 over each
    other learner, which is the relative spread of that learner minus the relative spread of
    α = 1."""
    *others, lazy_1 = range(len(PROPOSED_UPDATERS))
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
        relative = spreads[0][0]
        draws = _spreads(stats.resample_means(table).reshape(shape))[0]
        leads = [
            stats.bootstrap_interval(
                relative[i] - relative[lazy_1],
                draws[:, i] - draws[:, lazy_1],
                len(table),
                reverse=True,
            )
            for i in others
        ]
        names = [LEARNERS[updater] for updater in PROPOSED_UPDATERS]
        numbers: Numbers = {f"lead over {names[i]}": leads[i] for i in others}
        for kind, (values,) in zip(SPREADS, spreads, strict=True):
            numbers |= {
                f"{kind} spread, {name}": float(value)
                for name, value in zip(names, values, strict=True)
            }
        test = stats.all_hold(stats.is_above(lead, 0, len(table)) for lead in leads)
        yield Tested(f"S = {states}", test, numbers)


def _spreads(regret: Floats) -> tuple[Floats, Floats]:
    """Return the relative and the absolute spread of regret across the delay laws.

    The absolute spread is the largest minus the smallest regret, averaged over all E[tau] > 0. The
    relative spread is the absolute spread divided by the regret without delay.

    `regret` has shape (n, conditions, updaters), where n is the number of resamples, or 1. The
    first condition has no delay; the others are ordered by E[tau], then by law. Both results have
    shape (n, updaters).
    """
    delayed = regret[:, 1:].reshape(len(regret), -1, len(LAWS), regret.shape[-1])
    absolute = np.ptp(delayed, axis=2).mean(axis=1)
    return absolute / regret[:, 0], absolute


@claim(
    "good-under-every-law",
    "Both procedures provide good empirical performance, regardless of the delay distribution.",
    "Conclusion",
)
def _good_under_every_law(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds for one learner, chain and E[τ] > 0 if the mean final regret under each law
    is less than twice the mean final regret under each other law. The paper does not define good
    performance; the factor 2 is our choice."""
    for states, updater in product(evidence.chains(), PROPOSED_UPDATERS):
        for mean in evidence.means(states, LAWS, (updater,)):
            table = evidence.table([(Condition(states, law, mean), updater) for law in LAWS])
            if mean == 0 or table is None:
                continue
            pairs = permutations(table.T, 2)
            test = stats.all_positive(LAW_FACTOR * one - other for one, other in pairs)
            levels = table.mean(axis=0)
            ratio = float(levels.max() / levels.min())
            name = f"S = {states}, E[τ] = {mean:g}, {LEARNERS[updater]}"
            yield Tested(name, test, {"largest / smallest mean regret": ratio})


@claim(
    "penalty-independent-of-episodes",
    "The penalty for delays is an additive term that is independent of the number of episodes.",
    "Conclusion",
)
def _penalty_does_not_grow(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds for a learner in a setting if the mean penalty grows by less than 10 % from
    K/4 to K/2 episodes, and by less than 10 % from K/2 to K episodes. The penalty is the learner's
    regret minus its regret without delay with the same seed."""
    for condition, updater in product(evidence.conditions(delayed=True), PROPOSED_UPDATERS):
        none = make_condition(condition.states, condition.law, 0)
        regret = evidence.regret_at([(none, updater), (condition, updater)], (1 / 4, 1 / 2, 1))
        if regret is None:
            continue
        penalty = regret[:, 1] - regret[:, 0]
        slack = (1 + PENALTY_MARGIN) * penalty[:, :-1] - penalty[:, 1:]
        numbers = {
            f"penalty at {part}": stats.mean_interval(penalty[:, i])
            for i, part in enumerate(("K/4", "K/2", "K"))
        }
        yield Tested(f"{condition}, {LEARNERS[updater]}", stats.all_positive(slack.T), numbers)


@claim(
    "sub-linear",
    "Both procedures maintain the sub-linear guarantees of the base algorithm.",
    "Conclusion",
)
def _regret_is_sub_linear(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds for a learner in a setting if its mean regret R(K) after K episodes is less
    than twice its mean regret R(K/2) after K/2 episodes: the exponent log2(R(K) / R(K/2)) is below
    1. Linear regret has the exponent 1, and regret of order sqrt(K) has the exponent 0.5."""
    for condition, updater in product(evidence.conditions(), PROPOSED_UPDATERS):
        regret = evidence.regret_at([(condition, updater)], (1 / 2, 1))
        if regret is None or not (regret > 0).all():
            continue
        means, draws = regret[:, 0].mean(axis=0), stats.resample_means(regret[:, 0])
        exponent = stats.bootstrap_interval(
            float(np.log2(means[1] / means[0])), np.log2(draws[:, 1] / draws[:, 0]), len(regret)
        )
        test = stats.is_below(exponent, 1, len(regret))
        yield Tested(f"{condition}, {LEARNERS[updater]}", test, {"exponent": exponent})
