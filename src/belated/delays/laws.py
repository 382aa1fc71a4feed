"""Delay laws: probability distributions of the delay of an episode's feedback.

A law is defined by its quantile function. tau_i, the delay of episode i, is the quantile at the
uniform number with address (seed, DELAY, i), so it does not depend on which other delays are
drawn. Delays are counted in episodes.

>>> law = geometric(100)
>>> law
Law(name='geometric:100', mean=100.0)
>>> law.draw(seed=7, episodes=4)
array([258,  37, 202,  33])
>>> law.draw(seed=7, episodes=2, first=3)
array([202,  33])
>>> parse("never:0.5:constant:30").draw(seed=7, episodes=4) == NEVER
array([False,  True, False,  True])
"""

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from belated.arguments import check_integer
from belated.compiled import kernel
from belated.episode import Floats, Ints
from belated.randomness import DELAY, check_seed
from belated.randomness import uniform as uniform_at

NEVER: Final = 2**62
"""Delay of feedback that never arrives; small enough to add the number of an episode to it."""

MAX_MEAN_DELAY: Final = 2**53
"""Largest mean of a built-in law, in episodes; integers above it are not exact as floats."""

_BELOW_ONE: Final = math.nextafter(1.0, 0.0)

QuantileFunction = Callable[[Floats], Floats]
"""Function from probabilities in [0, 1] to delays, entry by entry."""


@dataclass(frozen=True)
class Law:
    """Probability distribution of delays 0, 1, 2, ... episodes, or never.

    Laws with the same name and mean compare equal, so a name must describe its law completely.

    >>> die = Law("die", 3.5, lambda p: np.maximum(np.ceil(6 * p), 1))
    >>> die.quantile(0.5)
    3.0
    """

    name: str
    """Name that appears in results, such as "geometric:100"."""
    mean: float
    """Expected delay in episodes; inf if feedback may never arrive."""
    quantiles: QuantileFunction = field(repr=False, compare=False)
    """Quantile function: for each p the smallest j with P(tau <= j) >= p, inf if there is none;
    at p = 0 the smallest possible delay. A function of a module can be pickled, a lambda cannot."""
    _never: float = field(default=0.0, repr=False)
    """Probability that feedback never arrives, in addition to what `quantiles` says."""

    def quantile(self, p: float) -> float:
        """Return the smallest delay j with P(tau <= j) >= `p`, or inf if there is none."""
        if not 0 <= p <= 1:
            raise ValueError(f"p must lie in [0, 1], got {p}.")
        arrives = 1 - self._never
        if p > arrives or arrives == 0:
            return math.inf
        return float(self.quantiles(np.array([min(1.0, p / arrives)]))[0])

    def at(self, u: Floats) -> Ints:
        """Return the delays at the uniform numbers `u` in [0, 1), in an array of the same shape."""
        u = np.asarray(u, dtype=np.float64)
        if not ((u >= 0) & (u < 1)).all():
            raise ValueError(f"u must lie in [0, 1), got {u}.")
        lost = u < self._never
        rest = np.zeros_like(u)
        np.divide(u - self._never, 1 - self._never, out=rest, where=~lost)
        delays = self.quantiles(np.minimum(rest, _BELOW_ONE).ravel()).reshape(u.shape)
        wrong = ~((delays >= 0) & (delays == np.floor(delays)))
        if wrong.any():
            raise ValueError(
                f"quantiles of law {self.name!r} must be whole numbers of at least 0, or inf, "
                f"got {delays[wrong][0]}."
            )
        return np.where(lost | (delays >= NEVER), float(NEVER), delays).astype(np.int64)

    def draw(self, *, seed: int, episodes: int, first: int = 1, step: int = 0) -> Ints:
        """Draw the delays of consecutive episodes.

        Parameters
        ----------
        seed : int
            Seed of the run, in 0 .. 2**64 - 1.
        episodes : int
            Number of delays.
        first : int
            Number of the first episode, at least 1.
        step : int
            Step, from 0, for delays that differ within an episode. Step 0 has the delay of the
            episode.

        Returns
        -------
        ndarray of int64
            tau_first, ..., tau_{first + episodes - 1}, in episodes; `NEVER` for feedback that
            never arrives.
        """
        u = np.empty(check_integer("episodes", episodes, 0))
        key = np.uint64(check_seed(seed))
        _fill_uniforms(key, check_integer("first", first, 1), check_integer("step", step, 0), u)
        return self.at(u)


@kernel
def _fill_uniforms(seed: Any, first: int, step: int, u: Floats) -> None:
    """Fill `u` with the uniform numbers of the delays from episode `first` on."""
    for j in range(u.size):
        u[j] = uniform_at(seed, DELAY, first + j, step)


def constant(mean: float) -> Law:
    """Return the law of a constant delay of `mean` episodes, a whole number of at least 0.

    >>> constant(3).draw(seed=7, episodes=2)
    array([3, 3])
    """
    mean = _check_mean("constant", mean)
    if mean != math.floor(mean):
        raise ValueError(f"mean of a constant delay must be a whole number, got {mean}.")
    return Law(f"constant:{_format_number(mean)}", mean, partial(_constant_quantiles, mean))


