"""Delay laws: how late the feedback of an episode comes.

A law is its quantile function. tau_i, the delay of episode i, is the quantile at the uniform
addressed by (seed, DELAY, i), so it depends neither on who asks nor on how many are asked for.

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

from belated.compiled import kernel
from belated.episode import Floats, Ints, check_integer
from belated.randomness import DELAY, check_seed
from belated.randomness import uniform as uniform_at

NEVER: Final = 2**62
"""The delay of an episode that never returns; adding an episode's number does not overflow."""

LARGEST_MEAN: Final = 2**53
"""Beyond it whole numbers are no longer exact as floats, and delays come close to NEVER."""

_BELOW_ONE: Final = math.nextafter(1.0, 0.0)

Inverse = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Law:
    """A distribution over delays 0, 1, 2, ... and never.

    `quantiles` is the quantile function: for p in [0, 1] the smallest j with
    P(tau <= j) >= p (at p = 0 the least delay), inf where there is none. Two laws of one name
    and mean count as equal, so a name must tell what the law is.
    """

    name: str
    mean: float  # inf if the feedback may never return
    quantiles: Inverse = field(repr=False, compare=False)
    _lost: float = field(default=0.0, repr=False)  # probability of never, ahead of `quantiles`

    def quantile(self, p: float) -> float:
        """The smallest j with P(tau <= j) >= p; inf if there is none."""
        if not 0 <= p <= 1:
            raise ValueError(f"p is {p}; a quantile is asked for at a number in [0, 1].")
        kept = 1 - self._lost
        if p > kept or kept == 0:
            return math.inf
        return float(self.quantiles(np.array([min(1.0, p / kept)]))[0])

    def at(self, u: Floats) -> Ints:
        """The delays that the uniforms `u` in [0, 1) stand for."""
        u = np.asarray(u, dtype=np.float64)
        if not ((u >= 0) & (u < 1)).all():
            raise ValueError(f"u is {u}; every uniform must lie in [0, 1).")
        lost = u < self._lost
        rest = np.zeros_like(u)
        np.divide(u - self._lost, 1 - self._lost, out=rest, where=~lost)
        delays = self.quantiles(np.minimum(rest, _BELOW_ONE).ravel()).reshape(u.shape)
        wrong = ~((delays >= 0) & (delays == np.floor(delays)))
        if wrong.any():
            raise ValueError(
                f"law {self.name!r} gave the delay {delays[wrong][0]}; "
                "a delay is a whole number of at least 0, or inf."
            )
        return np.where(lost | (delays >= NEVER), float(NEVER), delays).astype(np.int64)

    def draw(self, *, seed: int, episodes: int, first: int = 1, step: int = 0) -> Ints:
        """tau_first, ..., tau_{first + episodes - 1} under this seed.

        `step` is for steps with delays of their own; that of the first step is the episode's.
        """
        u = np.empty(check_integer("episodes", episodes, 0))
        key = np.uint64(check_seed(seed))
        _fill(key, check_integer("first", first, 1), check_integer("step", step, 0), u)
        return self.at(u)


@kernel
def _fill(seed: Any, first: int, step: int, u: Floats) -> None:
    for j in range(u.size):
        u[j] = uniform_at(seed, DELAY, first + j, step)


def constant(mean: float) -> Law:
    """tau = mean."""
    mean = _check_mean("constant", mean)
    if mean != math.floor(mean):
        raise ValueError(f"mean of a constant delay is {mean}; it must be a whole number.")
    return Law(f"constant:{_plain(mean)}", mean, partial(_constant, mean))


def uniform(mean: float) -> Law:
    """tau uniform on {0, 1, ..., 2 mean}."""
    mean = _check_mean("uniform", mean)
    if 2 * mean != math.floor(2 * mean):
        raise ValueError(
            f"mean of a uniform delay is {mean}; twice the mean must be a whole number, "
            "since delays lie in 0 .. 2 mean."
        )
    return Law(f"uniform:{_plain(mean)}", mean, partial(_rank, int(2 * mean) + 1))


def poisson(mean: float) -> Law:
    """tau ~ Poisson(mean)."""
    mean = _check_mean("poisson", mean)
    inverse = partial(_poisson if mean > 0 else _constant, mean)
    return Law(f"poisson:{_plain(mean)}", mean, inverse)


def geometric(mean: float) -> Law:
    """P(tau = j) = p (1 - p)^j for j = 0, 1, ..., with p = 1 / (1 + mean)."""
    mean = _check_mean("geometric", mean)
    inverse = partial(_geometric if mean > 0 else _constant, mean)
    return Law(f"geometric:{_plain(mean)}", mean, inverse)


def empirical(samples: ArrayLike, *, name: str | None = None) -> Law:
    """Observed delays, each as likely as the next; inf for feedback that never returned.

    >>> empirical([3, 3, 8, math.inf]).quantile(0.75)
    8.0
    """
    values = np.sort(np.asarray(samples, dtype=np.float64).ravel())
    if values.size == 0:
        raise ValueError("samples is empty; an empirical law needs at least one delay.")
    wrong = ~((values >= 0) & (values == np.floor(values)))
    if wrong.any():
        raise ValueError(
            f"samples holds {values[wrong][0]}; "
            "a delay is a whole number of at least 0, or inf for never."
        )
    values[values >= NEVER] = math.inf
    name = name or f"empirical:{zlib.crc32(values.astype('<f8').tobytes()):08x}"
    return Law(name, float(values.mean()), partial(_empirical, values))


