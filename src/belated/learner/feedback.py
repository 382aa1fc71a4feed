"""Feedback: parts of episodes that arrive together, and the episodes that are still pending."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Episode, Floats, Ints, Shape, Step

_ID_CHUNK_BITS: Final = 4096


class Feedback(NamedTuple):
    """Some steps of one episode, with their transitions, their rewards or both."""

    id: int  # of the episode
    steps: Ints
    states: Ints
    actions: Ints
    successors: Ints
    rewards: Floats | None
    transitions: bool = True  # whether the transitions are new to the learner
    delayed: bool = True  # False for a path whose rewards arrive later

    def rows(self, shape: Shape, stages: int) -> Ints:
        """Return the row of each step, given the problem's `shape` and the number of `stages`."""
        stage = self.steps if stages > 1 else 0
        rows: Ints = (stage * shape.states + self.states) * shape.actions + self.actions
        return rows


def whole_episode(episode: Episode) -> Feedback:
    """Return all of `episode` as feedback."""
    states, actions = episode.states, episode.actions
    steps = np.arange(actions.size)
    return Feedback(episode.id, steps, states[:-1], actions, states[1:], episode.rewards)


def single_step(step: Step) -> Feedback:
    """Return one `step` as feedback."""
    return Feedback(
        step.id,
        steps=np.array([step.step]),
        states=np.array([step.state]),
        actions=np.array([step.action]),
        successors=np.array([step.successor]),
        rewards=None if step.reward is None else np.array([step.reward]),
    )


def path_of(episode: Episode) -> Feedback:
    """Return the path of `episode`, whose rewards arrive later."""
    return whole_episode(episode)._replace(rewards=None, delayed=False)


def rewards_of(path: Feedback, rewards: Floats) -> Feedback:
    """Return the feedback that brings the `rewards` of a known `path`, NaN where not yet known."""
    known = np.flatnonzero(~np.isnan(rewards))
    return Feedback(
        path.id,
        path.steps[known],
        path.states[known],
        path.actions[known],
        path.successors[known],
        rewards[known],
        transitions=False,
    )


def check_late_rewards(id: int, rewards: ArrayLike, shape: Shape) -> Floats:
    """Return the late rewards of an episode as an array.

    Parameters
    ----------
    id : int
        Id of the episode, for error messages.
    rewards : array_like
        (H) rewards in [0, 1], NaN where not yet known.
    shape : Shape
        Size of the problem.

    Returns
    -------
    Floats
        The rewards.

    Raises
    ------
    TypeError, ValueError
        If there is not one number for each step, or a number lies outside [0, 1].
    """
    no_steps = np.zeros(0, np.int64)
    array = Episode(id, [0], no_steps, np.nan if rewards is None else rewards).rewards
    assert array is not None
    Episode(id, [0], no_steps, np.nan_to_num(array)).check_rewards(shape)
    return array


def concatenate(feedback: Sequence[Feedback]) -> Feedback:
    """Return the items of `feedback` as one, in order; the ids of the episodes are dropped."""
    if len(feedback) == 1:
        return feedback[0]
    rewards = [item.rewards for item in feedback if item.rewards is not None]
    none = np.zeros(0, np.int64)
    steps, states, actions, successors = (
        np.concatenate([none, *(item[column] for item in feedback)]) for column in range(1, 5)
    )
    complete = len(rewards) == len(feedback) > 0
    return Feedback(
        0,
        steps,
        states,
        actions,
        successors,
        np.concatenate(rewards) if complete else None,
    )


