"""`calibrate`: the smallest scale at which a base is still optimistic.

A base's guarantee says that V~_1 >= V*_1 in every episode with some probability. Its published
constants are far larger than that takes in a world of ordinary size. This measures what it takes:
the share of runs in which optimism held throughout, at one scale after another.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from belated.delays.laws import Law
from belated.learner.bases.base import Base
from belated.learner.updaters.active import Active
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.options import Stages
from belated.simulation.many import simulate_many
from belated.simulation.run import Run

SEEDS: Final = range(40)
"""With 38 of 40 runs, the interval around a share of 95% is 83% to 99%."""

ACTIVE: Final = Active()

LIMIT: Final = 1024.0
"""The largest scale to try."""

DIGITS: Final = 3
"""Significant digits of a scale, so that the one that is printed is the one that was tried."""


@dataclass(frozen=True)
class Trial:
    """What came of one scale."""

    scale: float
    held: int  # runs in which V~_1 >= V*_1 throughout
    runs: int
    mean_regret: float  # at the end

    @property
    def interval(self) -> tuple[float, float]:
        """95% confidence for the probability that optimism holds throughout a run."""
        return clopper_pearson(self.held, self.runs)


@dataclass(frozen=True)
class Calibration:
    """The smallest scale that was found to be enough, and how it was found."""

    scale: float
    held: int
    runs: int
    interval: tuple[float, float]
    mean_regret: float
    at_floor: bool
    """Whether even the lowest scale is enough, so that nothing smaller was tried."""
    tried: tuple[Trial, ...]
    """Every scale tried, in that order."""


def calibrate(
    world: MDP,
    *,
    base: Base,
    episodes: int,
    seeds: Iterable[int] = SEEDS,
    level: float = 0.95,
    stages: Stages = "each",
    updater: Updater = ACTIVE,
    delay: Law | None = None,
    lowest: float = 1e-4,
    tolerance: float = 1.2,
    threads: int | None = None,
    progress: bool | None = None,
    tell: Callable[[Trial], None] | None = None,
) -> Calibration:
    """The smallest `scale` of `base` at which optimism holds throughout in `level` of the runs.

    Found by bisection of log(scale) between `lowest` and 1, or more where 1 is not enough, until
    the scale that is enough and the one that is not differ by a factor below `tolerance`. All
    scales meet the same seeds. Bisection takes it that more scale never means less optimism,
    which holds of shares of many runs, and need not of every single one.

    The base keeps its other options. `tell` is called with each trial.

    >>> from belated.learner.bases import UCBVI_CH
    >>> from belated.mdp.chain import chain
    >>> found = calibrate(chain(3), base=UCBVI_CH(), episodes=100, seeds=range(20))
    >>> found.held >= 19, found.at_floor
    (True, False)
    """
    if not isinstance(base, Base):
        raise TypeError(f"base is {base!r}; it must be a Base, which has a scale.")
    if not 0 < level <= 1:
        raise ValueError(f"level is {level}; it must be above 0 and at most 1.")
    if not 0 < lowest < 1:
        raise ValueError(f"lowest is {lowest}; it must lie strictly between 0 and 1.")
    if not tolerance > 1:
        raise ValueError(f"tolerance is {tolerance}; it must be above 1.")
    if not isinstance(seeds, Iterable):
        raise TypeError(f"seeds is {seeds!r}; it must be a sequence of seeds such as range(40).")
    listed = list(seeds)
    if not listed:
        raise ValueError("seeds is empty; calibration needs at least one run.")

    def play(scale: float) -> list[Run]:
        return simulate_many(
            world,
            base=replace(base, scale=scale),
            updater=updater,
            delay=delay,
            episodes=episodes,
            seeds=listed,
            stages=stages,
            threads=threads,
            progress=progress,
        )

    trials = Trials(play, level, tell)
    low, high = bracketed(trials, lowest)
    while high / low >= tolerance and low < (middle := between(low, high)) < high:
        low, high = (low, middle) if trials.enough(middle) else (middle, high)
    found = trials.at(high)
    return Calibration(
        scale=high,
        held=found.held,
        runs=found.runs,
        interval=found.interval,
        mean_regret=found.mean_regret,
        at_floor=high == lowest,
        tried=tuple(trials.made),
    )


class Trials:
    """Scales and what came of them."""

    def __init__(
        self,
        play: Callable[[float], list[Run]],
        level: float,
        tell: Callable[[Trial], None] | None,
    ) -> None:
        self.play = play
        self.level = level
        self.tell = tell
        self.made: list[Trial] = []

    def enough(self, scale: float) -> bool:
        """Try a scale."""
        runs = self.play(scale)
        trial = Trial(
            scale=scale,
            held=sum(run.optimism_broken == 0 for run in runs),
            runs=len(runs),
            mean_regret=math.fsum(run.total_regret for run in runs) / len(runs),
        )
        self.made.append(trial)
        if self.tell is not None:
            self.tell(trial)
        # 0.07 * 100 is a little more than 7
        return trial.held >= self.level * trial.runs - 1e-9

    def at(self, scale: float) -> Trial:
        """The trial of a scale."""
        return next(trial for trial in self.made if trial.scale == scale)


def bracketed(trials: Trials, lowest: float) -> tuple[float, float]:
    """A scale that is not enough and one that is; twice the lowest if that is enough."""
    low, high = lowest, 1.0
    while not trials.enough(high):
        if high == LIMIT:
            last = trials.made[-1]
            raise ValueError(
                f"Optimism held in only {last.held} of {last.runs} runs at scale {LIMIT:g}, "
                "the largest tried; this base does not become optimistic with its scale."
            )
        low, high = high, 2 * high
    if low == lowest and trials.enough(lowest):
        return lowest, lowest
    return low, high


def between(low: float, high: float) -> float:
    """The middle on a log scale, to a few digits.

    >>> between(0.001, 1)
    0.0316
    """
    return float(f"{math.sqrt(low * high):.{DIGITS}g}")


def clopper_pearson(held: int, runs: int) -> tuple[float, float]:
    """The exact 95% interval for a probability of which `held` of `runs` were seen.

    >>> low, high = clopper_pearson(38, 40)
    >>> round(low, 4), round(high, 4)
    (0.8308, 0.9939)
    """
    from scipy import stats

    low = stats.beta.ppf(0.025, held, runs - held + 1) if held > 0 else 0.0
    high = stats.beta.ppf(0.975, held + 1, runs - held) if held < runs else 1.0
    return float(low), float(high)
