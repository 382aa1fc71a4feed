"""Validation of arguments that occur in several functions of `belated.theory`.

Each function returns its argument as a number if it is valid, and otherwise raises TypeError or
ValueError.
"""

from belated.check import check_integer


def check_episodes(episodes: object) -> int:
    """Return `episodes`, the number of episodes K, as an int.

    Raise TypeError if it is not an integer, and ValueError if it is below 1.
    """
    return check_integer("episodes", episodes, 1)


def check_delta(delta: float) -> float:
    """Return the failure probability `delta`; raise ValueError unless 0 < `delta` < 1."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1, got {delta}.")
    return float(delta)


def check_mean_delay(mean_delay: float) -> float:
    """Return `mean_delay`, the mean delay E[tau] in episodes, which may be infinite.

    Raise ValueError if it is negative or NaN.
    """
    if not mean_delay >= 0:
        raise ValueError(f"mean_delay must be at least 0, got {mean_delay}.")
    return float(mean_delay)


def check_alpha(alpha: float) -> float:
    """Return `alpha`, the parameter of lazy updating, which may be infinite.

    Raise ValueError if it is below 1 or NaN.
    """
    if not alpha >= 1:
        raise ValueError(f"alpha must be at least 1 (inf is active updating), got {alpha}.")
    return float(alpha)
