"""Comparison of all bases and updaters by the order of their regret and by their regret bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from belated.episode import Shape
from belated.theory.alternatives import explicit_exploration, multi_instance
from belated.theory.bonus import BASES
from belated.theory.regret import Regret, theorem_1, theorem_2
from belated.theory.table import RowNumbers, evaluate_row, find_row
from belated.theory.validation import check_alpha, check_delta, check_episodes, check_mean_delay

Updating = Literal["active", "lazy", "multi", "explicit"]

MAX_EPISODES: Final = 10**18
"""Largest number of episodes K at which the delay term of a regret is compared with its leading
term."""


@dataclass(frozen=True)
class Guarantee:
    """Order of the regret of one base with one updater, and its regret bound."""

    base: str | None
    """Name of the base; None for explicit exploration, whose order is the same for all bases."""
    updating: Updating
    """Name of the updater: "active", "lazy", "multi" (multi-instance) or "explicit"."""
    order: Regret
    """Order of the regret, without constants. An order can be compared only with other orders."""
    order_fades: int | None
    """Smallest number of episodes K from which on the delay term of `order` is below its leading
    term. It is 1 if the delay term is below at every K, and None if there is no such K up to
    `MAX_EPISODES`."""
    bound: Regret | None = None
    """Regret bound with constants, or None if no theorem gives one."""
    bound_fades: int | None = None
    """Smallest number of episodes K from which on the delay term of `bound` is below its leading
    term. The leading term includes all terms that do not depend on the delay. The number is 1 if
    the delay term is below at every K, and None if there is no bound, or no such K up to
    `MAX_EPISODES`."""


def compare(
    shape: Shape,
    *,
    episodes: int,
    mean_delay: float,
    alpha: float = 10,
    delta: float = 0.05,
    longest_delay: float | None = None,
) -> tuple[Guarantee, ...]:
    """Return the regret orders and regret bounds of all combinations of bases and updaters.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    episodes : int
        Number of episodes K, at least 1.
    mean_delay : float
        Mean delay E[tau] in episodes, at least 0; may be infinite.
    alpha : float
        Parameter alpha of lazy updating, at least 1; infinity is active updating.
    delta : float
        Probability that a bound fails, in (0, 1).
    longest_delay : float, optional
        Longest delay tau_max in episodes, used for explicit exploration. If None, it is set to
        `mean_delay`, its smallest possible value.

    Returns
    -------
    tuple of Guarantee
        For each base, one entry each for active, lazy and multi-instance updating. The last entry
        is explicit exploration, whose order is the same for every base.

    Examples
    --------
    >>> chain = Shape(states=30, actions=2, horizon=30)
    >>> guarantees = compare(chain, episodes=100_000, mean_delay=300)
    >>> with_base = guarantees[:-1]  # the order of explicit exploration needs the longest delay
    >>> smallest = min(with_base, key=lambda guarantee: guarantee.order.total)
    >>> smallest.base, smallest.updating
    ('ucrl2', 'active')
    """
    K = check_episodes(episodes)
    mean = check_mean_delay(mean_delay)
    alpha, delta = check_alpha(alpha), check_delta(delta)
    longest = mean if longest_delay is None else longest_delay

    def row(base: str, K: int) -> RowNumbers:
        return evaluate_row(find_row(base), shape, K, mean, alpha)

    def active_order(base: str, K: int) -> Regret:
        return row(base, K).active

    def active_bound(base: str, K: int) -> Regret:
        return theorem_1(base, shape, episodes=K, mean_delay=mean, delta=delta)

    def lazy_order(base: str, K: int) -> Regret:
        return row(base, K).lazy

    def lazy_bound(base: str, K: int) -> Regret:
        return theorem_2(base, shape, episodes=K, mean_delay=mean, alpha=alpha, delta=delta)

    def multi_order(base: str, K: int) -> Regret:
        return multi_instance(base, shape, episodes=K, mean_delay=mean, delta=delta)

    def explicit_order(K: int) -> Regret:
        return explicit_exploration(shape, episodes=K, longest_delay=longest)

    guarantees = []
    for base in BASES:
        active = partial(active_order, base), partial(active_bound, base)
        lazy = partial(lazy_order, base), partial(lazy_bound, base)
        guarantees += [
            _evaluate(K, base, "active", *active),
            _evaluate(K, base, "lazy", *lazy),
            _evaluate(K, base, "multi", partial(multi_order, base)),
        ]
    return (*guarantees, _evaluate(K, None, "explicit", explicit_order))


def _evaluate(
    episodes: int,
    base: str | None,
    updating: Updating,
    order: Callable[[int], Regret],
    bound: Callable[[int], Regret] | None = None,
) -> Guarantee:
    return Guarantee(
        base,
        updating,
        order(episodes),
        find_crossover(order),
        bound and bound(episodes),
        bound and find_crossover(bound),
    )


def find_crossover(regret: Callable[[int], Regret]) -> int | None:
    """Return the smallest K from which on the delay term is below the leading term.

    K is the number of episodes. Starting from `MAX_EPISODES`, it is halved as long as the delay
    term is below the leading term. The exact K is then found by bisection.

    Parameters
    ----------
    regret : callable
        Function of K that returns the regret bound, or the order of the regret, of K episodes.

    Returns
    -------
    int or None
        Smallest K from which on the delay term is below the leading term, or None if it is not
        below at `MAX_EPISODES`.

    Examples
    --------
    >>> find_crossover(lambda K: Regret(leading=K**0.5, delay=10.0, max_regret=K, order=True))
    101
    """

    def has_faded(K: int) -> bool:
        terms = regret(K)
        return terms.delay < terms.leading

    high = MAX_EPISODES
    if not has_faded(high):
        return None
    low = high
    while has_faded(low):
        if low == 1:
            return 1
        low, high = low // 2, low
    while high - low > 1:
        middle = (low + high) // 2
        if has_faded(middle):
            high = middle
        else:
            low = middle
    return high
