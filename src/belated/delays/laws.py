"""Delay laws: probability distributions of the delay of an episode's feedback.

A law is defined by its quantile function. The delay tau_i of episode i is the quantile at a
uniform random number that is determined by the seed and by i. It does not depend on the other
delays that are drawn. Delays are measured in episodes.

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
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from belated.check import check_integer
from belated.compiled import kernel
from belated.delays.selector import ONE_GROUP, Selector, group_of
from belated.episode import Episode, Floats, Ints
from belated.names import Names
from belated.randomness import DELAY, check_seed
from belated.randomness import uniform as uniform_at
from belated.shape import Shape

NEVER: Final = 2**62
"""Delay of feedback that never arrives. The sum of this delay and the number of an episode does not
overflow an int64."""

MAX_MEAN_DELAY: Final = 2**53
"""Largest mean of a built-in law, in episodes; larger integers are not exact as floats."""

MIN_TABLE_DRAWS: Final = 1_000
"""Number of quantiles of a Poisson law from which on they are read from a table, which is about ten
times as fast as computing each of them."""

MAX_TABLE_MEAN: Final = 10_000
"""Largest mean of a Poisson law whose quantiles are read from a table."""

LIMIT_ERROR: Final = 2.0**-43
"""Distance of a probability from an entry of the table up to which its quantile is computed instead
of read, because of rounding errors of at most 12 * 2**-53."""

BELOW_ONE: Final = math.nextafter(1.0, 0.0)

QuantileFunction = Callable[[Floats], Floats]
"""Function that maps an array of probabilities in [0, 1] to an array of delays, elementwise."""


@dataclass(frozen=True)
class Law:
    """Probability distribution of a delay, which is 0, 1, 2, ... episodes or infinite.

    Laws with the same name and mean compare equal, so the name must identify the law.

    >>> die = Law("die", 3.5, lambda p: np.maximum(np.ceil(6 * p), 1))
    >>> die.quantile(0.5)
    3.0
    """

    name: str
    """Name that appears in results, such as "geometric:100"."""
    mean: float
    """Expected delay in episodes; inf if feedback may never arrive, and nan if the delay depends on
    what is played, so that it has no expectation before."""
    quantiles: QuantileFunction = field(repr=False, compare=False)
    """Quantile function. For each p > 0 it returns the smallest j with P(tau <= j) >= p, or inf if
    there is no such j; for p = 0 it returns the smallest possible delay. A law can be pickled only
    if this function can, which excludes a lambda."""
    stationary: ClassVar[bool] = True
    """Whether the delays of all episodes have the same distribution. A subclass whose `draw`
    depends on the number of the episode sets this to False; its mean and its quantiles are then
    those of all episodes together. See `with_calendar`."""
    dependent: ClassVar[bool] = False
    """Whether the delay of an episode depends on what is played in it; see `by_action`."""
    period: ClassVar[int] = 1
    """Number of episodes after which the distributions of the delays repeat."""
    settled: ClassVar[int] = 1
    """Number of the first episode from which on the distributions repeat; the mean and the
    quantiles are those of the episodes from there on."""
    _never: float = field(default=0.0, repr=False)
    """Probability that feedback never arrives. With the remaining probability, `quantiles` defines
    the delay."""

    def quantile(self, p: float) -> float:
        """Return the smallest delay j with P(tau <= j) >= `p`, or inf if there is no such j."""
        if not 0 <= p <= 1:
            raise ValueError(f"p must lie in [0, 1], got {p}.")
        arrives = 1 - self._never
        if p > arrives or arrives == 0:
            return math.inf
        return float(self.quantiles(np.array([min(1.0, p / arrives)]))[0])

    def at(self, u: Floats) -> Ints:
        """Return the delay for each uniform random number in `u`, in an array of the same shape.

        The numbers must lie in [0, 1). A delay is `NEVER` if the feedback never arrives.
        """
        u = np.asarray(u, dtype=np.float64)
        if not ((u >= 0) & (u < 1)).all():
            raise ValueError(f"u must lie in [0, 1), got {u}.")
        lost = u < self._never
        rest = np.zeros_like(u)
        np.divide(u - self._never, 1 - self._never, out=rest, where=~lost)
        delays = self.quantiles(np.minimum(rest, BELOW_ONE).ravel()).reshape(u.shape)
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
            Number of episodes, at least 0.
        first : int
            Number of the first episode, at least 1.
        step : int
            Number of the step, from 0, if each step of an episode has its own delay. Use the
            default 0 for the delay of a whole episode.

        Returns
        -------
        ndarray of int64
            Delays of the episodes `first`, ..., `first + episodes - 1`, measured in episodes;
            `NEVER` for feedback that never arrives.
        """
        u = np.empty(check_integer("episodes", episodes, 0))
        key = np.uint64(check_seed(seed))
        _fill_uniforms(key, check_integer("first", first, 1), check_integer("step", step, 0), u)
        return self.at(u)

    def at_episodes(self, numbers: Ints, u: Floats) -> Ints:
        """Return the delay of each of the episodes `numbers` for its uniform random number in `u`.

        Unless the law depends on the number of the episode, this is `at(u)`.
        """
        return self.at(u)

    @property
    def groups(self) -> tuple["Law", ...]:
        """Laws from which one is selected for each played episode; only this one, usually."""
        return (self,)

    def selector(self, shape: Shape) -> Selector:
        """Return the rule that selects one of `groups` in problems of size `shape`.

        Raises ValueError if the law does not fit the shape, as when it has no law for an action.
        """
        return ONE_GROUP

    def draw_for(self, episode: Episode, *, shape: Shape, seed: int, step: int = 0) -> int:
        """Draw the delay of a played episode.

        Parameters
        ----------
        episode : Episode
            Played episode; its id is the number of the episode, at least 1.
        shape : Shape
            Size of the problem.
        seed : int
            Seed of the run, in 0 .. 2**64 - 1.
        step : int
            Number of the step, from 0, if each step of an episode has its own delay.

        Returns
        -------
        int
            Delay in episodes; `NEVER` if the feedback never arrives.
        """
        law = self.groups[group_of(self.selector(shape), episode, shape)]
        return int(law.draw(seed=seed, episodes=1, first=episode.id, step=step)[0])

    def _with_losses(self, probability: float, name: str) -> "Law":
        """Return this law with a share of `probability` of the feedback lost, called `name`."""
        mean, lost = self._mean_and_share_lost(probability)
        return Law(name, mean, self.quantiles, lost)

    def _mean_and_share_lost(self, probability: float) -> tuple[float, float]:
        """Return the mean and the share of feedback lost if `probability` is lost in addition."""
        mean = math.inf if probability > 0 else self.mean
        return mean, probability + (1 - probability) * self._never


