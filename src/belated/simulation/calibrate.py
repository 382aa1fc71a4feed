"""`calibrate`: search for the smallest bonus scale at which a base is optimistic.

Optimism holds in a run if V~ >= V* in every episode: at the first state of each episode, or at
every step and state. In worlds of ordinary size, the published constants of the bonus are far
larger than optimism requires. `calibrate` multiplies the bonus by several factors, called scales.
For each scale, it simulates runs and counts those in which optimism holds.
"""

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from belated.check import check_integer
from belated.learner.bases import BASE_NAMES, BASES
from belated.learner.bases.base import Base
from belated.learner.updaters.active import Active
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.options import accepts
from belated.randomness import check_seeds
from belated.simulation.many import run_seeds
from belated.simulation.run import Run
from belated.simulation.simulation import Simulation, parse_simulation

FIRST_SEED: Final = 1_000_000
"""First of the default seeds of `calibrate`. Seeds of studies and reproductions are numbered from
0, so that the runs by which a scale is chosen differ from those in which it is used."""

DEFAULT_SEEDS: Final = range(FIRST_SEED, FIRST_SEED + 40)
"""Default seeds of `calibrate`, one for each of 40 runs. If optimism holds in 38 of 40 runs, the
95 % confidence interval of its probability is 83 % to 99 %."""

SEEDS_PER_STEP: Final = 5
"""Number of runs after which a trial with `stop_early` checks whether its scale can still be
sufficient."""

DEFAULT_UPDATER: Final = Active()

MAX_SCALE: Final = 1024.0
"""Largest bonus scale that `calibrate` tries."""

SCALE_DIGITS: Final = 3
"""Number of significant digits to which `calibrate` rounds a scale before it tries the scale.

A rounded scale can be printed exactly."""