class PendingEpisode:
    """An episode that was started, or whose feedback has arrived in part."""

    __slots__ = ("instance", "path", "received")

    def __init__(self, instance: int, received: int = 0, path: Feedback | None = None) -> None:
        self.instance = instance  # that plays it
        self.received = received  # bit h is set when step h has arrived
        self.path = path  # known before the rewards, where only those are late

    def receive(self, feedback: Feedback) -> None:
        """Record the arrival of `feedback`; raises ValueError if any of it has arrived before."""
        if feedback.transitions and self.path is not None:
            raise ValueError(
                f"The path of episode {feedback.id} has been observed already; observe it once."
            )
        if not feedback.delayed:
            if self.received:
                raise ValueError(
                    f"Steps of episode {feedback.id} have been observed already; observe the path "
                    "first, or only steps."
                )
            self.path = feedback
            return
        for step in feedback.steps.tolist():
            if self.received >> step & 1:
                raise ValueError(
                    f"Step {step} of episode {feedback.id} has been observed already; observe each "
                    "step once."
                )
            self.received |= 1 << step

    def is_complete(self, horizon: int) -> bool:
        """Return whether all of the `horizon` steps have arrived."""
        return self.received.bit_count() == horizon

    @property
    def is_untouched(self) -> bool:
        """Whether nothing of the episode has arrived."""
        return not self.received and self.path is None

    def copy(self) -> "PendingEpisode":
        """Return an independent copy."""
        return PendingEpisode(self.instance, self.received, self.path)


def snapshot_pending(pending: dict[int, PendingEpisode]) -> dict[str, Any]:
    """Return `pending`, by id, as plain arrays and numbers; most episodes are two integers."""
    partial = []
    for place, episode in enumerate(pending.values()):
        if not episode.is_untouched:
            path = episode.path
            received = range(episode.received.bit_length())
            partial.append(
                {
                    "place": place,
                    "received": [step for step in received if episode.received >> step & 1],
                    "states": None
                    if path is None
                    else np.append(path.states, path.successors[-1:]),
                    "actions": None if path is None else path.actions.copy(),
                }
            )
    return {
        "ids": np.array(list(pending), np.int64),
        "instances": np.array([episode.instance for episode in pending.values()], np.int64),
        "partial": partial,
    }


def restore_pending(state: dict[str, Any]) -> dict[int, PendingEpisode]:
    """Return the pending episodes saved in `state` by `snapshot_pending`, in the same order."""
    ids, instances = state["ids"].tolist(), state["instances"].tolist()
    pending = {id: PendingEpisode(index) for id, index in zip(ids, instances, strict=True)}
    for part in state["partial"]:
        episode = pending[ids[part["place"]]]
        episode.received = sum(1 << step for step in part["received"])
        if part["states"] is not None:
            episode.path = path_of(Episode(ids[part["place"]], part["states"], part["actions"]))
    return pending


class IdSet:
    """A growing set of non-negative integers, at one bit each where they are consecutive.

    >>> ids = IdSet()
    >>> ids.add(7)
    >>> 7 in ids, 8 in ids, len(ids)
    (True, False, 1)
    """

    def __init__(self) -> None:
        self._chunks: dict[int, int] = {}
        self._size = 0

    def __contains__(self, id: int) -> bool:
        chunk, bit = divmod(id, _ID_CHUNK_BITS)
        return bool(self._chunks.get(chunk, 0) >> bit & 1)

    def __len__(self) -> int:
        return self._size

    def add(self, id: int) -> None:
        """Add an `id` that is not in the set."""
        chunk, bit = divmod(id, _ID_CHUNK_BITS)
        self._chunks[chunk] = self._chunks.get(chunk, 0) | 1 << bit
        self._size += 1

    def snapshot(self) -> dict[str, Any]:
        """Return the set as plain arrays."""
        size = _ID_CHUNK_BITS // 8
        bits = b"".join(word.to_bytes(size, "little") for word in self._chunks.values())
        return {
            "chunks": np.array(list(self._chunks), np.int64),
            "bits": np.frombuffer(bits, np.uint8).reshape(-1, size).copy(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "IdSet":
        """Return the set saved in `state` by `snapshot`."""
        ids = cls()
        for chunk, bits in zip(state["chunks"], state["bits"], strict=True):
            word = int.from_bytes(bits.tobytes(), "little")
            ids._chunks[int(chunk)] = word
            ids._size += word.bit_count()
        return ids