@kernel
def _fill_uniforms(seed: Any, first: int, step: int, u: Floats) -> None:
    """Fill `u` with the uniform random numbers from which delays are computed.

    `u[j]` belongs to `step` of episode `first + j`. `seed` is the seed of the run.
    """
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
    return Law(f"constant:{format_number(mean)}", mean, partial(np.full_like, fill_value=mean))


def uniform(mean: float) -> Law:
    """Return the uniform law on 0, 1, ..., 2 * `mean` episodes; 2 * `mean` must be an integer.

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
    return Law(f"uniform:{format_number(mean)}", mean, quantiles)


def poisson(mean: float) -> Law:
    """Return the Poisson law with expected delay `mean`, in episodes.

    >>> poisson(30).quantile(0.5)
    30.0
    """
    mean = _check_mean("poisson", mean)
    if mean == 0:
        return replace(constant(0), name="poisson:0")
    return Law(f"poisson:{format_number(mean)}", mean, partial(_poisson_quantiles, mean))


def geometric(mean: float) -> Law:
    """Return the geometric law with expected delay `mean`, in episodes.

    P(tau = j) = p (1 - p)^j for j = 0, 1, ..., with p = 1 / (1 + mean).

    >>> geometric(100)
    Law(name='geometric:100', mean=100.0)
    """
    mean = _check_mean("geometric", mean)
    if mean == 0:
        return replace(constant(0), name="geometric:0")
    return Law(f"geometric:{format_number(mean)}", mean, partial(_geometric_quantiles, mean))


def empirical(samples: ArrayLike, *, name: str | None = None) -> Law:
    """Return the empirical distribution of observed delays as a law.

    Parameters
    ----------
    samples : array_like
        Delays in episodes, whole numbers of at least 0; inf for feedback that never arrived.
    name : str, optional
        Name of the law; by default "empirical:" and a checksum of the samples.

    Returns
    -------
    Law
        Law that draws each entry of `samples` with the same probability.

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
    return Law(name, float(values.mean()), partial(empirical_quantiles, values))


