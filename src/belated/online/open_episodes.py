"""Episodes in flight: data that a fold stores in addition to the learner's own records."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

import numpy as np

from belated.check import check_finite, check_integer, check_range

AGE_LIMITS_S: Final = (
    *(60, 600, 3600, 6 * 3600, 86400),
    *(3 * 86400, 7 * 86400, 14 * 86400, 30 * 86400),
)
"""Age limits in seconds; for each limit, a status contains the number of younger episodes."""

BEFORE_ALL_TIMES: Final = -(2**63)
"""Time in microseconds that is earlier than every time of an event."""


@dataclass(slots=True)
class OpenEpisode:
    """Episode in flight.

    The learner's `PendingEpisode` records which steps of the episode have arrived.
    """

    number: int
    """Number of the episode within its problem; the learner uses it as the episode id."""
    opened_at: int
    """Time at which the episode was opened, in microseconds since 1970 (UTC)."""
    recorded_at: int
    """Time at which the opening was recorded, in microseconds since 1970 (UTC)."""
    version: int
    """Version of the policy that the episode follows."""
    place: int
    """Number of episodes of the problem that were opened before this episode, plus 1."""
    last_feedback_at: int = BEFORE_ALL_TIMES
    """Latest time at which absorbed feedback of the episode originated, in microseconds since 1970
    (UTC); `BEFORE_ALL_TIMES` if no feedback has been absorbed."""
    reward_sum: float = 0.0
    """Sum of the rewards of the episode that the learner has absorbed, in the units of the
    problem."""
    early_rewards: dict[int, float] = field(default_factory=dict)
    """Map from the step to the reward, in the units of the problem, for rewards that arrived before
    the path of the episode. The learner absorbs them when the path arrives."""


INT_COLUMNS: Final = (
    *("number", "opened_at", "recorded_at", "version", "place", "last_feedback_at"),
)


def snapshot_all(episodes: dict[str, OpenEpisode]) -> dict[str, Any]:
    """Return a snapshot of `episodes`, a dict that maps ids to episodes in flight.

    The snapshot is a dict of arrays, texts and lists.
    """
    columns: dict[str, Any] = {
        name: np.array([getattr(episode, name) for episode in episodes.values()], np.int64)
        for name in INT_COLUMNS
    }
    return {
        **columns,
        "reward_sum": np.array([episode.reward_sum for episode in episodes.values()], np.float64),
        "ids": " ".join(episodes),
        "early_rewards": [
            [place, [[step, reward] for step, reward in episode.early_rewards.items()]]
            for place, episode in enumerate(episodes.values())
            if episode.early_rewards
        ],
    }


def restore_all(state: dict[str, Any], horizon: int) -> dict[str, OpenEpisode]:
    """Restore the episodes in flight from `state`, a snapshot as returned by `snapshot_all`.

    Returns a dict that maps the id of each episode to the episode, in the original order. `horizon`
    is the number of steps of an episode. Raises ValueError if a column has a wrong type, if one of
    the `early_rewards` is not finite, or if the step of such a reward is not in
    0 .. `horizon` - 1. Early rewards are those that arrived before the path of their episode.
    """
    for name in (*INT_COLUMNS, "reward_sum"):
        if state[name].dtype != (np.float64 if name == "reward_sum" else np.int64):
            raise ValueError(f"{name} of the episodes in flight has type {state[name].dtype}.")
    columns = (state[name].tolist() for name in (*INT_COLUMNS, "reward_sum"))
    episodes = [OpenEpisode(*row) for row in zip(*columns, strict=True)]
    for place, rewards in state["early_rewards"]:
        for step, reward in rewards:
            check_range("step of an early reward", check_integer("step", step, 0), 0, horizon - 1)
            check_finite("early reward", np.array(reward, np.float64))
        episodes[check_integer("place", place, 0)].early_rewards = dict(rewards)
    return dict(zip(state["ids"].split(), episodes, strict=True))


def summarize_ages(opened_at: Sequence[int], *, now: int) -> dict[str, Any]:
    """Return the largest age, the median age and a distribution of ages of episodes in flight.

    Parameters
    ----------
    opened_at : sequence of int
        Opening times of the episodes, in microseconds since 1970 (UTC). The age of an episode is 0
        if its opening time is after `now`.
    now : int
        Time to which the ages refer, in microseconds since 1970 (UTC).

    Returns
    -------
    dict
        "oldest" and "median" are the largest and the median age in seconds, or None if there are
        no episodes. "counts" maps each limit in `AGE_LIMITS_S`, as a text, to the number of
        episodes whose age is below the limit, and "inf" to the number of all episodes.

    Examples
    --------
    >>> summarize_ages([0, 40_000_000], now=70_000_000)["counts"]["60"]
    1
    """
    ages = [max(0, now - at) / 1e6 for at in opened_at]
    counts = {str(limit): sum(age < limit for age in ages) for limit in AGE_LIMITS_S}
    return {
        "oldest": max(ages, default=None),
        "median": median(ages) if ages else None,
        "counts": counts | {"inf": len(ages)},
    }
