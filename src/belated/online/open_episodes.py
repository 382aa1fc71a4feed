"""Episodes in flight: what a fold needs to know of them in addition to the learner's records."""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np


@dataclass(slots=True)
class OpenEpisode:
    """Episode in flight; which steps have arrived is in the learner's `PendingEpisode`."""

    number: int
    """Id of the episode in the learner."""
    opened_at: int
    """Time of opening, in microseconds since 1970 (UTC)."""
    version: int
    """Version of the policy that the episode follows."""
    place: int
    """Number of episodes opened so far, including this one."""
    reward_sum: float = 0.0
    """Sum of the rewards that the learner has taken."""
    early_rewards: dict[int, float] = field(default_factory=dict)
    """Rewards by step that arrived before the path, which the learner needs first."""


INT_COLUMNS: Final = ("number", "opened_at", "version", "place")


def snapshot_all(episodes: dict[str, OpenEpisode]) -> dict[str, Any]:
    """Return `episodes` by id as plain arrays, texts and lists."""
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
    """Return the episodes by id from the snapshot `state`, in the same order."""
    columns = (state[name].tolist() for name in (*INT_COLUMNS, "reward_sum"))
    episodes = [OpenEpisode(*row) for row in zip(*columns, strict=True)]
    for place, rewards in state["early_rewards"]:
        episodes[place].early_rewards = dict(rewards)
    return dict(zip(state["ids"].split(), episodes, strict=True))
