"""Claims that compare the learners with each other, in one place at a time.

Learners under one seed meet the same world and the same delays, so differences are taken seed by
seed. "Beyond the interval" means that zero lies outside the 95% paired bootstrap interval of the
mean difference. A place counts only if every learner that a claim speaks of was run there, with at
least five seeds in common.
"""

from typing import Final

import numpy as np

from belated.papers.howson2021.claims.verdict import (
    Detail,
    Finding,
    Number,
    Numbers,
    averages,
    stated,
)
from belated.papers.howson2021.evidence import Evidence, Place, level_at
from belated.papers.howson2021.grid import LEARNERS
from belated.papers.statistics import Interval, excess, interval, mean_interval, resampled

LAZY: Final = ("lazy:1", "lazy:10", "lazy:100")
OURS: Final = ("active", "lazy:100", "lazy:10", "lazy:1")
STEADY: Final = ("constant", "poisson")
VARIED: Final = ("uniform", "geometric")

NEAR: Final = 0.05
COMPARABLE: Final = 0.1
STOPPED: Final = 0.01
"""Regret for each episode, as a share of V*, below which a learner counts as converged."""


@stated(
    "active-best",
    "Active updating gives the best performance, for all expected delays.",
    "Section 5 and Appendix C",
)
def active_best(evidence: Evidence) -> Finding:
    """No other learner has less regret than active updating beyond the interval. Without delay
    explicit exploration is active updating, and is left out."""
    details = []
    wins = dict.fromkeys((*OURS[1:], "explicit"), 0)
    losses = dict.fromkeys(wins, 0)
    for place in evidence.places():
        others = OURS[1:] if place.mean == 0 else tuple(wins)
        gaps = evidence.gaps(place, others, "active")
        if not gaps:
            continue
        for other, gap in gaps.items():
            wins[other] += gap.above
            losses[other] += gap.below
        ahead = not any(gap.below for gap in gaps.values())
        details.append(Detail(str(place), ahead, less("Active", gaps)))
    counts = [(f"settings in which active beats {LEARNERS[u]}", n) for u, n in wins.items()]
    counts += [(f"settings in which {LEARNERS[u]} beats active", n) for u, n in losses.items()]
    return Finding(tuple(details), tuple(counts) if details else ())


@stated(
    "lazy-100-near-active",
    "Lazy updating performs nearly identically when α is a large enough constant.",
    "Section 5",
)
def lazy_100_near_active(evidence: Evidence) -> Finding:
    """The mean regret of lazy updating with α = 100 is within 5% of that of active updating."""
    return close(evidence, ("lazy:100",), NEAR)


@stated(
    "lazy-comparable",
    "Lazy updating with α = 10 or 100 is comparable to active updating.",
    "Appendix C",
)
def lazy_comparable(evidence: Evidence) -> Finding:
    """The mean regrets of lazy updating with α = 10 and with α = 100 are both within 10% of that
    of active updating."""
    return close(evidence, ("lazy:10", "lazy:100"), COMPARABLE)


def close(evidence: Evidence, learners: tuple[str, ...], margin: float) -> Finding:
    """Whether the mean regrets of some learners are within a margin of that of active updating."""
    details = []
    found: dict[str, list[float]] = {learner: [] for learner in learners}
    for place in evidence.places():
        table = evidence.table([(place, learner) for learner in ("active", *learners)])
        if table is None or not (table[:, 0] > 0).all():
            continue
        ratios = {u: excess(table[:, 1 + i], table[:, 0]) for i, u in enumerate(learners)}
        for learner, ratio in ratios.items():
            found[learner].append(ratio.estimate)
        within = all(abs(ratio.estimate) <= margin for ratio in ratios.values())
        shown = tuple((f"{LEARNERS[u]} / Active - 1", ratio) for u, ratio in ratios.items())
        details.append(Detail(str(place), within, shown))
    numbers: list[tuple[str, Number]] = []
    for learner, values in found.items():
        if values:
            sizes = np.abs(values)
            name = LEARNERS[learner]
            numbers += [
                (f"{name}: settings within {margin:.0%}", int((sizes <= margin).sum())),
                (f"{name}: mean relative difference", float(np.mean(values))),
                (f"{name}: largest relative difference, either way", float(sizes.max())),
            ]
    return Finding(tuple(details), tuple(numbers))


@stated(
    "closer-to-active",
    "Lazy updating gets closer to active updating as α increases.",
    "Sections 4.3 and 5",
)
def closer_to_active(evidence: Evidence) -> Finding:
    """The distance of the mean regret to that of active updating is larger with α = 1 than with
    α = 100 beyond the interval, and from 1 to 10 to 100 no step is up beyond the interval."""
    details = []
    for place in evidence.places():
        table = evidence.table([(place, learner) for learner in ("active", *LAZY)])
        if table is None:
            continue
        gaps = table[:, 1:] - table[:, :1]
        far, draws = np.abs(gaps.mean(axis=0)), np.abs(resampled(gaps))
        falls = descent(far, draws, len(gaps))
        numbers = tuple((f"|{LEARNERS[u]} - Active|", float(far[i])) for i, u in enumerate(LAZY))
        details.append(Detail(str(place), decreasing(falls), numbers))
    return Finding(tuple(details), averages(details))


