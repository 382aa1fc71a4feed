"""What the theory may be asked about: numbers that make sense, or a sentence that says why not."""

import math

from belated.episode import check_integer


def check_episodes(episodes: object) -> int:
    """K, an integer of at least 1."""
    return check_integer("episodes", episodes, 1)


def check_delta(delta: float) -> float:
    """A probability of failure."""
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta}; it must lie strictly between 0 and 1.")
    return float(delta)


def check_mean_delay(mean_delay: float) -> float:
    """E[tau], at least 0; infinite where some feedback may never return."""
    if not mean_delay >= 0:
        raise ValueError(f"mean_delay is {mean_delay}; it must be at least 0.")
    return float(mean_delay)


def check_alpha(alpha: float) -> float:
    """The activity of lazy updating."""
    if not alpha >= 1:
        raise ValueError(f"alpha is {alpha}; it must be at least 1 (inf is active updating).")
    return float(alpha)


def delay_log(episodes: int, delta: float) -> float:
    """x = ln(K pi / (6 delta')), delta' = delta / 5, of the lemmas and theorems."""
    return math.log(check_episodes(episodes) * math.pi / (6 * (check_delta(delta) / 5)))