def from_scipy(frozen: Any, *, name: str | None = None) -> Law:
    """Return the delay law whose distribution is the discrete distribution `frozen` of scipy.stats.

    Parameters
    ----------
    frozen : scipy.stats.rv_frozen
        Frozen discrete distribution on 0, 1, 2, ..., such as `scipy.stats.nbinom(5, 0.1)`. A value
        is a delay in episodes.
    name : str, optional
        Name of the law; by default the name and the parameters of the distribution.

    Returns
    -------
    Law

    Raises
    ------
    TypeError
        If `frozen` is not a frozen distribution of scipy.stats.
    ValueError
        If the distribution is continuous, has invalid or array-valued parameters, or has values
        below 0.

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
            "frozen must have scalar parameters that are valid for its distribution, "
            f"got {_format_frozen(frozen)}."
        )
    if lowest < 0:
        raise ValueError(
            "frozen must be a distribution of numbers that are at least 0, "
            f"got {_format_frozen(frozen)}, whose smallest is {lowest}."
        )
    quantiles = partial(_scipy_quantiles, frozen)
    return Law(name or _format_frozen(frozen), float(frozen.mean()), quantiles)


def never(probability: float, otherwise: Law | str) -> Law:
    """Return the law under which feedback never arrives with this `probability`.

    Otherwise the delay is drawn from the law `otherwise`, a law or its name.

    >>> never(0.1, otherwise=poisson(30))
    Law(name='never:0.1:poisson:30', mean=inf)
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in [0, 1], got {probability}.")
    return with_losses(check_law("otherwise", otherwise), probability)


def with_losses(law: Law, probability: float) -> Law:
    """Return `law` with a share of `probability` of the feedback lost, with the name of `never`."""
    return law._with_losses(probability, f"never:{format_number(probability)}:{law.name}")


LAWS: Final[dict[str, Callable[..., Law]]] = {
    "constant": constant,
    "uniform": uniform,
    "poisson": poisson,
    "geometric": geometric,
}
"""Map from the name of each built-in law to the function that returns the law for given parameters.
Register a new law here."""

FORMS: Final = {
    "never": ("never:PROBABILITY:DELAY", "never:0.1:poisson:30"),
    "mixture": ("mixture:WEIGHT=DELAY,...", "mixture:0.2=constant:0,0.8=geometric:100"),
    "weekly": ("weekly:DAY[/WEEK]:DELAY", "weekly:7:geometric:20"),
    "by_time": ("by_time:EPISODES=DELAY,...", "by_time:100=geometric:10,20=outage"),
    "by_action": ("by_action:[STEP:]ACTION=DELAY,...", "by_action:0=constant:5,1=geometric:100"),
    "by_state": ("by_state:STEP:STATE=DELAY,...", "by_state:0:3=constant:5,else=geometric:100"),
    "by_return": ("by_return:RETURN=DELAY,...", "by_return:0=constant:5,0.5=geometric:100"),
}
"""Form and example of the names of laws that are made of other laws, by their first word."""

LAW_NAMES: Final[Names[Law]] = Names(
    "delay", (Law,), "a Law", LAWS, forms=[form for form, _ in FORMS.values()]
)
"""Parser of texts that name a delay law, except those of `FORMS`."""


def parse(text: str | Law) -> Law:
    """Return the law with the name `text`; raise ValueError if there is no such law.

    `text` has one of these forms, in which DELAY is again such a text, in parentheses if it
    contains a comma or an equals sign:

        constant:MEAN, uniform:MEAN, poisson:MEAN, geometric:MEAN
        never:PROBABILITY:DELAY               see `never`
        mixture:WEIGHT=DELAY,...              see `mixture`
        weekly:DAY[/WEEK]:DELAY               see `weekly`
        by_time:EPISODES=DELAY,...            see `by_time`
        by_action:[STEP:]ACTION=DELAY,...     see `by_action`
        by_state:STEP:STATE=DELAY,...         see `by_state`
        by_return:RETURN=DELAY,...            see `by_return`
        module:name                           your own law; see `belated.names`

    A law is returned unchanged.

    >>> parse("uniform:2.5") == uniform(2.5)
    True
    >>> parse("by_action:0=constant:5,1=(mixture:0.2=constant:0,0.8=geometric:100)").groups[0]
    Law(name='constant:5', mean=5.0)
    """
    if not isinstance(text, str) or text.partition(":")[0] not in FORMS:
        return LAW_NAMES.parse(text)
    from belated.delays.compound import parse_compound

    try:
        return parse_compound(text)
    except TypeError as error:
        raise ValueError(f"delay {text!r} is invalid: {error}") from error


def check_law(name: str, law: Law | str, *, independent: bool = False) -> Law:
    """Return a law that is given as an object or by its name.

    Parameters
    ----------
    name : str
        Name of the argument in error messages.
    law : Law or str
        Law or its name.
    independent : bool
        Whether to reject laws that depend on the played episode.

    Returns
    -------
    Law

    Raises
    ------
    TypeError
        If `law` is neither.
    ValueError
        If there is no law of this name, or the law depends on the played episode.
    """
    law = parse(law)
    if not isinstance(law, Law):
        raise TypeError(f"{name} must be a law or its name, got {law!r}.")
    if independent and law.dependent:
        raise ValueError(
            f"{name} must not depend on the played episode, got {law.name!r}; use by_action, "
            "by_state or by_return as the outermost law, or within weekly or never."
        )
    return law


