"""Conformance suite for a delay law."""

import math
import pickle
from collections.abc import Collection
from itertools import pairwise
from typing import Final

import numpy as np

from belated.checks.suite import Check, by_name, require, select_checks
from belated.delays.laws import NEVER, Law
from belated.episode import Floats

DRAWS: Final = 20_000
"""Number of delays drawn for the comparison with the quantiles and the mean."""
PROBABILITIES: Final = (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
"""Probabilities at which quantiles are compared with drawn delays."""
SHARE_TOLERANCE: Final = 0.02
"""Largest accepted difference between a probability and the relative frequency in DRAWS delays. It
is more than five standard deviations of the relative frequency."""


def law_checks(law: Law, *, without: Collection[str] = ()) -> list[Check]:
    """Return the checks of a delay law, to be called one by one.

    If the played episode selects one of several laws, each of them is checked.

    Parameters
    ----------
    law : Law
        Delay law to check.
    without : collection of str
        Names of checks to skip.

    Returns
    -------
    list of Check
        The checks.

    Raises
    ------
    TypeError
        If `law` is not a `Law`.
    ValueError
        If `without` contains an unknown name.

    Examples
    --------
    >>> from belated.delays import geometric
    >>> [check.name for check in law_checks(geometric(100), without=["matches_mean"])][:3]
    ['draws_whole_numbers', 'matches_quantiles', 'is_reproducible']
    """
    if not isinstance(law, Law):
        raise TypeError(f"law must be a law of belated.delays, got {law!r}.")
    return select_checks(CHECKS, without, *((group,) for group in law.groups))


def check_law(law: Law, *, without: Collection[str] = ()) -> None:
    """Run the checks of `law`; raise AssertionError at the first failure.

    `without` contains the names of checks to skip.
    """
    for check in law_checks(law, without=without):
        check()


def draws_whole_numbers(law: Law) -> None:
    """Check that delays and quantiles of `law` are whole numbers of at least 0, or infinite.

    Drawn delays must be int64 in 0 .. `NEVER`, where `NEVER` stands for an infinite delay.
    """
    random = np.random.default_rng(0)
    uniforms = (random.random(1000), random.random((3, 4)), np.array([0.0, 0.5, 1 - 2**-53]))
    try:
        drawn = [(law.at(u), u.shape) for u in uniforms]
        drawn.append((law.draw(seed=0, episodes=1000, first=500), (1000,)))
    except ValueError as error:
        raise AssertionError(str(error)) from error
    for delays, shape in drawn:
        require(
            delays.shape == shape and delays.dtype == np.int64,
            f"Law {law.name!r} gives delays of shape {delays.shape} and type {delays.dtype} for "
            f"{shape} uniforms or episodes; they must be int64 of the same shape.",
        )
        for delay in delays[(delays < 0) | (delays > NEVER)][:1]:
            raise AssertionError(
                f"Law {law.name!r} gives the delay {delay}; delays must lie in 0 .. NEVER."
            )
    for p in PROBABILITIES:
        q = law.quantile(p)
        require(
            q >= 0 and (q == math.inf or q == math.floor(q)),
            f"Law {law.name!r} has the quantile {q} at {p}; "
            "it must be an integer of at least 0, or inf.",
        )


def draw_delays(law: Law) -> Floats:
    """Draw DRAWS delays from `law`; the delay of feedback that never arrives is inf."""
    delays = law.draw(seed=0, episodes=DRAWS, first=law.settled)
    return np.where(delays >= NEVER, math.inf, delays.astype(np.float64))


def matches_quantiles(law: Law) -> None:
    """Check that quantiles of `law` do not decrease and agree with drawn delays."""
    quantiles = [law.quantile(p) for p in PROBABILITIES]
    for (p, lower), (q, upper) in pairwise(zip(PROBABILITIES, quantiles, strict=True)):
        require(
            lower <= upper,
            f"Law {law.name!r} has the quantile {lower} at {p} and {upper} at {q}; quantiles must "
            "not decrease.",
        )
    delays = draw_delays(law)
    for p, quantile in zip(PROBABILITIES, quantiles, strict=True):
        at_most, below = float((delays <= quantile).mean()), float((delays < quantile).mean())
        require(
            at_most >= p - SHARE_TOLERANCE and below <= p + SHARE_TOLERANCE,
            f"The quantile of law {law.name!r} at {p} is {quantile}, but of {DRAWS} drawn delays a "
            f"share of {below:.3f} is below {quantile} and {at_most:.3f} at or below; {p} must lie "
            "between these shares.",
        )


def matches_mean(law: Law) -> None:
    """Check that delays drawn from `law` have the mean `law.mean`.

    The mean must be infinite if feedback may never arrive.
    """
    delays = draw_delays(law)
    if law.mean == math.inf:
        require(
            law.quantile(1.0) == math.inf,
            f"Law {law.name!r} has an infinite mean, but its longest delay is "
            f"{law.quantile(1.0)}; its mean must be finite.",
        )
        return
    lost = float(np.isinf(delays).mean())
    require(
        lost == 0,
        f"Law {law.name!r} has mean {law.mean}, but a share of {lost:.3f} of its delays is "
        "infinite; its mean must be inf.",
    )
    mean, error = delays.mean(), delays.std() / math.sqrt(DRAWS)
    require(
        abs(mean - law.mean) <= 5 * error + 1e-9 * abs(law.mean),
        f"Law {law.name!r} has mean {law.mean}, but {DRAWS} delays have mean {mean:.6g} with "
        f"standard error {error:.2g}.",
    )


def is_reproducible(law: Law) -> None:
    """Check that each delay drawn from `law` depends only on the seed and the episode.

    Two seeds must give different delays, unless the law depends on the calendar, or fewer than 20
    of 200 delays differ from the most frequent one.
    """
    together = law.draw(seed=7, episodes=200)
    parts = [law.draw(seed=7, episodes=50, first=first) for first in (1, 51, 101, 151)]
    single = [law.draw(seed=7, episodes=1, first=first) for first in range(1, 201)]
    require(
        np.array_equal(together, np.concatenate(parts))
        and np.array_equal(together, np.concatenate(single))
        and np.array_equal(together, law.draw(seed=7, episodes=200)),
        f"Law {law.name!r} gives an episode a different delay when it is drawn again or with other "
        "episodes; a delay may depend only on the seed and the episode.",
    )
    most_frequent = np.bincount(np.unique(together, return_inverse=True)[1]).max()
    require(
        not law.stationary
        or together.size - most_frequent < 20
        or not np.array_equal(together, law.draw(seed=8, episodes=200)),
        f"Law {law.name!r} gives the same delays for two seeds; delays must depend on the seed.",
    )


def survives_pickling(law: Law) -> None:
    """Check that `law` can be pickled, and that unpickling gives the same law.

    Pickling is needed to send a law to another process.
    """
    try:
        restored = pickle.loads(pickle.dumps(law))
    except Exception as error:
        raise AssertionError(
            f"Law {law.name!r} cannot be pickled ({error}); its quantile function must be a "
            "function of a module, or a functools.partial of one, not a lambda."
        ) from error
    require(
        restored == law
        and np.array_equal(law.draw(seed=7, episodes=200), restored.draw(seed=7, episodes=200)),
        f"Law {law.name!r} is a different law after pickling.",
    )


CHECKS: Final = by_name(
    draws_whole_numbers,
    matches_quantiles,
    matches_mean,
    is_reproducible,
    survives_pickling,
)
