"""Episodes in flight: what a fold knows of them, and their feedback as a learner absorbs it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from belated.check import check_finite, check_integer, check_range
from belated.learner.feedback import Feedback, concatenate, rewards_of
from belated.ledger.feedback import Columns
from belated.ledger.problems import ProblemSpec
from belated.reward_map import Affine

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

    def convert(
        self, columns: Columns, path: Feedback | None, reward_map: Affine
    ) -> Iterator[Feedback]:
        """Yield valid feedback of the episode as the learner absorbs it, with rewards in [0, 1].

        Rewards that arrive before the path are stored in `early_rewards`, and yielded when the path
        arrives. `path` is the path of the episode, if it arrived before `columns`. `reward_map` is
        the map between rewards in [0, 1] and in the units of the problem.
        """
        if columns.has_path:
            steps, states, actions, successors = (np.array(each, np.int64) for each in columns[1:5])
            arrived = Feedback(self.number, steps, states, actions, successors, None)
            if columns.form == "path":
                path = arrived._replace(delayed=False)
                yield path
            elif columns.steps:  # not only padding
                if None not in columns.rewards:
                    rewards = np.array(columns.rewards, np.float64)
                    arrived = arrived._replace(rewards=reward_map.unit(rewards))
                yield arrived
        if columns.form != "path":
            return
        paid = zip(columns.steps, columns.rewards, strict=True)
        self.early_rewards |= {step: reward for step, reward in paid if reward is not None}
        if path is None or not self.early_rewards:
            return
        due = np.full(path.steps.size, np.nan)
        for step, reward in self.early_rewards.items():
            # rewards after the end of the episode, which are 0, may have arrived before the path
            if step < due.size:
                due[step] = reward
        self.early_rewards = {}
        if not np.isnan(due).all():
            yield rewards_of(path, reward_map.unit(due))


COLUMNS: Final = {
    **dict.fromkeys(("number", "opened_at", "recorded_at", "version", "place"), np.int64),
    "last_feedback_at": np.int64,
    "reward_sum": np.float64,
}
"""Types of the fields of `OpenEpisode` that a snapshot holds as arrays, in order."""


def snapshot_all(episodes: dict[str, OpenEpisode]) -> dict[str, Any]:
    """Return a snapshot of `episodes`, a dict that maps ids to episodes in flight.

    The snapshot is a dict of arrays, texts and lists.
    """
    rows = episodes.values()
    return {
        **{
            name: np.array([getattr(episode, name) for episode in rows], kind)
            for name, kind in COLUMNS.items()
        },
        "ids": " ".join(episodes),
        "early_rewards": [
            [place, [list(item) for item in episode.early_rewards.items()]]
            for place, episode in enumerate(rows)
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
    for name, kind in COLUMNS.items():
        if state[name].dtype != kind:
            raise ValueError(f"{name} of the episodes in flight has type {state[name].dtype}.")
    columns = (state[name].tolist() for name in COLUMNS)
    episodes = [OpenEpisode(*row) for row in zip(*columns, strict=True)]
    for place, rewards in state["early_rewards"]:
        for step, reward in rewards:
            check_range("step of an early reward", check_integer("step", step, 0), 0, horizon - 1)
            check_finite("early reward", np.array(reward, np.float64))
        episodes[check_integer("place", place, 0)].early_rewards = dict(rewards)
    return dict(zip(state["ids"].split(), episodes, strict=True))


def sum_rewards(feedback: list[Feedback], spec: ProblemSpec) -> Iterator[tuple[int, float]]:
    """Yield the sum of rewards of each item of `feedback` that contains rewards.

    All sums are computed with one call of NumPy. One call for each item would take as long as the
    learner itself.

    Parameters
    ----------
    feedback : list of Feedback
        Feedback that the learner absorbs.
    spec : ProblemSpec
        The problem. If its mean rewards are known, they are summed instead of the rewards in
        `feedback`.

    Yields
    ------
    tuple[int, float]
        Number of the episode, which is its id in the learner, and sum of rewards in the units of
        the problem.
    """
    rewarded = [item for item in feedback if item.delayed]
    if not rewarded:
        return
    columns = concatenate(rewarded)
    if spec.rewards is not None:
        known = np.broadcast_to(spec.rewards, spec.shape.table)
        each = known[columns.steps, columns.states, columns.actions]
    else:
        assert columns.rewards is not None
        each = spec.reward_map.original(columns.rewards)
    starts = np.cumsum([0, *(item.steps.size for item in rewarded[:-1])])
    sums = np.add.reduceat(each, starts)
    yield from zip((item.id for item in rewarded), sums.tolist(), strict=True)
