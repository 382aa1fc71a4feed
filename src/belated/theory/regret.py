"""What regret is promised: Theorems 1 and 2 and the theorem for late rewards, with constants.

Each holds with probability 1 - delta for a base that is run with delta' = delta / 5, under the
paper's Assumptions 1 and 2: a bonus that covers the estimation error, and delays that are
independent, alike and not negative. The constants are those of the proofs, put right where they
slip; `docs/theory.md` lists where. All are far above what any run loses at the size of most
experiments: they say what delay costs next to learning, not how much regret to expect.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from belated.episode import Shape
from belated.theory.classes import Optimism, optimism
from belated.theory.counting import visit_bound
from belated.theory.epochs import epoch_bound
from belated.theory.inputs import check_delta, check_episodes, check_mean_delay, delay_log
from belated.theory.missing import psi
from belated.theory.tradeoff import count_log, decomposition_log


@dataclass(frozen=True)
class Regret:
    """A bound on the regret of K episodes, or the order of one.

    - `leading`: what it is at E[tau] = 0.
    - `delay`: what a positive E[tau] adds to that.
    - `most`: K H, more than any run can lose.
    - `order`: True where constants, logs and lower-order terms are left out. An order says how
      regret grows, and is no bound on it.
    """

    leading: float
    delay: float
    most: int
    order: bool

    @property
    def total(self) -> float:
        """Both terms together."""
        return self.leading + self.delay

    @property
    def vacuous(self) -> bool:
        """Whether it says no more than that rewards lie in [0, 1]."""
        return self.total > self.most


def theorem_1(
    base: str, shape: Shape, *, episodes: int, mean_delay: float, delta: float = 0.05
) -> Regret:
    """Active updating.

        R_K <= 6 (H + C) sqrt(T x)
             + 6 (B sum (1 v N')^-1/2 + (B_2 + 3 C H^2 S L) sum (1 v N')^-1)

    with Lemma 3 for the two sums, x and psi of Lemma 1, and L = ln(S^2 A H pi^2 / (6 delta')).

    >>> chain = Shape(states=5, actions=2, horizon=5)
    >>> theorem_1("ucbvi-ch", chain, episodes=10_000, mean_delay=0).vacuous
    True
    """
    K = check_episodes(episodes)
    H, S = shape.horizon, shape.states
    numbers = _numbers(base, shape, K, delta)
    lower = numbers.B2 + 3 * numbers.C * H * H * S * decomposition_log(shape, delta)

    def total(mean: float) -> float:
        late = psi(mean, K, delta)
        bonuses = times(numbers.B, visit_bound(shape, K, missing=late, power=0.5))
        bonuses += times(lower, visit_bound(shape, K, missing=late, power=1))
        return _noise(numbers.C, shape, K, delta) + 6 * bonuses

    return _split(total, mean_delay, shape, K)


def theorem_2(
    base: str, shape: Shape, *, episodes: int, mean_delay: float, alpha: float, delta: float = 0.05
) -> Regret:
    """Lazy updating.

        R_K <= H J (1 + psi) + 6 (H + C) sqrt(T x)
             + 6 ((B_2 + 3 C H^2 S L) Z + sqrt(Z sum B_1^2)),   Z = 2 (1 + 1/alpha) HSA ln(K/SA)

    with J of `epoch_bound`, and 1 for the last log where K/SA < e. The sum of B_1^2 is at most T
    times the mean square of B_1 over the steps. For the bases with a variance in B_1 the paper
    names an argument that saves a factor of about sqrt(H) there; it comes without constants, and
    is not used.
    """
    K = check_episodes(episodes)
    H, S, A = shape.table
    numbers = _numbers(base, shape, K, delta)
    lower = numbers.B2 + 3 * numbers.C * H * H * S * decomposition_log(shape, delta)
    epochs = epoch_bound(shape, K, alpha)
    z = (1 + 1 / alpha) * H * S * A * count_log(shape, K)
    bonuses = lower * z + math.sqrt(z * K * H) * numbers.B1
    learning = _noise(numbers.C, shape, K, delta) + 6 * bonuses

    def total(mean: float) -> float:
        return H * epochs * (1 + psi(mean, K, delta)) + learning

    return _split(total, mean_delay, shape, K)


def delayed_rewards(
    shape: Shape, *, episodes: int, mean_delay: float, delta: float = 0.05
) -> Regret:
    """UCRL2 with active updating where rewards alone come late, and states at once.

        R_K <= 2 H sqrt(T x) + 10 H^(3/2) S sqrt(A T ln(A T pi / (6 delta')))
             + 2 sqrt(6 l) sum (1 v N')^-1/2,   l = ln(2 S A T pi / (6 delta'))

    The sum, of Lemma 3, carries all of the delay: HSA E[tau] up to logs, with no H^2 or S^2.
    """
    K = check_episodes(episodes)
    H, S, A = shape.table
    T = K * H
    share = check_delta(delta) / 5
    model = 2 * H * math.sqrt(T * delay_log(K, delta))
    model += 10 * H**1.5 * S * math.sqrt(A * T * math.log(A * T * math.pi / (6 * share)))
    width = 2 * math.sqrt(6 * math.log(2 * S * A * T * math.pi / (6 * share)))

    def total(mean: float) -> float:
        return model + width * visit_bound(shape, K, missing=psi(mean, K, delta), power=0.5)

    return _split(total, mean_delay, shape, K)


def times(factor: float, amount: float) -> float:
    """Their product, where nothing of an infinite amount is nothing."""
    return factor * amount if factor > 0 else 0.0


def _numbers(base: str, shape: Shape, K: int, delta: float) -> Optimism:
    return optimism(base, shape, episodes=K, delta=check_delta(delta) / 5)


def _noise(C: int, shape: Shape, K: int, delta: float) -> float:
    """What the draws of the world add (Lemma 2)."""
    return 6 * (shape.horizon + C) * math.sqrt(K * shape.horizon * delay_log(K, delta))


def _split(total: Callable[[float], float], mean_delay: float, shape: Shape, K: int) -> Regret:
    leading = total(0.0)
    delay = total(check_mean_delay(mean_delay)) - leading
    return Regret(leading, delay, most=K * shape.horizon, order=False)
