"""Conformance suite for an updater."""

import math
from collections.abc import Collection
from typing import Final

import numpy as np

from belated.checks import samples
from belated.checks.samples import EPISODES, SHAPES
from belated.checks.suite import Check, by_name, require, select_checks
from belated.delays.laws import geometric
from belated.learner.bases.ucrl2 import UCRL2
from belated.learner.updaters.updater import Arrival, EpochStart, Updater
from belated.simulation.simulation import Simulation

BASE: Final = UCRL2(scale=0.1)
SHAPE: Final = SHAPES[-1]


def updater_checks(updater: Updater, *, without: Collection[str] = ()) -> list[Check]:
    """Return the checks that apply to an updater, to be called one by one.

    Parameters
    ----------
    updater : Updater
        Updater to check.
    without : collection of str
        Names of checks to skip.

    Returns
    -------
    list of Check
        The checks.

    Raises
    ------
    TypeError
        If `updater` is not an `Updater`.
    ValueError
        If `without` contains an unknown name.

    Examples
    --------
    >>> from belated.learner.updaters import Active
    >>> [check.name for check in updater_checks(Active(), without=["engines_agree"])][:3]
    ['returns_bool', 'is_pure', 'ignores_empty_arrival']
    """
    if not isinstance(updater, Updater):
        raise TypeError(f"updater must be an Updater such as Active(), got {updater!r}.")
    updater = updater.for_simulation(geometric(3)).for_learner(EPISODES)
    return select_checks(CHECKS, without, (updater,))


def check_updater(updater: Updater, *, without: Collection[str] = ()) -> None:
    """Run the checks of `updater`; raise AssertionError at the first failure.

    `without` contains the names of checks to skip.
    """
    for check in updater_checks(updater, without=without):
        check()


def alpha_at(updater: Updater, mean_delay: float) -> float:
    """Return the parameter alpha that `updater` chooses for an epoch.

    `mean_delay` is the mean of the delays observed before the epoch, in episodes.
    """
    return updater.epoch_alpha(EpochStart(SHAPE, EPISODES, BASE.name, BASE.delta, mean_delay))


def sample_arrivals(updater: Updater) -> list[Arrival]:
    """Return 50 random arguments for the method `due` of `updater`.

    Each contains the parameter alpha that `updater` chooses.
    """
    random = np.random.default_rng(0)
    H, S, A = SHAPE.table
    arrivals = []
    for _ in range(50):
        arrived = int(random.integers(1, 5))
        rows = random.integers(0, H * S * A, arrived * H)
        epoch_counts = random.integers(0, 30, H * S * A) * (random.random(H * S * A) < 0.8)
        counts = epoch_counts + random.integers(0, 4, epoch_counts.size)
        np.add.at(counts, rows, 1)
        since_plan = arrived + int(random.integers(0, 9))
        own, alpha = int(random.integers(0, since_plan + 1)), alpha_at(updater, 2.0)
        since = (arrived, since_plan, alpha, since_plan + 2, own)
        arrivals.append(Arrival(counts, epoch_counts, rows, *since))
    return arrivals


def returns_bool(updater: Updater) -> None:
    """Check that the method `due` of `updater` returns True or False."""
    for arrival in sample_arrivals(updater):
        answer: object = updater.due(arrival)
        require(
            isinstance(answer, bool | np.bool_),
            f"{type(updater).__name__}.due returns {answer!r}; it must return True or False.",
        )


def is_pure(updater: Updater) -> None:
    """Check that the result of `updater.due(arrival)` depends only on `arrival`.

    The call must not change `arrival`.
    """
    who = f"{type(updater).__name__}.due"
    arrivals = sample_arrivals(updater)
    first = [updater.due(arrival) for arrival in arrivals]
    require(
        first == [updater.due(arrival) for arrival in arrivals],
        f"{who} returns a different value for the same arrival when it is called again; it may "
        "depend only on its argument.",
    )
    for before, after in zip(sample_arrivals(updater), arrivals, strict=True):
        for name in Arrival._fields:
            require(
                np.array_equal(getattr(before, name), getattr(after, name)),
                f"{who} changes {name} of its argument; it may only read it.",
            )


def ignores_empty_arrival(updater: Updater) -> None:
    """Check that no plan is due under `updater` if no feedback has arrived since the last plan."""
    for arrival in sample_arrivals(updater):
        empty = Arrival(arrival.counts, arrival.counts, arrival.rows[:0], 0, 0, arrival.alpha)
        require(
            not updater.due(empty),
            f"{type(updater).__name__} plans although nothing has arrived since the last plan.",
        )


def plans_eventually(updater: Updater) -> None:
    """Check that `updater` plans after a million arrivals that multiplied every count by 1,000."""
    rows = np.arange(math.prod(SHAPE.table))
    counts = np.full(rows.size, 1000)
    for mean_delay in (0.0, 100.0):
        since = (1, 10**6, alpha_at(updater, mean_delay), 10**6, 10**6, 2, 1e12)
        arrival = Arrival(1000 * counts, counts, rows, *since)
        require(
            updater.due(arrival),
            f"{type(updater).__name__} does not plan after a million arrivals that multiplied "
            "every count by 1,000; a learner with it would not learn.",
        )


def has_valid_alpha(updater: Updater) -> None:
    """Check that the method `epoch_alpha` of `updater` returns a number, which may be infinite.

    The check also fails if the method returns different numbers for equal arguments.
    """
    who = f"{type(updater).__name__}.{Updater.epoch_alpha.__name__}"
    for mean_delay in (0.0, 3.5, 1e4):
        alpha = alpha_at(updater, mean_delay)
        require(
            isinstance(alpha, int | float | np.integer | np.floating) and not math.isnan(alpha),
            f"{who} returns {alpha!r}; it must return a number, or inf.",
        )
        require(
            alpha == alpha_at(updater, mean_delay),
            f"{who} returns a different number for the same argument.",
        )


def survives_snapshot(updater: Updater) -> None:
    """Check that a learner with `updater` can be restored exactly from a snapshot."""
    case = samples.sample_case(SHAPE, 5, episodes=80)
    samples.require_restorable(type(updater).__name__, BASE, updater, case)


def engines_agree(updater: Updater) -> None:
    """Check that runs of `updater` are bit-identical with every engine and planning mode.

    Only engines that support `updater` are compared.
    """
    for seed, shape in enumerate(SHAPES):
        world = samples.random_world(shape, seed)
        law = geometric(3)
        setting = Simulation(world=world, base=BASE, updater=updater, delay=law, episodes=40)
        samples.require_equal_runs(type(updater).__name__, setting)


CHECKS: Final = by_name(
    returns_bool,
    is_pure,
    ignores_empty_arrival,
    plans_eventually,
    has_valid_alpha,
    survives_snapshot,
    engines_agree,
)
