"""Counter-based random numbers: each is a pure function of its key (seed, stream, episode, step).

There is no generator state. Results therefore do not depend on the order of calls, on threads or on
the engine, and learners with the same seed are compared with the same random numbers. The generator
is Philox4x32-10 (Salmon et al. 2011).

>>> from belated.randomness import TRANSITION, uniform
>>> uniform(7, TRANSITION, 3, 1) == uniform(7, TRANSITION, 3, 1)
True
>>> 0.0 <= uniform(7, TRANSITION, 3, 2) < 1.0
True
"""

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from belated.compiled import inlined, kernel
from belated.elementary import cos_turn, exp, log

# Streams: random numbers for different purposes in the same episode and step are independent.
START: Final = 0  # first state of an episode
TRANSITION: Final = 1  # successor of a step
REWARD: Final = 2  # reward of a step
DELAY: Final = 3  # delay of the feedback of an episode
TIES: Final = 4  # choice among actions with equal values in a plan
EXPLORE: Final = 5  # action of a step that explores
POSTERIOR: Final = 6  # transition probabilities that posterior sampling draws
POSTERIOR_REWARD: Final = 7  # mean rewards that posterior sampling draws
VALUE_NOISE: Final = 8  # noise that randomised value functions add to values

_MASK_32: Final = np.uint64(0xFFFFFFFF)
_SHIFT_32: Final = np.uint64(32)
# Multipliers and key increments of Philox4x32 (Salmon et al. 2011).
_M0: Final = np.uint64(0xD2511F53)
_M1: Final = np.uint64(0xCD9E8D57)
_W0: Final = np.uint64(0x9E3779B9)
_W1: Final = np.uint64(0xBB67AE85)
_SHIFT_5: Final = np.uint64(5)
_SHIFT_6: Final = np.uint64(6)

UNUSED_NUMBER: Final = 1 << 20
"""Value of the argument `number` of `numbered_uniform` that `gamma` never uses. The random number
that it gives is independent of those that `gamma` draws with the same key."""


@inlined
def philox(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the output of Philox4x32 with ten rounds: four 32-bit words.

    Parameters
    ----------
    c0, c1, c2, c3 : np.uint64
        Words of the counter, each in 0 .. 2**32 - 1.
    k0, k1 : np.uint64
        Words of the key, each in 0 .. 2**32 - 1.

    Returns
    -------
    tuple of np.uint64
        Four random words, each in 0 .. 2**32 - 1.
    """
    for _ in range(10):
        p0 = _M0 * c0
        p1 = _M1 * c2
        c0, c1, c2, c3 = (
            (p1 >> _SHIFT_32) ^ c1 ^ k0,
            p1 & _MASK_32,
            (p0 >> _SHIFT_32) ^ c3 ^ k1,
            p0 & _MASK_32,
        )
        k0 = (k0 + _W0) & _MASK_32
        k1 = (k1 + _W1) & _MASK_32
    return c0, c1, c2, c3


@inlined  # if the compiler decided, it would depend on unrelated code of the caller
def uniform(seed: int | np.uint64, stream: int, episode: int, step: int) -> float:
    """Return the uniform random number of a key, in [0, 1), with 53 random bits.

    The parameters are the key; the same key always gives the same number.

    Parameters
    ----------
    seed : int
        Seed of the run, in 0 .. 2**64 - 1; an np.uint64 in compiled code.
    stream : int
        Purpose of the number: one of the constants of this module, such as `TRANSITION`.
    episode : int
        Number of the episode, at least 0.
    step : int
        Step or another index, in 0 .. 2**32 - 1.

    Returns
    -------
    float
        Random number.

    Examples
    --------
    >>> round(uniform(7, TRANSITION, 3, 1), 6)
    0.518485
    """
    key = np.uint64(seed)
    at = np.uint64(episode)
    w0, w1, _, _ = philox(
        np.uint64(step) & _MASK_32,
        at & _MASK_32,
        at >> _SHIFT_32,
        np.uint64(stream),
        key & _MASK_32,
        key >> _SHIFT_32,
    )
    return (float(w0 >> _SHIFT_5) * 67108864.0 + float(w1 >> _SHIFT_6)) / 9007199254740992.0


@kernel
def numbered_uniform(seed: np.uint64, stream: int, plan: int, cell: int, number: int) -> float:
    """Return the `number`-th of the uniform random numbers that share a key.

    Parameters
    ----------
    seed, stream, plan, cell : int
        Key: seed, stream (purpose of the number), number of the plan, and another index.
    number : int
        Index of the random number among those with the same key, at least 0.

    Returns
    -------
    float
        Random number in [0, 1).
    """
    return uniform(seed, stream + (number << 8), plan, cell)


@kernel
def normal(seed: np.uint64, stream: int, plan: int, cell: int, number: int) -> float:
    """Return a random number with the standard normal distribution, determined by a key.

    The method is that of Box and Muller (1958), computed with `belated.elementary`. It needs two
    uniform random numbers, number `number` and the next one.

    Parameters
    ----------
    seed, stream, plan, cell : int
        Key: seed, stream (purpose of the number), number of the plan, and another index.
    number : int
        Index of the first of the two uniform random numbers with this key, at least 0.

    Returns
    -------
    float
        Random number with mean 0 and variance 1; its absolute value is below 8.6.

    Examples
    --------
    >>> round(normal(np.uint64(7), VALUE_NOISE, 3, 1, 0), 6)
    0.143469
    """
    radius = math.sqrt(-2.0 * log(1.0 - numbered_uniform(seed, stream, plan, cell, number)))
    return radius * cos_turn(numbered_uniform(seed, stream, plan, cell, number + 1))


@kernel
def gamma(seed: np.uint64, stream: int, plan: int, cell: int, shape: float) -> float:
    """Return a random number with the distribution Gamma(`shape`, 1), determined by a key.

    The method is rejection sampling (Marsaglia and Tsang 2000). It needs a variable number of
    uniform random numbers, which are drawn with `numbered_uniform`.

    Parameters
    ----------
    seed, stream, plan, cell : int
        Key: seed, stream (purpose of the number), number of the plan, and another index.
    shape : float
        Shape parameter, above 0.

    Returns
    -------
    float
        Random number, at least 0.
    """
    if shape == 1.0:  # the most common case: a flat prior without observations
        return -log(1.0 - uniform(seed, stream, plan, cell))
    boost = 1.0
    if shape < 1.0:
        boost = exp(log(1.0 - uniform(seed, stream, plan, cell)) / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    number = 0
    while True:
        x = normal(seed, stream, plan, cell, number + 1)
        accept = 1.0 - numbered_uniform(seed, stream, plan, cell, number + 3)
        number += 3
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            if log(accept) < 0.5 * x * x + d - d * v + d * log(v):
                return boost * d * v


def check_seed(seed: object) -> int:
    """Return `seed` as an int; it must be an integer in 0 .. 2**64 - 1.

    Raises TypeError if `seed` is not an integer, and ValueError if it is out of range.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed must be an integer, got {seed!r}.")
    if not 0 <= int(seed) < 2**64:
        raise ValueError(f"seed must lie in 0 .. 2**64 - 1, got {seed}.")
    return int(seed)


def check_seeds(seeds: object) -> list[int]:
    """Return `seeds` as a list; they must be a sequence of seeds, as checked by `check_seed`."""
    if not isinstance(seeds, Iterable):
        raise TypeError(f"seeds must be a sequence of seeds such as range(30), got {seeds!r}.")
    return [check_seed(seed) for seed in seeds]
