"""Conversion of recorded content to feedback as a learner takes it.

Content has the form that `belated.ledger.recording.content` describes. It is taken from events of
the ledger, so that it is valid and contains each part of an episode once.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from belated.episode import Floats, Ints
from belated.learner.feedback import Parcel
from belated.learner.learner import Learner
from belated.online.in_flight import InFlight

Content = dict[str, Any]


def build_feedback(pieces: Iterable[tuple[InFlight, Content]], learner: Learner) -> list[Parcel]:
    """Return the feedback in `pieces` of recorded content, for `learner` to take at once.

    Rewards that arrive before the path of their episode are kept in its `early_rewards`.
    """
    feedback: list[Parcel | None] = []
    whole: list[tuple[int, InFlight, Content]] = []
    paths: dict[int, Parcel] = {}
    for episode, content in pieces:
        if "states" in content:
            whole.append((len(feedback), episode, content))
            feedback.append(None)
        elif "steps" in content:
            feedback.append(_build_steps(episode.number, content["steps"]))
        else:
            feedback += _build_path_and_rewards(episode, content, learner, paths)
    # most content is of whole episodes, which are converted as a few large arrays
    for place, parcel in _build_whole(whole):
        feedback[place] = parcel
    return [parcel for parcel in feedback if parcel is not None]


def sum_rewards(feedback: list[Parcel], known: Floats | None) -> Iterator[tuple[int, float]]:
    """Yield the learner's episode id and the sum of rewards for each piece with rewards.

    All sums are computed at once, since one by one takes as long as the learner does.

    Parameters
    ----------
    feedback : list of Parcel
        Feedback that the learner takes.
    known : array or None
        Known mean rewards, (S, A) or (H, S, A), which count instead of the rewards in `feedback`.

    Yields
    ------
    tuple[int, float]
        Episode id and sum of rewards.
    """
    rewarded = [parcel for parcel in feedback if parcel.late]
    if not rewarded:
        return
    if known is None:
        each = np.concatenate([parcel.rewards for parcel in rewarded if parcel.rewards is not None])
    else:
        states = np.concatenate([parcel.states for parcel in rewarded])
        actions = np.concatenate([parcel.actions for parcel in rewarded])
        steps = np.concatenate([parcel.steps for parcel in rewarded])
        each = known[states, actions] if known.ndim == 2 else known[steps, states, actions]
    sizes = [parcel.steps.size for parcel in rewarded]
    sums = np.add.reduceat(each, np.cumsum([0, *sizes[:-1]]))
    yield from zip((parcel.id for parcel in rewarded), sums.tolist(), strict=True)


def _build_whole(whole: list[tuple[int, InFlight, Content]]) -> Iterator[tuple[int, Parcel]]:
    if not whole:
        return
    all_states = np.array([content["states"] for _, _, content in whole], np.int64)
    all_actions = np.array([content["actions"] for _, _, content in whole], np.int64)
    zeros = [0.0] * all_actions.shape[1]
    all_rewards = np.array([content["rewards"] or zeros for _, _, content in whole])
    steps = np.arange(all_actions.shape[1])
    for (place, episode, content), states, actions, rewards in zip(
        whole, all_states, all_actions, all_rewards, strict=True
    ):
        brought = rewards if content["rewards"] else None
        yield place, Parcel(episode.number, steps, states[:-1], actions, states[1:], brought)


def _build_steps(number: int, steps: list[Content]) -> Parcel:
    def column(name: str) -> Ints:
        return np.array([step[name] for step in steps], np.int64)

    rewards = [step["reward"] for step in steps]
    return Parcel(
        number,
        steps=column("step"),
        states=column("state"),
        actions=column("action"),
        successors=column("next_state"),
        # a reward is omitted only if the problem's rewards are known
        rewards=None if None in rewards else np.array(rewards, np.float64),
    )


def _build_path_and_rewards(
    episode: InFlight, content: Content, learner: Learner, paths: dict[int, Parcel]
) -> Iterator[Parcel]:
    """Yield the path, and rewards once the path is known; `paths` holds those of this batch."""
    number = episode.number
    if "path" in content:
        states = np.array(content["path"]["states"], np.int64)
        actions = np.array(content["path"]["actions"], np.int64)
        steps = np.arange(actions.size)
        paths[number] = Parcel(number, steps, states[:-1], actions, states[1:], None, late=False)
        yield paths[number]
    rewards = {int(step): reward for step, reward in content.get("rewards", {}).items()}
    episode.early_rewards |= rewards
    path, pending = paths.get(number), learner.pending(number)
    if path is None and pending is not None:
        path = pending.path
    if path is not None and episode.early_rewards:
        yield _build_rewards(path, episode.early_rewards)
        episode.early_rewards = {}


def _build_rewards(path: Parcel, rewards: dict[int, float]) -> Parcel:
    steps = np.array(sorted(rewards), np.int64)
    return Parcel(
        path.id,
        steps,
        path.states[steps],
        path.actions[steps],
        path.successors[steps],
        np.array([rewards[step] for step in steps.tolist()], np.float64),
        transitions=False,
    )