def uniform(mean: float) -> Law:
    """Return the uniform law on 0, 1, ..., 2 `mean` episodes.

    >>> uniform(2.5).quantile(1.0)
    5.0
    """
    mean = _check_mean("uniform", mean)
    if 2 * mean != math.floor(2 * mean):
        raise ValueError(
            "mean of a uniform delay must be half of a whole number, since delays lie in "
            f"0 .. 2 mean, got {mean}."
        )
    quantiles = partial(_uniform_quantiles, int(2 * mean) + 1)
    return Law(f"uniform:{_format_number(mean)}", mean, quantiles)


def poisson(mean: float) -> Law:
    """Return the Poisson law with expected delay `mean`, in episodes.

    >>> poisson(30).quantile(0.5)
    30.0
    """
    mean = _check_mean("poisson", mean)
    quantiles = partial(_poisson_quantiles if mean > 0 else _constant_quantiles, mean)
    return Law(f"poisson:{_format_number(mean)}", mean, quantiles)


def geometric(mean: float) -> Law:
    """Return the geometric law with expected delay `mean`, in episodes.

    P(tau = j) = p (1 - p)^j for j = 0, 1, ..., with p = 1 / (1 + mean).

    >>> geometric(100)
    Law(name='geometric:100', mean=100.0)
    """
    mean = _check_mean("geometric", mean)
    quantiles = partial(_geometric_quantiles if mean > 0 else _constant_quantiles, mean)
    return Law(f"geometric:{_format_number(mean)}", mean, quantiles)


def empirical(samples: ArrayLike, *, name: str | None = None) -> Law:
    """Return the law that draws each of the observed delays with the same probability.

    Parameters
    ----------
    samples : array_like
        Delays in episodes, whole numbers of at least 0; inf for feedback that never arrived.
    name : str, optional
        Name of the law; by default "empirical:" and a checksum of the samples.

    Returns
    -------
    Law

    Examples
    --------
    >>> empirical([3, 3, 8, math.inf]).quantile(0.75)
    8.0
    """
    values = np.sort(np.asarray(samples, dtype=np.float64).ravel())
    if values.size == 0:
        raise ValueError("samples must hold at least one delay, got none.")
    wrong = ~((values >= 0) & (values == np.floor(values)))
    if wrong.any():
        raise ValueError(
            "samples must be whole numbers of at least 0, or inf for never, "
            f"got {values[wrong][0]}."
        )
    values[values >= NEVER] = math.inf
    name = name or f"empirical:{zlib.crc32(values.astype('<f8').tobytes()):08x}"
    return Law(name, float(values.mean()), partial(_empirical_quantiles, values))


def from_scipy(frozen: Any, *, name: str | None = None) -> Law:
    """Return the law of a discrete distribution of scipy.stats on 0, 1, 2, ... episodes.

    Parameters
    ----------
    frozen : scipy.stats.rv_frozen
        Discrete distribution with its parameters, such as `scipy.stats.nbinom(5, 0.1)`.
    name : str, optional
        Name of the law; by default the distribution and its parameters.

    Returns
    -------
    Law

    Raises
    ------
    TypeError, ValueError
        If `frozen` is not one discrete distribution of numbers that are at least 0.

    Examples
    --------
    >>> from scipy import stats
    >>> from_scipy(stats.nbinom(5, 0.1))
    Law(name='nbinom(5, 0.1)', mean=45.0)
    """
    from scipy import stats

    dist = getattr(frozen, "dist", None)
    if isinstance(dist, stats.rv_continuous):
        raise ValueError(
            "frozen must be a discrete distribution such as scipy.stats.nbinom(5, 0.1), since a "
            f"delay is a whole number of episodes, got {_format_frozen(frozen)}."
        )
    if not isinstance(dist, stats.rv_discrete):
        raise TypeError(
            "frozen must be a frozen discrete distribution such as scipy.stats.nbinom(5, 0.1), "
            f"got {frozen!r}."
        )
    lowest, _ = frozen.support()
    if np.ndim(lowest) or math.isnan(lowest):
        raise ValueError(
            "frozen must have single numbers that scipy allows as parameters, "
            f"got {_format_frozen(frozen)}."
        )
    if lowest < 0:
        raise ValueError(
            "frozen must be a distribution of numbers that are at least 0, "
            f"got {_format_frozen(frozen)}, whose smallest is {lowest}."
        )
    quantiles = partial(_scipy_quantiles, frozen)
    return Law(name or _format_frozen(frozen), float(frozen.mean()), quantiles)


