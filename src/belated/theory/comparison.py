"""Every base with every way to bear with delay, side by side."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from belated.episode import Shape
from belated.theory.classes import BASES
from belated.theory.competitors import explicit_exploration, multi_instance
from belated.theory.fading import fades_from
from belated.theory.inputs import check_alpha, check_delta, check_episodes, check_mean_delay
from belated.theory.regret import Regret, theorem_1, theorem_2
from belated.theory.table import Numbers, numbers, row

Updating = Literal["active", "lazy", "multi", "explicit"]


@dataclass(frozen=True)
class Promise:
    """What one base is promised with one way to update.

    - `base`: None for explicit exploration, whose order is the same for all.
    - `order`: how regret grows, to compare with other promises.
    - `order_fades`: the K from which delay is the smaller term of the order, None if never.
    - `bound`: the theorem with its constants, None where there is none.
    - `bound_fades`: the same K for the bound.
    """

    base: str | None
    updating: Updating
    order: Regret
    order_fades: int | None
    bound: Regret | None = None
    bound_fades: int | None = None


@dataclass(frozen=True)
class Setting:
    """What is asked about, but for the number of episodes K."""

    shape: Shape
    mean_delay: float
    alpha: float
    delta: float
    longest_delay: float

    def numbers(self, base: str, K: int) -> Numbers:
        """The base's row of Table 1."""
        mean, alpha = self.mean_delay, self.alpha
        return numbers(row(base), self.shape, episodes=K, mean_delay=mean, alpha=alpha)

    def active_order(self, base: str, K: int) -> Regret:
        return self.numbers(base, K).active

    def active_bound(self, base: str, K: int) -> Regret:
        mean, delta = self.mean_delay, self.delta
        return theorem_1(base, self.shape, episodes=K, mean_delay=mean, delta=delta)

    def lazy_order(self, base: str, K: int) -> Regret:
        return self.numbers(base, K).lazy

    def lazy_bound(self, base: str, K: int) -> Regret:
        mean, alpha, delta = self.mean_delay, self.alpha, self.delta
        return theorem_2(base, self.shape, episodes=K, mean_delay=mean, alpha=alpha, delta=delta)

    def multi(self, base: str, K: int) -> Regret:
        mean, delta = self.mean_delay, self.delta
        return multi_instance(base, self.shape, episodes=K, mean_delay=mean, delta=delta)

    def explicit(self, K: int) -> Regret:
        return explicit_exploration(self.shape, episodes=K, longest_delay=self.longest_delay)


def compare(
    shape: Shape,
    *,
    episodes: int,
    mean_delay: float,
    alpha: float = 10,
    delta: float = 0.05,
    longest_delay: float | None = None,
) -> tuple[Promise, ...]:
    """Active, lazy and multi-instance with each base, and explicit exploration.

    `longest_delay` is tau_max; without it the mean delay stands in, the least it can be.

    >>> chain = Shape(states=30, actions=2, horizon=30)
    >>> promises = compare(chain, episodes=100_000, mean_delay=300)
    >>> least = min(promises, key=lambda promise: promise.order.total)
    >>> least.base, least.updating, least.order_fades
    ('ucbvi-bf', 'multi', None)
    """
    K = check_episodes(episodes)
    mean = check_mean_delay(mean_delay)
    longest = mean if longest_delay is None else longest_delay
    setting = Setting(shape, mean, check_alpha(alpha), check_delta(delta), longest)
    promises = []
    for base in BASES:
        active = partial(setting.active_order, base), partial(setting.active_bound, base)
        lazy = partial(setting.lazy_order, base), partial(setting.lazy_bound, base)
        promises += [
            promise(K, base, "active", *active),
            promise(K, base, "lazy", *lazy),
            promise(K, base, "multi", partial(setting.multi, base)),
        ]
    return (*promises, promise(K, None, "explicit", setting.explicit))


def promise(
    episodes: int,
    base: str | None,
    updating: Updating,
    order: Callable[[int], Regret],
    bound: Callable[[int], Regret] | None = None,
) -> Promise:
    """What is promised for so many episodes."""
    return Promise(
        base,
        updating,
        order(episodes),
        fades_from(order),
        bound and bound(episodes),
        bound and fades_from(bound),
    )
