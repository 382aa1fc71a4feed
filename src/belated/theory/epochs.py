"""How often lazy updating can plan: bounds on J, the number of epochs, the first included."""

import math

from belated.episode import Shape, check_integer


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
    K = check_integer("episodes", episodes, 1)
    if not alpha >= 1:
        raise ValueError(f"alpha is {alpha}; it must be at least 1 (inf is active updating).")
    SA = shape.states * shape.actions
    growth = math.log1p(1 / alpha)
    if growth == 0:
        return math.inf if printed else float(K)
    if printed:
        return shape.horizon * SA * math.log(alpha * K / SA + 1) / growth
    return min(float(K), 1 + shape.horizon * SA * (1 + max(0.0, math.log(K / SA)) / growth))
