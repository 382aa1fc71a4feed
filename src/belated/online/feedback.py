"""Episodes in flight, and the conversion of their feedback to columns that a learner absorbs.

The content of feedback events has the format that `belated.ledger.content` describes. It was
validated and deduplicated when it was recorded: no step or reward of an episode occurs twice. The
database may have been damaged since, so types and lengths are checked here, and `Learner.absorb`
checks ranges.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

import numpy as np

from belated.check import check_finite, check_integer, check_range
from belated.episode import Floats, Ints, Shape
from belated.learner.feedback import Feedback
from belated.learner.learner import Learner
from belated.ledger.problems import ProblemSpec
from belated.reward_map import Affine

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


Content = dict[str, Any]


def build_feedback(
    pieces: Iterable[tuple[OpenEpisode, Content]], learner: Learner, reward_map: Affine
) -> list[Feedback]:
    """Convert the content of feedback events to feedback that a learner can absorb.

    Rewards that arrive before the path of their episode are stored in `OpenEpisode.early_rewards`.
    They are converted when the path arrives.

    Parameters
    ----------
    pieces : iterable
        Pairs of the episode and the content of each feedback event.
    learner : Learner
        Learner that will absorb the feedback.
    reward_map : Affine
        Map between rewards in [0, 1] and rewards in the units of the problem.

    Returns
    -------
    list of Feedback
        Feedback in the order of `pieces`, with rewards in [0, 1].

    Raises
    ------
    Exception
        If content is malformed. The exception can be of any type, since content can be malformed in
        any way.
    """
    feedback: list[Feedback | None] = []
    whole: list[tuple[int, OpenEpisode, Content]] = []
    paths: dict[int, Feedback] = {}
    for episode, content in pieces:
        if "states" in content:
            whole.append((len(feedback), episode, content))
            feedback.append(None)
        elif "steps" in content:
            feedback.append(_build_steps(episode.number, content["steps"], reward_map))
        elif not content or content.keys() - {"path", "rewards"}:
            raise ValueError(f"Content must not have the fields {', '.join(content)}.")
        else:
            feedback += _build_path_and_rewards(episode, content, learner, paths, reward_map)
    # most feedback is of whole episodes, which are converted with a few large arrays
    for place, item in _build_whole(whole, learner.shape, reward_map):
        feedback[place] = item
    return [item for item in feedback if item is not None]


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
    known = spec.rewards
    rewarded = [item for item in feedback if item.delayed]
    if not rewarded:
        return
    if known is None:
        each = spec.reward_map.original(
            np.concatenate([item.rewards for item in rewarded if item.rewards is not None])
        )
    else:
        states = np.concatenate([item.states for item in rewarded])
        actions = np.concatenate([item.actions for item in rewarded])
        steps = np.concatenate([item.steps for item in rewarded])
        each = known[states, actions] if known.ndim == 2 else known[steps, states, actions]
    sizes = [item.steps.size for item in rewarded]
    sums = np.add.reduceat(each, np.cumsum([0, *sizes[:-1]]))
    yield from zip((item.id for item in rewarded), sums.tolist(), strict=True)


def _build_whole(
    whole: list[tuple[int, OpenEpisode, Content]], shape: Shape, reward_map: Affine
) -> Iterator[tuple[int, Feedback]]:
    # episodes with the same number of steps are converted together
    by_length: dict[int, list[tuple[int, OpenEpisode, Content]]] = {}
    for item in whole:
        by_length.setdefault(len(item[2]["actions"]), []).append(item)
    for length, items in by_length.items():
        all_states = _integers([content["states"] for _, _, content in items])
        all_actions = _integers([content["actions"] for _, _, content in items])
        _check_lengths(all_states, length, shape)
        zeros = [0.0] * length
        all_rewards = reward_map.unit(
            _numbers([content["rewards"] or zeros for _, _, content in items])
        )
        steps = np.arange(length)
        for (place, episode, content), states, actions, rewards in zip(
            items, all_states, all_actions, all_rewards, strict=True
        ):
            brought = rewards if content["rewards"] else None
            yield place, Feedback(episode.number, steps, states[:-1], actions, states[1:], brought)


def _integers(values: list[Any]) -> Ints:
    """Return `values` as an array of integers; raise ValueError if a value is not an integer.

    Floats, such as 1.0, are not converted.
    """
    array = np.array(values)
    if array.dtype != np.int64:
        raise ValueError(f"States, actions and steps must be integers, got {array.dtype}.")
    return array


def _numbers(values: list[Any]) -> Floats:
    """Return `values` as an array of floats; raise ValueError if a value is not a number."""
    array = np.array(values)
    if array.dtype.kind not in "if":
        raise ValueError(f"Rewards must be numbers, got {array.dtype}.")
    return array.astype(np.float64, copy=False)


def _check_lengths(states: Ints, steps: int, shape: Shape) -> None:
    """Raise ValueError unless each row of `states` has the states of an episode with `steps` steps.

    A row must have `steps` + 1 states. If `steps` is below the horizon, the last state must be
    terminal.
    """
    if states.shape[1:] != (steps + 1,) or steps > shape.horizon:
        raise ValueError("An episode must have at most H actions, and one state more.")
    if steps < shape.horizon and not shape.is_terminal[states[:, -1]].all():
        raise ValueError("An episode must have H actions, or end in a terminal state.")


def _build_steps(number: int, steps: list[Content], reward_map: Affine) -> Feedback:
    def column(name: str) -> Ints:
        return _integers([step[name] for step in steps])

    rewards = [step["reward"] for step in steps]
    return Feedback(
        number,
        steps=column("step"),
        states=column("state"),
        actions=column("action"),
        successors=column("next_state"),
        # a reward is omitted only if the problem's rewards are known
        rewards=None if None in rewards else reward_map.unit(_numbers(rewards)),
    )


def _build_path_and_rewards(
    episode: OpenEpisode,
    content: Content,
    learner: Learner,
    paths: dict[int, Feedback],
    reward_map: Affine,
) -> Iterator[Feedback]:
    """Yield the feedback in `content`, which holds a path, rewards or both.

    Rewards are yielded only if the path of `episode` has arrived; otherwise they are stored in
    `episode.early_rewards`. `paths` maps the numbers of episodes to the paths that arrived in the
    current batch; a path in `content` is added to it.
    """
    number = episode.number
    if "path" in content:
        states = _integers(content["path"]["states"])
        actions = _integers(content["path"]["actions"])
        _check_lengths(states[np.newaxis], actions.size, learner.shape)
        steps = np.arange(actions.size)
        paths[number] = Feedback(
            number, steps, states[:-1], actions, states[1:], None, delayed=False
        )
        yield paths[number]
    rewards = {int(step): reward for step, reward in content.get("rewards", {}).items()}
    if rewards:
        check_range("steps of rewards", list(rewards), 0, learner.shape.horizon - 1)
        check_finite("rewards", _numbers(list(rewards.values())))
    episode.early_rewards |= rewards
    path, pending = paths.get(number), learner.pending(number)
    if path is None and pending is not None:
        path = pending.path
    if path is not None and episode.early_rewards:
        # rewards after the end of the episode, which are 0, may have arrived before the path
        due = {h: r for h, r in episode.early_rewards.items() if h < path.steps.size}
        if due:
            yield _build_rewards(path, due, reward_map)
        episode.early_rewards = {}


def _build_rewards(path: Feedback, rewards: dict[int, float], reward_map: Affine) -> Feedback:
    steps = np.array(sorted(rewards), np.int64)
    return Feedback(
        path.id,
        steps,
        path.states[steps],
        path.actions[steps],
        path.successors[steps],
        reward_map.unit(_numbers([rewards[step] for step in steps.tolist()])),
        transitions=False,
    )
