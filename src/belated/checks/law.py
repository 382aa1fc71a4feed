"""Conformance of a delay law: what a simulation relies on when it draws delays."""

import math
import pickle
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Final

import numpy as np

from belated.checks.options import clear
from belated.checks.suite import Check, choose, hold
from belated.delays.laws import NEVER, Law
from belated.episode import Floats

DRAWS: Final = 20_000
LEVELS: Final = (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
SLACK: Final = 0.02
"""How far a share of DRAWS may be from its probability: more than five standard deviations."""


def law_checks(law: Law, *, without: Collection[str] = ()) -> list[Check]:
    """Every check of `law`, to be called one by one.

    `without` names checks to leave out, for what the law does not claim.

    >>> from belated.delays import geometric
    >>> [check.name for check in law_checks(geometric(100))]
    ['named', 'whole', 'quantile', 'mean', 'addressed', 'pickled', 'errors']
    """
    if not isinstance(law, Law):
        raise TypeError(f"law is {law!r}; it must be a law of belated.delays.")
    return choose(CHECKS, without, law)


def check_law(law: Law, *, without: Collection[str] = ()) -> None:
    """All of `law_checks` at once: raises AssertionError with the first thing that is wrong."""
    for check in law_checks(law, without=without):
        check()


def is_named(law: Law) -> None:
    """It has a name, since two laws of one name and mean count as equal."""
    hold(
        isinstance(law.name, str) and law.name.strip(),
        f"The law's name is {law.name!r}; it must be a word that tells what the law is.",
    )


def gives_whole_numbers(law: Law) -> None:
    """Delays are whole numbers of at least 0, or NEVER, and their quantiles are too, or inf."""
    random = np.random.default_rng(0)
    for u in (random.random(1000), random.random((3, 4)), np.array([0.0, 0.5, 1 - 2**-53])):
        try:
            delays = law.at(u)
        except ValueError as error:
            raise AssertionError(str(error)) from error
        hold(
            delays.shape == u.shape and delays.dtype == np.int64,
            f"Law {law.name!r} gives delays of shape {delays.shape} and type {delays.dtype} for "
            f"uniforms of shape {u.shape}; they must be int64 of the same shape.",
        )
        for delay in delays[(delays < 0) | (delays > NEVER)][:1]:
            raise AssertionError(
                f"Law {law.name!r} gives the delay {delay}; allowed are 0 .. NEVER."
            )
    for p in LEVELS:
        q = law.quantile(p)
        hold(
            q >= 0 and (q == math.inf or q == math.floor(q)),
            f"Law {law.name!r} has the quantile {q} at {p}; "
            "it must be a whole number of at least 0, or inf.",
        )


def drawn(law: Law) -> Floats:
    """Many delays, inf for never."""
    delays = law.draw(seed=0, episodes=DRAWS)
    return np.where(delays >= NEVER, math.inf, delays.astype(np.float64))


def matches_its_quantiles(law: Law) -> None:
    """Quantiles rise, and as many draws lie below them as they say."""
    quantiles = [law.quantile(p) for p in LEVELS]
    for (p, lower), (q, upper) in pairwise(zip(LEVELS, quantiles, strict=True)):
        hold(
            lower <= upper,
            f"Law {law.name!r} has the quantile {lower} at {p} and {upper} at {q}; they must rise.",
        )
    delays = drawn(law)
    for p, most in zip(LEVELS, quantiles, strict=True):
        within, below = float((delays <= most).mean()), float((delays < most).mean())
        hold(
            within >= p - SLACK and below <= p + SLACK,
            f"Law {law.name!r} has the quantile {most} at {p}, but of {DRAWS} draws a share of "
            f"{below:.3f} is below it and {within:.3f} at most that.",
        )


def matches_its_mean(law: Law) -> None:
    """The mean is that of the draws, and inf if feedback may never return."""
    delays = drawn(law)
    lost = float(np.isinf(delays).mean())
    if law.mean == math.inf:
        hold(
            law.quantile(1.0) == math.inf,
            f"Law {law.name!r} says that its mean is inf, but its longest delay is "
            f"{law.quantile(1.0)}.",
        )
        return
    hold(
        lost == 0,
        f"Law {law.name!r} says that its mean is {law.mean}, but a share of {lost:.3f} of its "
        "draws never returns; the mean is then inf.",
    )
    mean, error = delays.mean(), delays.std() / math.sqrt(DRAWS)
    hold(
        abs(mean - law.mean) <= 5 * error + 1e-9 * abs(law.mean),
        f"Law {law.name!r} says that its mean is {law.mean}, but {DRAWS} draws have the mean "
        f"{mean:.6g}, give or take {error:.2g}.",
    )


def is_addressed(law: Law) -> None:
    """The delay of an episode depends on the seed and its number, not on who else is asked for."""
    every = law.draw(seed=7, episodes=200)
    parts = [law.draw(seed=7, episodes=50, first=first) for first in (1, 51, 101, 151)]
    alone = [law.draw(seed=7, episodes=1, first=first) for first in range(1, 201)]
    hold(
        np.array_equal(every, np.concatenate(parts))
        and np.array_equal(every, np.concatenate(alone))
        and np.array_equal(every, law.draw(seed=7, episodes=200)),
        f"Law {law.name!r} gives an episode another delay when others are drawn with it, or when "
        "it is asked again; a delay may depend on the seed and the episode alone.",
    )
    usual = np.bincount(np.unique(every, return_inverse=True)[1]).max()
    hold(
        every.size - usual < 20 or not np.array_equal(every, law.draw(seed=8, episodes=200)),
        f"Law {law.name!r} gives the same delays under two seeds.",
    )


def survives_pickling(law: Law) -> None:
    """It can be sent to another process."""
    try:
        again = pickle.loads(pickle.dumps(law))
    except Exception as error:
        raise AssertionError(
            f"Law {law.name!r} cannot be pickled ({error}); its quantile function must be a "
            "function of a module, or a functools.partial of one, not a lambda."
        ) from error
    hold(
        again == law
        and np.array_equal(law.draw(seed=7, episodes=200), again.draw(seed=7, episodes=200)),
        f"Law {law.name!r} is another law after pickling.",
    )


def refuses_nonsense(law: Law) -> None:
    """A level outside [0, 1], or fewer episodes than none, is refused with one sentence."""
    for name, value, call in (
        ("p", -0.5, lambda: law.quantile(-0.5)),
        ("p", math.nan, lambda: law.quantile(math.nan)),
        ("episodes", -1, lambda: law.draw(seed=0, episodes=-1)),
    ):
        try:
            call()
        except (ValueError, TypeError) as error:
            clear(str(error), f"{name} = {value}", name)
        else:
            raise AssertionError(
                f"Law {law.name!r} takes {name} = {value}; it must refuse that with a ValueError."
            )


CHECKS: Final[dict[str, Callable[..., None]]] = {
    "named": is_named,
    "whole": gives_whole_numbers,
    "quantile": matches_its_quantiles,
    "mean": matches_its_mean,
    "addressed": is_addressed,
    "pickled": survives_pickling,
    "errors": refuses_nonsense,
}