def descent(values: np.ndarray, draws: np.ndarray, seeds: int) -> list[Interval]:
    """How far three values fall: from first to last, first to second, second to last."""
    return [
        interval(values[i] - values[j], draws[:, i] - draws[:, j], seeds)
        for i, j in ((0, 2), (0, 1), (1, 2))
    ]


def decreasing(falls: list[Interval]) -> bool:
    """Whether three values fall beyond the interval, with no step up beyond it."""
    return falls[0].above and not any(fall.below for fall in falls[1:])


@stated(
    "beat-explicit",
    "Active and lazy updating are superior to explicit exploration in all experiments.",
    "Section 5",
)
def beat_explicit(evidence: Evidence) -> Finding:
    """Active updating and lazy updating with each α have less regret than explicit exploration
    beyond the interval. Places without delay are left out: there it is active updating."""
    details = []
    wins = dict.fromkeys(OURS, 0)
    for place in evidence.places(delayed=True):
        gaps = evidence.gaps(place, OURS, "explicit")
        if not gaps:
            continue
        for learner, gap in gaps.items():
            wins[learner] += gap.below
        beaten = all(gap.below for gap in gaps.values())
        details.append(Detail(str(place), beaten, less(LEARNERS["explicit"], gaps)))
    numbers = [(f"settings in which {LEARNERS[u]} beats it", n) for u, n in wins.items()]
    return Finding(tuple(details), tuple(numbers) if details else ())


@stated(
    "varied-delays-favour-ours",
    "They give better performance especially for delay distributions with higher variances.",
    "Appendix C",
)
def beat_explicit_more_when_delays_vary(evidence: Evidence) -> Finding:
    """For active updating and lazy updating with each α, what explicit exploration costs on top
    is more under Uniform and Geometric delays than under Constant and Poisson ones of the same
    mean, all four beyond the interval."""
    details = []
    for states in evidence.chains():
        means = {place.mean for place in evidence.places(delayed=True) if place.states == states}
        for mean in sorted(means):
            places = [Place(states, law, mean) for law in (*VARIED, *STEADY)]
            keys = [(place, u) for place in places for u in ("explicit", *OURS)]
            table = evidence.table(keys)
            if table is None:
                continue
            regret = table.reshape(len(table), 4, 1 + len(OURS))
            extra = regret[:, :, :1] - regret[:, :, 1:]
            more = [
                mean_interval(extra[:, i, u] - extra[:, j, u])
                for i in (0, 1)
                for j in (2, 3)
                for u in range(len(OURS))
            ]
            numbers = tuple(
                (f"explicit - active, {place.law}", float(extra[:, i, 0].mean()))
                for i, place in enumerate(places)
            )
            holds = all(gap.above for gap in more)
            details.append(Detail(f"S = {states}, E[τ] = {mean:g}", holds, numbers))
    return Finding(tuple(details), averages(details))


@stated(
    "converged-first",
    "In some cases ours have converged before explicit exploration finishes.",
    "Section 5",
)
def converged_first(evidence: Evidence) -> Finding:
    """In some place active updating, or lazy updating with some α, has a mean regret for each
    episode below 1% of V* over the last tenth of the episodes until explicit exploration, under
    the same seed, draws its last action."""
    details = []
    for place in evidence.places(delayed=True):
        explicit = evidence.groups.get((place, "explicit"))
        learners = [u for u in OURS if (place, u) in evidence.groups]
        if explicit is None or not learners:
            continue
        ends = {
            int(seed): int(end)
            for seed, end in zip(explicit.seeds, explicit["last_explored"], strict=True)
            if end > 0
        }
        rates = {}
        for learner in learners:
            found = [
                (level_at(at, regret, ends[seed]) - level_at(at, regret, 0.9 * ends[seed]))
                / (0.1 * ends[seed])
                for seed, at, regret in evidence.curves((place, learner))
                if seed in ends
            ]
            if found:
                rates[learner] = float(np.mean(found)) / best_value(place.states)
        if rates:
            numbers = [("exploration ends, median", float(np.median(list(ends.values()))))]
            numbers += [(f"{LEARNERS[u]}: regret / V*", rate) for u, rate in rates.items()]
            holds = min(rates.values()) < STOPPED
            details.append(Detail(str(place), holds, tuple(numbers)))
    count = sum(detail.holds for detail in details)
    return Finding(
        tuple(details),
        (("settings with one", count), ("settings looked at", len(details))) if details else (),
        anywhere=True,
    )


def best_value(states: int) -> float:
    """V*_1(s_1) of the paper's chain: every step succeeds."""
    return (1 - 1 / states) ** (states - 1)


def less(learner: str, gaps: dict[str, Interval]) -> Numbers:
    """The differences to one learner, with labels."""
    return tuple((f"{LEARNERS[other]} - {learner}", gap) for other, gap in gaps.items())
