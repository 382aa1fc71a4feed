"""Episodes in flight: data that a fold stores in addition to the learner's own records."""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np


@dataclass(slots=True)
class OpenEpisode:
    """Episode in flight.

    The learner's `PendingEpisode` records which steps of the episode have arrived.
    """

    number: int
    """Number of the episode within its problem; the learner uses it as the episode id."""
    opened_at: int
    """Time of opening, in microseconds since 1970 (UTC)."""
    version: int
    """Version of the policy that the episode follows."""
    place: int
    """Number of episodes of the problem opened up to this one, including it."""
    reward_sum: float = 0.0
    """Sum of the rewards that the learner has absorbed."""
    early_rewards: dict[int, float] = field(default_factory=dict)
    """Rewards by step that arrived before the path of the episode, which the learner requires."""


INT_COLUMNS: Final = ("number", "opened_at", "version", "place")


def snapshot_all(episodes: dict[str, OpenEpisode]) -> dict[str, Any]:
    """Return a snapshot of `episodes`, given by id: a dict of arrays, texts and lists."""
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


def restore_all(state: dict[str, Any]) -> dict[str, OpenEpisode]:
    """Restore episodes from the snapshot `state`; return them by id, in their original order."""
    columns = (state[name].tolist() for name in (*INT_COLUMNS, "reward_sum"))
    episodes = [OpenEpisode(*row) for row in zip(*columns, strict=True)]
    for place, rewards in state["early_rewards"]:
        episodes[place].early_rewards = dict(rewards)
    return dict(zip(state["ids"].split(), episodes, strict=True))