def longest_delay(delays: Sequence[int] | Ints) -> float:
    """Return the largest of `delays` as an integer, or inf if a delay is `NEVER`.

    If `delays` is empty, return 0.

    >>> longest_delay([3, 0, 7]), longest_delay([3, NEVER])
    (7, inf)
    """
    largest = int(np.max(np.asarray(delays, dtype=np.int64), initial=0))
    return math.inf if largest >= NEVER else largest


def _check_mean(kind: str, mean: float) -> float:
    """Return `mean` as a float if it lies in 0 .. 2**53; otherwise raise an error.

    The error is a TypeError if `mean` is not a number, otherwise a ValueError. The message contains
    `kind`, the kind of the law, such as "poisson".
    """
    if isinstance(mean, bool) or not isinstance(mean, int | float | np.integer | np.floating):
        raise TypeError(f"mean of a {kind} delay must be a number, got {mean!r}.")
    if not 0 <= mean <= MAX_MEAN_DELAY:
        raise ValueError(f"mean of a {kind} delay must lie in 0 .. 2**53, got {mean}.")
    return float(mean)


def format_number(x: float) -> str:
    """Return `x` as text, without a decimal point if `x` is a whole number."""
    return str(int(x)) if math.isfinite(x) and x == math.floor(x) else repr(float(x))


def _format_frozen(frozen: Any) -> str:
    """Return the name and the parameters of the scipy distribution `frozen` as text."""
    arguments = [f"{x}" for x in frozen.args] + [f"{key}={x}" for key, x in frozen.kwds.items()]
    return f"{frozen.dist.name}({', '.join(arguments)})"


# Quantile functions for `partial`. They are at the top level of the module to be picklable.


def _uniform_quantiles(n: int, p: Floats) -> Floats:
    """Return the smallest j in 0 .. `n` - 1 with (j + 1) / n >= p, for each entry p of `p`.

    The result is corrected for rounding errors of the product p * n.
    """
    j = np.clip(np.ceil(p * n) - 1, 0, n - 1)
    too_high = (j > 0) & (j / n >= p)
    too_low = (j < n - 1) & ((j + 1) / n < p)
    result: Floats = j - too_high + too_low
    return result


def empirical_quantiles(values: Floats, p: Floats) -> Floats:
    """Return the quantiles of the sorted samples `values` at the probabilities `p`."""
    return values[_uniform_quantiles(values.size, p).astype(np.int64)]


def _poisson_quantiles(mean: float, p: Floats) -> Floats:
    if p.size < MIN_TABLE_DRAWS or mean > MAX_TABLE_MEAN:
        return _computed_poisson_quantiles(mean, p)
    limits = _poisson_limits(mean)
    result: Floats = np.searchsorted(limits, p).astype(np.float64)
    # Rounding errors could move a probability to the other side of a limit.
    at = result.astype(np.int64)
    ends = np.concatenate([[-np.inf], limits, [np.inf]])
    near = (p - ends[at] <= LIMIT_ERROR) | (ends[at + 1] - p <= LIMIT_ERROR)
    result[near] = _computed_poisson_quantiles(mean, p[near])
    return result


def _computed_poisson_quantiles(mean: float, p: Floats) -> Floats:
    from scipy import stats

    result: Floats = np.maximum(stats.poisson.ppf(p, mean), 0.0)  # ppf(0) is -1
    return result


@cache
def _poisson_limits(mean: float) -> Floats:
    """Return the probabilities of a delay of at most 0, 1, 2, ... under the Poisson law.

    The table ends where these probabilities are 1, up to rounding errors. `mean` is the expected
    delay.
    """
    from scipy import stats

    limits: Floats = stats.poisson.cdf(np.arange(mean + 12 * math.sqrt(mean) + 30), mean)
    return limits


def _scipy_quantiles(frozen: Any, p: Floats) -> Floats:
    lowest, _ = frozen.support()
    result: Floats = np.maximum(frozen.ppf(p), lowest)  # ppf(0) is the lowest value - 1
    return result


def _geometric_quantiles(mean: float, p: Floats) -> Floats:
    delays = np.empty_like(p)
    _fill_geometric_quantiles(-math.log1p(1 / mean), p, delays)
    return delays


@kernel
def _fill_geometric_quantiles(log_q: float, p: Floats, delays: Floats) -> None:
    """Fill `delays` with the smallest j such that P(tau <= j) = 1 - q^(j + 1) >= p.

    There is one j for each entry p of `p`; it is infinite for p = 1. `log_q` is the logarithm of
    q = 1 - 1 / (1 + E[tau]). `math.log1p` is used because its results are bit-identical in compiled
    code and in Python.
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