def never(probability: float, otherwise: Law) -> Law:
    """Return the law of feedback that never arrives with this `probability`.

    `otherwise` is the law of the feedback that does arrive.

    >>> never(0.1, otherwise=poisson(30))
    Law(name='never:0.1:poisson:30', mean=inf)
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in [0, 1], got {probability}.")
    return Law(
        f"never:{_format_number(probability)}:{otherwise.name}",
        math.inf if probability > 0 else otherwise.mean,
        otherwise.quantiles,
        probability + (1 - probability) * otherwise._never,
    )


_BY_MEAN: Final[dict[str, Callable[[float], Law]]] = {
    "constant": constant,
    "uniform": uniform,
    "poisson": poisson,
    "geometric": geometric,
}


def parse(text: str) -> Law:
    """Return the law that `text` names.

    It is one of constant:MEAN, uniform:MEAN, poisson:MEAN, geometric:MEAN and
    never:PROBABILITY:LAW.

    >>> parse("uniform:2.5") == uniform(2.5)
    True
    """
    kind, _, rest = text.partition(":")
    if kind == "never":
        first, _, other = rest.partition(":")
        probability = _parse_float(first)
        if probability is not None and other:
            return never(probability, otherwise=parse(other))
    elif kind in _BY_MEAN:
        mean = _parse_float(rest)
        if mean is not None:
            return _BY_MEAN[kind](mean)
    known = ", ".join(f"{word}:MEAN" for word in _BY_MEAN)
    raise ValueError(
        f"delay must be {known} or never:PROBABILITY:DELAY, "
        f"such as geometric:100 or never:0.1:poisson:30, got {text!r}."
    )


def longest_delay(delays: Sequence[int] | Ints) -> float:
    """Return the largest of `delays` as an integer, or inf if one of them is `NEVER`.

    >>> longest_delay([3, 0, 7]), longest_delay([3, NEVER])
    (7, inf)
    """
    largest = int(np.max(np.asarray(delays, dtype=np.int64), initial=0))
    return math.inf if largest >= NEVER else largest


def _check_mean(kind: str, mean: float) -> float:
    """Return `mean` as a float if it is the mean of a delay, else raise an error."""
    if isinstance(mean, bool) or not isinstance(mean, int | float | np.integer | np.floating):
        raise TypeError(f"mean of a {kind} delay must be a number, got {mean!r}.")
    if not 0 <= mean <= MAX_MEAN_DELAY:
        raise ValueError(f"mean of a {kind} delay must lie in 0 .. 2**53, got {mean}.")
    return float(mean)


def _format_number(x: float) -> str:
    """Return `x` without a decimal point if it is a whole number."""
    return str(int(x)) if x == math.floor(x) else repr(float(x))


def _parse_float(text: str) -> float | None:
    """Return `text` as a float, or None if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return None


def _format_frozen(frozen: Any) -> str:
    """Return the name of a scipy distribution with its parameters."""
    arguments = [f"{x}" for x in frozen.args] + [f"{key}={x}" for key, x in frozen.kwds.items()]
    return f"{frozen.dist.name}({', '.join(arguments)})"


# Quantile functions for `partial`, at the top level of the module so that a law can be pickled.


def _constant_quantiles(value: float, p: Floats) -> Floats:
    return np.full_like(p, value)


def _uniform_quantiles(n: int, p: Floats) -> Floats:
    """Return the smallest j in 0 .. `n` - 1 with (j + 1) / n >= `p`, in spite of rounding."""
    j = np.clip(np.ceil(p * n) - 1, 0, n - 1)
    too_high = (j > 0) & (j / n >= p)
    too_low = (j < n - 1) & ((j + 1) / n < p)
    result: Floats = j - too_high + too_low
    return result


def _empirical_quantiles(values: Floats, p: Floats) -> Floats:
    return values[_uniform_quantiles(values.size, p).astype(np.int64)]


def _poisson_quantiles(mean: float, p: Floats) -> Floats:
    from scipy import stats

    result: Floats = np.maximum(stats.poisson.ppf(p, mean), 0.0)  # ppf(0) is -1
    return result


def _scipy_quantiles(frozen: Any, p: Floats) -> Floats:
    result: Floats = np.maximum(
        frozen.ppf(p), frozen.support()[0]
    )  # ppf(0) is the lowest value - 1
    return result


def _geometric_quantiles(mean: float, p: Floats) -> Floats:
    delays = np.empty_like(p)
    _fill_geometric_quantiles(-math.log1p(1 / mean), p, delays)
    return delays


@kernel
def _fill_geometric_quantiles(log_q: float, p: Floats, delays: Floats) -> None:
    """Fill `delays` with the smallest j such that P(tau <= j) = 1 - q^(j + 1) >= `p`.

    `log_q` is the logarithm of q = 1 - 1 / (1 + mean). `math.log1p` gives the same bits
    compiled and interpreted.
    """
    for i in range(p.size):
        if p[i] == 1.0:
            delays[i] = math.inf
            continue
        j = max(0.0, np.ceil(math.log1p(-p[i]) / log_q) - 1.0)
        if j > 0.0 and -math.expm1(j * log_q) >= p[i]:
            j -= 1.0
        elif -math.expm1((j + 1.0) * log_q) < p[i]:
            j += 1.0
        delays[i] = j