@dataclass(frozen=True)
class Trial:
    """Result of the runs with one bonus scale: their number, and how many were optimistic."""

    scale: float  # factor of the bonus
    held: int  # number of runs in which optimism holds
    runs: int  # number of runs; with `stop_early`, a failed trial has fewer
    mean_regret: float  # mean of the regret after the last episode

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the probability that optimism holds throughout a run."""
        return clopper_pearson(self.held, self.runs)


@dataclass(frozen=True)
class Calibration(Trial):
    """Smallest sufficient bonus scale found, with the result of its runs and all trials.

    A scale is sufficient if optimism holds in the required share of runs.
    """

    at_floor: bool
    """Whether `scale` is the lowest scale allowed, so that smaller scales may be sufficient too."""
    tried: tuple[Trial, ...]
    """All trials, in the order in which they were made."""


class NotOptimisticError(ValueError):
    """Exception raised if no scale up to `MAX_SCALE` is sufficient.

    The attribute `tried` holds all trials, in the order in which they were made.
    """

    def __init__(self, tried: Sequence[Trial]) -> None:
        last = tried[-1]
        super().__init__(
            f"Optimism held in only {last.held} of {last.runs} runs at scale {last.scale:g}, the "
            "largest tried; a larger scale does not make this base optimistic."
        )
        self.tried = tuple(tried)


Question = tuple[float, list[int]]
"""Runs that a search needs next: their bonus scale, and their seeds."""

Search = Generator[Question, Sequence[Run], Calibration]
"""Search for a scale, made by `search_scales`."""


def search_scales(
    seeds: Iterable[int],
    *,
    level: float,
    lowest: float,
    tolerance: float,
    on_trial: Callable[[Trial], None] | None = None,
) -> Search:
    """Search for the smallest sufficient scale; the caller computes the runs.

    The generator yields the scale and the seeds of the runs that it needs next. Send it the runs of
    one or more of the first of these seeds. It yields the other seeds then, unless so many runs
    have failed that the scale cannot be sufficient.

    Parameters
    ----------
    seeds : iterable of int
        Seeds of the runs; the same for each scale.
    level, lowest, tolerance, on_trial
        See `calibrate`.

    Returns
    -------
    Calibration
        Result of the search.

    Raises
    ------
    NotOptimisticError
        If `MAX_SCALE` is not sufficient.
    ValueError
        If an argument is out of range.
    """
    if not 0 < level <= 1:
        raise ValueError(f"level must be above 0 and at most 1, got {level}.")
    if not 0 < lowest < 1:
        raise ValueError(f"lowest must lie strictly between 0 and 1, got {lowest}.")
    if not tolerance > 1:
        raise ValueError(f"tolerance must be above 1, got {tolerance}.")
    every = check_seeds(seeds)
    if not every:
        raise ValueError("seeds must have at least one seed, got none.")
    required = math.ceil(level * len(every) - 1e-9)  # 0.07 * 100 > 7: rounding
    tried: list[Trial] = []

    def is_sufficient(scale: float) -> Generator[Question, Sequence[Run], bool]:
        runs: list[Run] = []
        failed = 0
        while len(runs) < len(every) and failed <= len(every) - required:
            runs += yield scale, every[len(runs) :]
            failed = sum(run.optimism_broken > 0 for run in runs)
        mean_regret = math.fsum(run.total_regret for run in runs) / len(runs)
        tried.append(Trial(scale, len(runs) - failed, len(runs), mean_regret))
        if on_trial is not None:
            on_trial(tried[-1])
        return tried[-1].held >= required

    # Bracket: an insufficient scale `low` and a sufficient one `high`.
    low, high = lowest, 1.0
    while not (yield from is_sufficient(high)):
        if high == MAX_SCALE:
            raise NotOptimisticError(tried)
        low, high = high, 2 * high
    if low == lowest and (yield from is_sufficient(lowest)):
        high = lowest
    # Bisection.
    while high / low >= tolerance and low < (middle := geometric_mean(low, high)) < high:
        low, high = (low, middle) if (yield from is_sufficient(middle)) else (middle, high)
    chosen = next(trial for trial in tried if trial.scale == high)
    return Calibration(**vars(chosen), at_floor=high == lowest, tried=tuple(tried))


def check_base(base: object, given: object) -> Base:
    """Return `base` if it is a Base, optimistic and with a scale; otherwise raise TypeError.

    `given` is the base as given by the user, for the error message.
    """
    if not isinstance(base, Base):
        listed = ", ".join(name for name, kind in BASES.items() if issubclass(kind, Base))
        raise TypeError(
            f"base must be optimistic and have a scale, got {given!r}; such built-in bases are "
            f"{listed}."
        )
    return base


@accepts(Simulation, omit=("world", "updater", "every", "points", "engine", "trace"))
def calibrate(
    world: MDP | str,
    *,
    seeds: Iterable[int] = DEFAULT_SEEDS,
    level: float = 0.95,
    updater: Updater | str = DEFAULT_UPDATER,
    lowest: float = 1e-4,
    tolerance: float = 1.2,
    stop_early: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
    on_trial: Callable[[Trial], None] | None = None,
    **setting: Any,
) -> Calibration:
    """Return the smallest bonus scale at which optimism holds in a given share of runs.

    A scale is sufficient if optimism holds in at least the share `level` of the runs. The smallest
    sufficient scale is found by bisection of ln(scale) between `lowest` and 1. If scale 1 is not
    sufficient, the scale is doubled until it is, and the bisection is between the last two scales.
    All scales are tried with the same seeds. Bisection assumes that the share of runs in which
    optimism holds grows with the scale. On average over many runs, this is true.

    Parameters
    ----------
    world : MDP or str
        World to simulate, or its name.
    base : Base or str
        Base to calibrate, or its name; its options other than the scale are kept.
    episodes : int
        Number of episodes of a run.
    seeds : iterable of int
        Seeds of the runs; the same for each scale. They should not contain the seeds of the runs
        in which the scale will be used.
    level : float
        Required share of runs in which optimism holds, in (0, 1].
    updater, **setting
        Arguments of `simulate`. A scale found without delay is in general too small with delay.
    optimism : {"start", "everywhere"}
        Condition in every episode of a run: V~_1 >= V*_1 at the first state of the episode, or
        V~_h >= V*_h at every step and state.
    lowest : float
        Smallest scale to try, in (0, 1).
    tolerance : float
        The search stops when the ratio of the smallest sufficient scale to the largest insufficient
        scale is below this number. Must be above 1.
    stop_early : bool
        Whether to end a trial when so many runs have failed that its scale cannot be sufficient.
        The scale found is the same; trials with insufficient scales have fewer runs.
    threads, progress
        Arguments of `simulate_many`.
    on_trial : callable, optional
        Function called with each `Trial` when its runs are finished.

    Returns
    -------
    Calibration
        Smallest sufficient scale, and all trials.

    Raises
    ------
    NotOptimisticError
        If no scale up to `MAX_SCALE` is sufficient.
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from belated.learner.bases import UCBVI_CH
    >>> from belated.mdp.classics import chain
    >>> found = calibrate(chain(3), base=UCBVI_CH(), episodes=100, seeds=range(20))
    >>> found.held >= 19, found.at_floor
    (True, False)
    """
    search = search_scales(
        seeds, level=level, lowest=lowest, tolerance=tolerance, on_trial=on_trial
    )
    base = check_base(BASE_NAMES.parse(setting["base"]), setting["base"])
    simulation = parse_simulation(world, {**setting, "base": base, "updater": updater})
    return run_search(search, simulation, stop_early=stop_early, threads=threads, progress=progress)


def run_search(
    search: Search,
    simulation: Simulation,
    *,
    stop_early: bool = False,
    threads: int | None = None,
    progress: bool | None = None,
) -> Calibration:
    """Compute the runs that a search needs, and return its result.

    `simulation` is what is calibrated, with any scale. The other parameters and the exceptions are
    those of `calibrate`.
    """
    if threads is not None:
        check_integer("threads", threads, 1)
    try:
        scale, seeds = next(search)
        while True:
            seeds = seeds[: SEEDS_PER_STEP if stop_early else None]
            scaled = with_scale(simulation, scale)
            runs = run_seeds(scaled, seeds, threads=threads, progress=progress)
            scale, seeds = search.send(runs)
    except StopIteration as end:
        found: Calibration = end.value
        return found


def with_scale(simulation: Simulation, scale: float) -> Simulation:
    """Return `simulation` with the bonus scale `scale`."""
    base = check_base(simulation.base, simulation.base)
    return replace(simulation, base=replace(base, scale=scale))


def geometric_mean(low: float, high: float) -> float:
    """Return the geometric mean of `low` and `high`, with `SCALE_DIGITS` significant digits.

    >>> geometric_mean(0.001, 1)
    0.0316
    """
    return float(f"{math.sqrt(low * high):.{SCALE_DIGITS}g}")


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) 95 % confidence interval of a probability.

    Parameters
    ----------
    successes : int
        Number of successes, in 0 .. `trials`.
    trials : int
        Number of trials, at least 1.

    Returns
    -------
    tuple[float, float]
        Lower and upper limits of the interval.

    Examples
    --------
    >>> low, high = clopper_pearson(38, 40)
    >>> round(low, 4), round(high, 4)
    (0.8308, 0.9939)
    """
    from scipy import stats

    low = stats.beta.ppf(0.025, successes, trials - successes + 1) if successes > 0 else 0.0
    high = stats.beta.ppf(0.975, successes + 1, trials - successes) if successes < trials else 1.0
    return float(low), float(high)
