"""How often lazy updating can plan: bounds on J, the number of epochs, the first included."""

import math

from belated.episode import Shape
from belated.theory.inputs import check_alpha, check_episodes


def epoch_bound(shape: Shape, episodes: int, alpha: float, *, printed: bool = False) -> float:
    """The most epochs that lazy updating with this alpha can have in K episodes.

        J <= min(K, 1 + HSA (1 + ln^+(K / (SA)) / ln(1 + 1/alpha)))

    After the first epoch, each is begun by some triple: once when it is first observed, and
    from then on each time its count has grown by a factor of 1 + 1/alpha. Concavity of the log
    spreads the HK observations evenly.

    `printed=True` gives the paper's Lemma 4, HSA ln(alpha K / (SA) + 1) / ln(1 + 1/alpha), which
    forgets the first epoch and fails for alpha near 1.

    >>> one = Shape(states=1, actions=1, horizon=1)
    >>> epoch_bound(one, 3, alpha=1), epoch_bound(one, 3, alpha=1, printed=True)
    (3.0, 2.0)
    """
    K = check_episodes(episodes)
    SA = shape.states * shape.actions
    growth = math.log1p(1 / check_alpha(alpha))
    if growth == 0:
        return math.inf if printed else float(K)
    if printed:
        return shape.horizon * SA * math.log(alpha * K / SA + 1) / growth
    return min(float(K), 1 + shape.horizon * SA * (1 + max(0.0, math.log(K / SA)) / growth))


def sharp_epoch_bound(shape: Shape, episodes: int, alpha: float) -> float:
    """As `epoch_bound`, and less for an alpha of about 2 or more.

        J <= min(K, 1 + HSA min(K/SA, ceil(alpha) + ln^+(K / (SA alpha)) / ln(1 + 1/alpha)))

    A triple seen fewer than alpha times begins an epoch with every observation: ceil(alpha) of
    them. Its count grows by a factor of 1 + 1/alpha only after that.

    >>> chain = Shape(states=30, actions=2, horizon=30)
    >>> round(epoch_bound(chain, 10**7, 100)), round(sharp_epoch_bound(chain, 10**7, 100))
    (2176880, 1522011)
    """
    known = epoch_bound(shape, episodes, alpha)
    SA = shape.states * shape.actions
    growth = math.log1p(1 / alpha)
    if growth == 0:
        return known
    grown = max(0.0, math.log(episodes / (SA * alpha))) / growth
    return min(known, 1 + shape.horizon * SA * min(episodes / SA, math.ceil(alpha) + grown))
