"""Validation of the arguments that the functions of this package share.

Each function returns the valid argument as a number, or raises ValueError.
"""

from belated.episode import check_integer


def check_episodes(episodes: object) -> int:
    """Return the number of episodes K, `episodes`, which must be an integer of at least 1."""
    return check_integer("episodes", episodes, 1)


def check_delta(delta: float) -> float:
    """Return the failure probability `delta`, which must lie strictly between 0 and 1."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1, got {delta}.")
    return float(delta)


def check_mean_delay(mean_delay: float) -> float:
    """Return the mean delay E[tau], `mean_delay`, in episodes: at least 0, may be infinite."""
    if not mean_delay >= 0:
        raise ValueError(f"mean_delay must be at least 0, got {mean_delay}.")
    return float(mean_delay)


def check_longest_delay(longest_delay: float) -> float:
    """Return the longest delay tau_max, `longest_delay`, in episodes: at least 0."""
    if not longest_delay >= 0:
        raise ValueError(f"longest_delay must be at least 0, got {longest_delay}.")
    return float(longest_delay)


def check_alpha(alpha: float) -> float:
    """Return the activity `alpha` of lazy updating, which must be at least 1."""
    if not alpha >= 1:
        raise ValueError(f"alpha must be at least 1 (inf is active updating), got {alpha}.")
    return float(alpha)


def check_power(power: float) -> float:
    """Return the exponent `power` of a count: 0.5, which belongs to B_1, or 1, to B_2."""
    if power not in (0.5, 1):
        raise ValueError(f"power must be 0.5 or 1, got {power}.")
    return power