def from_scipy(frozen: Any, *, name: str | None = None) -> Law:
    """Any frozen discrete distribution of scipy.stats on 0, 1, 2, ...

    >>> from scipy import stats
    >>> from_scipy(stats.nbinom(5, 0.1))
    Law(name='nbinom(5, 0.1)', mean=45.0)
    """
    from scipy import stats

    dist = getattr(frozen, "dist", None)
    if isinstance(dist, stats.rv_continuous):
        raise ValueError(
            f"{_called(frozen)} is continuous; a delay is a whole number of episodes, "
            "so its law must be a discrete distribution such as scipy.stats.nbinom(5, 0.1)."
        )
    if not isinstance(dist, stats.rv_discrete):
        raise TypeError(
            "a law is made from a frozen discrete distribution such as "
            f"scipy.stats.nbinom(5, 0.1), not from {frozen!r}."
        )
    lowest, _ = frozen.support()
    if np.ndim(lowest) or math.isnan(lowest):
        raise ValueError(
            f"{_called(frozen)} is not one distribution; "
            "its parameters must be single numbers that scipy allows."
        )
    if lowest < 0:
        raise ValueError(
            f"{_called(frozen)} can be as low as {lowest}; a delay must be at least 0."
        )
    return Law(name or _called(frozen), float(frozen.mean()), partial(_scipy, frozen))


def never(probability: float, otherwise: Law) -> Law:
    """No return with this probability, and `otherwise` in the other cases."""
    if not 0 <= probability <= 1:
        raise ValueError(f"probability is {probability}; it must lie in [0, 1].")
    return Law(
        f"never:{_plain(probability)}:{otherwise.name}",
        math.inf if probability > 0 else otherwise.mean,
        otherwise.quantiles,
        probability + (1 - probability) * otherwise._lost,
    )


_BY_MEAN: Final[dict[str, Callable[[float], Law]]] = {
    "constant": constant,
    "uniform": uniform,
    "poisson": poisson,
    "geometric": geometric,
}


def parse(text: str) -> Law:
    """The law that a person wrote, by its name.

    >>> parse("uniform:2.5") == uniform(2.5)
    True
    """
    kind, _, rest = text.partition(":")
    if kind == "never":
        first, _, other = rest.partition(":")
        probability = _number(first)
        if probability is not None and other:
            return never(probability, otherwise=parse(other))
    elif kind in _BY_MEAN:
        mean = _number(rest)
        if mean is not None:
            return _BY_MEAN[kind](mean)
    known = ", ".join(f"{word}:MEAN" for word in _BY_MEAN)
    raise ValueError(
        f"delay {text!r} is not understood; write {known} or never:PROBABILITY:DELAY, "
        "for example geometric:100 or never:0.1:poisson:30."
    )


def longest(delays: Sequence[int] | Ints) -> float:
    """The largest of these delays, as a whole number; inf if any episode never returns.

    >>> longest([3, 0, 7]), longest([3, NEVER])
    (7, inf)
    """
    most = int(np.max(np.asarray(delays, dtype=np.int64), initial=0))
    return math.inf if most >= NEVER else most


def _check_mean(kind: str, mean: float) -> float:
    if isinstance(mean, bool) or not isinstance(mean, int | float | np.integer | np.floating):
        raise TypeError(f"mean of a {kind} delay must be a number, not {mean!r}.")
    if not 0 <= mean <= LARGEST_MEAN:
        raise ValueError(f"mean of a {kind} delay is {mean}; it must lie in 0 .. 2**53.")
    return float(mean)


def _plain(x: float) -> str:
    return str(int(x)) if x == math.floor(x) else repr(float(x))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _called(frozen: Any) -> str:
    arguments = [f"{x}" for x in frozen.args] + [f"{key}={x}" for key, x in frozen.kwds.items()]
    return f"{frozen.dist.name}({', '.join(arguments)})"


# Quantile functions, to be bound by `partial`: a law can then be sent to another process.


def _constant(value: float, p: Floats) -> Floats:
    return np.full_like(p, value)


def _rank(n: int, p: Floats) -> Floats:
    """The smallest j in 0 .. n - 1 with (j + 1) / n >= p, in spite of rounding in p * n."""
    j = np.clip(np.ceil(p * n) - 1, 0, n - 1)
    too_high = (j > 0) & (j / n >= p)
    too_low = (j < n - 1) & ((j + 1) / n < p)
    result: Floats = j - too_high + too_low
    return result


def _empirical(values: Floats, p: Floats) -> Floats:
    return values[_rank(values.size, p).astype(np.int64)]


def _poisson(mean: float, p: Floats) -> Floats:
    from scipy import stats

    result: Floats = np.maximum(stats.poisson.ppf(p, mean), 0.0)  # ppf(0) is -1
    return result


def _scipy(frozen: Any, p: Floats) -> Floats:
    result: Floats = np.maximum(frozen.ppf(p), frozen.support()[0])  # ppf(0) is one below
    return result


def _geometric(mean: float, p: Floats) -> Floats:
    delays = np.empty_like(p)
    _invert_geometric(-math.log1p(1 / mean), p, delays)
    return delays


@kernel
def _invert_geometric(log_q: float, p: Floats, delays: Floats) -> None:
    """P(tau <= j) = 1 - q^(j + 1); `math.log1p` gives the same bits compiled or not."""
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
