"""What else is promised: other ways to bear with delay, and what nobody can beat. Orders only."""

import math
from typing import Final

from belated.episode import Shape
from belated.theory.inputs import check_mean_delay
from belated.theory.missing import psi
from belated.theory.orders import Order
from belated.theory.regret import Regret
from belated.theory.table import row

EXPLORATION: Final = Order(H=1.5, S=1, A=0.5, T=0.5)
UNBEATEN: Final = Order(H=1, S=0.5, A=0.5, T=0.5)


def explicit_exploration(shape: Shape, *, episodes: int, longest_delay: float) -> Regret:
    """H^(3/2) S sqrt(AT) + H^2 S tau_max, whatever the base (Lancewicki et al. 2022).

    `longest_delay` is tau_max, which the learner must know beforehand.
    """
    check_longest_delay(longest_delay)
    leading = EXPLORATION(shape, episodes=episodes)
    delay = shape.horizon**2 * shape.states * longest_delay
    return Regret(leading, delay, episodes * shape.horizon, order=True)


def check_longest_delay(longest_delay: float) -> None:
    """Refuse a tau_max that is none."""
    if not longest_delay >= 0:
        raise ValueError(f"longest_delay is {longest_delay}; it must be at least 0.")


def multi_instance(
    base: str,
    shape: Shape,
    *,
    episodes: int,
    mean_delay: float,
    delta: float = 0.05,
    copies: float | None = None,
) -> Regret:
    """M f(K / M) with M = 1 + max_k S_k copies of the base (Joulani et al. 2013).

    f is the base's order with immediate feedback, so this is sqrt(M) f(K): delay multiplies the
    leading term, and more episodes do not help. Unless `copies` tells M, it is 1 + psi, at most K,
    and 1 where no feedback is ever late.
    """
    mean = check_mean_delay(mean_delay)
    if copies is None:
        copies = min(float(episodes), 1 + psi(mean, episodes, delta)) if mean > 0 else 1.0
    if not 1 <= copies <= episodes:
        raise ValueError(f"copies is {copies}; it must lie between 1 and K, {episodes}.")
    alone = row(base).immediate(shape, episodes=episodes)
    together = math.sqrt(copies) * alone
    return Regret(alone, together - alone, episodes * shape.horizon, order=True)


def lower_bound(shape: Shape, *, episodes: int) -> Regret:
    """H sqrt(SAT): some problem of this size costs any learner so much, even without delay."""
    leading = UNBEATEN(shape, episodes=episodes)
    return Regret(leading, 0.0, episodes * shape.horizon, order=True)
