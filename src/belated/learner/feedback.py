"""Feedback of episodes, and records of the episodes whose feedback is incomplete.

Single steps of an episode join if each one begins in the state to which the step before it leads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from belated.check import (
    check_id,
    check_indices,
    check_integer,
    check_numbers,
    check_range,
    check_same_size,
)
from belated.episode import Episode, Floats, Ints, Shape, Step, check_rewards
from belated.id_set import IdSet
from belated.padding import find_break, is_padding_after

Steps: TypeAlias = dict[int, tuple[int, int]]
"""Map from the number of each known step of an episode to its state and next state."""

REWARD_TOLERANCE: Final = 1e-9
"""Amount by which a reward may lie outside [0, 1], because of rounding when it was scaled."""


STARTS: Final = ("opened_us", "batch")
"""Attributes of `PendingEpisode` that are saved only if the updater needs them."""

LATEST: Final = 2**62
"""Largest number of episodes, and largest time in microseconds, in a snapshot."""


class Feedback(NamedTuple):
    """Some or all steps of one episode, with their transitions, their rewards or both.

    The arrays have one entry for each step.
    """

    id: int  # id of the episode
    steps: Ints  # step numbers, from 0
    states: Ints
    actions: Ints
    successors: Ints  # next states
    rewards: Floats | None  # None if rewards are known or arrive later
    transitions: bool = True  # whether to count the transitions; False if counted before
    delayed: bool = True  # False for a path whose rewards arrive later

    def rows(self, shape: Shape, stages: int) -> Ints:
        """Return the index of the (stage, state, action) triple of each step.

        `shape` is the size of the problem. `stages` is the number of stages of the counts: H, or 1
        if counts are pooled.
        """
        stage = self.steps if stages > 1 else 0
        rows: Ints = (stage * shape.states + self.states) * shape.actions + self.actions
        return rows


def whole_episode(episode: Episode) -> Feedback:
    """Return the feedback that consists of all steps of `episode`."""
    states, actions = episode.states, episode.actions
    steps = np.arange(actions.size)
    return Feedback(episode.id, steps, states[:-1], actions, states[1:], episode.rewards)


def single_step(step: Step) -> Feedback:
    """Return the feedback that consists of the single step `step`."""
    return Feedback(
        step.id,
        steps=np.array([step.step]),
        states=np.array([step.state]),
        actions=np.array([step.action]),
        successors=np.array([step.successor]),
        rewards=None if step.reward is None else np.array([step.reward]),
    )


def path_of(episode: Episode) -> Feedback:
    """Return the feedback that consists of the path of `episode`; the rewards arrive later."""
    return whole_episode(episode)._replace(rewards=None, delayed=False)


def rewards_of(path: Feedback, rewards: Floats) -> Feedback:
    """Return the feedback that consists of `rewards` of the episode with the given `path`.

    `rewards` has one entry for each step, NaN where the reward has not arrived; those steps are
    left out of the result.
    """
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


def without_padding(feedback: Feedback, shape: Shape) -> Feedback:
    """Return `feedback` without the steps in terminal states of `shape`."""
    kept = ~shape.is_terminal[feedback.states]
    if kept.all():
        return feedback
    columns = {name: getattr(feedback, name)[kept] for name in Feedback._fields[1:5]}
    rewards = None if feedback.rewards is None else feedback.rewards[kept]
    return feedback._replace(**columns, rewards=rewards)


def check_late_rewards(id: int, rewards: ArrayLike, shape: Shape, steps: int) -> Floats:
    """Check the late rewards of an episode and return them as an array.

    Parameters
    ----------
    id : int
        Id of the episode, for error messages.
    rewards : array_like
        Rewards in [0, 1], NaN where the reward has not arrived. There must be one for each step of
        the episode, or H in total; in the latter case, the rewards of the steps after a terminal
        state must be 0 or NaN.
    shape : Shape
        Size of the problem.
    steps : int
        Number of steps of the episode.

    Returns
    -------
    Floats
        (steps) rewards.

    Raises
    ------
    TypeError, ValueError
        If `rewards` has a wrong length, a number lies outside [0, 1], or a reward after a terminal
        state is neither 0 nor NaN.
    """
    array = check_numbers(f"rewards of episode {id}", np.nan if rewards is None else rewards)
    length = steps if array.size == steps else shape.horizon
    check_rewards(id, np.nan_to_num(array), length, steps)
    return array[:steps]


def concatenate(feedback: Sequence[Feedback]) -> Feedback:
    """Return one `Feedback` that contains the steps of all items of `feedback`, in order.

    A single item is returned unchanged. Otherwise the result has id 0, and it has rewards only if
    every item has rewards.
    """
    if len(feedback) == 1:
        return feedback[0]
    rewards = [item.rewards for item in feedback if item.rewards is not None]
    none = np.zeros(0, np.int64)
    steps, states, actions, successors = (
        np.concatenate([none, *[item[column] for item in feedback]]) for column in range(1, 5)
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


def check_feedback(feedback: Sequence[Feedback], shape: Shape) -> None:
    """Raise ValueError if `feedback` does not fit a problem of size `shape`.

    This is the case if the arrays of an item differ in length or are not of integers, if a step,
    state, action or reward is out of range, or if an action is not allowed. All items are checked
    with a few calls of NumPy.
    """
    for id, steps, states, actions, successors, rewards, *_ in feedback:
        size = steps.size
        if not (
            states.size == actions.size == successors.size == size
            and (rewards is None or rewards.size == size)
        ):
            raise ValueError(f"The arrays of episode {id} must have one entry for each step.")
    columns = concatenate(feedback)
    check_indices("steps of feedback", columns.steps, shape.horizon)
    check_indices("states of feedback", columns.states, shape.states)
    check_indices("actions of feedback", columns.actions, shape.actions)
    check_indices("successors of feedback", columns.successors, shape.states)
    numbers = columns.rewards
    if numbers is None:
        given = [item.rewards for item in feedback if item.rewards is not None]
        numbers = np.concatenate(given) if given else np.zeros(0)
    check_range("rewards of feedback", numbers, -REWARD_TOLERANCE, 1 + REWARD_TOLERANCE)
    if shape.allowed is not None:
        allowed = shape.allowed[columns.steps, columns.states, columns.actions]
        if not (allowed | shape.is_terminal[columns.states]).all():
            raise ValueError("actions of feedback must be allowed in their states.")


@dataclass(slots=True)
class PendingEpisode:
    """Record of an episode in flight: its instance, and the feedback received so far."""

    instance: int
    """Number of the instance that plays the episode."""
    received: int = 0
    """Bit mask of the steps received: bit h is set if the delayed feedback of step h is there."""
    path: Feedback | None = None
    """Path of the episode, if it has arrived before the rewards."""
    length: int | None = None
    """Number of steps of the episode, if it is known to have ended in a terminal state."""
    steps: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Map from the number of each step that was observed singly to its state and next state, for
    `join_steps`. It is not part of snapshots."""
    started: int = 0
    """Number of episodes started up to and including this one; 0 if it was not started."""
    opened_us: int = 0
    """Time of the opening in microseconds since 1970 (UTC); 0 if the updater does not need it."""
    batch: int = -1
    """Number of episodes that had been started when the plan was made that this episode follows; -1
    if it follows another policy, or if the updater does not need it."""

    def receive(self, feedback: Feedback, shape: Shape) -> None:
        """Record the arrival of `feedback`, in a problem of size `shape`.

        Raises ValueError if any part of the feedback arrived before, or lies after a terminal
        state.
        """
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
            self._find_end(feedback, shape)
            return
        for step in feedback.steps.tolist():
            bit = 1 << step
            if self.received & bit:
                raise ValueError(
                    f"Step {step} of episode {feedback.id} has been observed already; observe each "
                    "step once."
                )
            self.received |= bit
        self._find_end(feedback, shape)

    def _find_end(self, feedback: Feedback, shape: Shape) -> None:
        """Set `length` if a step of `feedback` reaches a terminal state of `shape`.

        Raises ValueError if a step after the terminal state has arrived.
        """
        if not shape.terminal:
            return
        for step in feedback.steps[shape.is_terminal[feedback.successors]].tolist():
            self.length = min(step + 1, self.length or shape.horizon)
        steps = max(self.received.bit_length(), 0 if self.path is None else self.path.steps.size)
        if self.length is not None and steps > self.length:
            raise ValueError(
                f"Step {steps - 1} of episode {feedback.id} comes after step {self.length - 1}, "
                "which reaches a terminal state; an episode ends there."
            )

    def is_complete(self, horizon: int) -> bool:
        """Return whether the feedback of all steps of the episode has arrived.

        The episode has `horizon` steps, or fewer if it has ended in a terminal state.
        """
        return self.received.bit_count() == (self.length or horizon)


def snapshot_pending(pending: dict[int, PendingEpisode]) -> dict[str, Any]:
    """Return the records of pending episodes as plain arrays and numbers, for `restore_pending`.

    `pending` maps the id of each episode to its record. The id, the instance and `started` of every
    episode are stored. If feedback of an episode has arrived, the received steps are stored too,
    and the path and the length if they are known.
    """
    partial = []
    for place, episode in enumerate(pending.values()):
        path = episode.path
        if episode.received or path is not None:
            received = range(episode.received.bit_length())
            partial.append(
                {
                    "place": place,
                    "received": [step for step in received if episode.received >> step & 1],
                    "states": None
                    if path is None
                    else np.append(path.states, path.successors[-1:]),
                    "actions": None if path is None else path.actions.copy(),
                    **({} if episode.length is None else {"length": episode.length}),
                }
            )

    def column(name: str) -> Ints:
        return np.array([getattr(episode, name) for episode in pending.values()], np.int64)

    # STARTS only if the updater needs them
    is_needed = any(episode.opened_us or episode.batch >= 0 for episode in pending.values())
    return {
        "ids": np.array(list(pending), np.int64),
        "instances": column("instance"),
        "started": column("started"),
        "partial": partial,
        **{name: column(name) for name in STARTS if is_needed},
    }


def restore_pending(
    state: dict[str, Any], shape: Shape, *, instances: int
) -> dict[int, PendingEpisode]:
    """Return the records of pending episodes, in the order in which they were saved.

    Parameters
    ----------
    state : dict
        Result of `snapshot_pending`.
    shape : Shape
        Size of the problem.
    instances : int
        Number of instances of the learner.

    Returns
    -------
    dict
        Map from the id of each episode to its record.

    Raises
    ------
    ValueError
        If an id occurs twice, or an id, instance, step, state or action is out of range.
    """
    check_range("instances of pending episodes", state["instances"], 0, instances - 1)
    ids, indices = state["ids"].tolist(), state["instances"].tolist()
    # absent in snapshots from before delays were counted
    started = state.get("started", np.zeros(len(ids), np.int64))
    check_range("starts of pending episodes", started, 0, 2**62)
    pending = {
        check_id("The id of a pending episode", id): PendingEpisode(index, started=int(start))
        for id, index, start in zip(ids, indices, started, strict=True)
    }
    if len(pending) < len(ids):
        raise ValueError("Each pending episode must occur once.")
    for name in STARTS:
        if name in state:
            check_same_size(state["ids"], state[name])
            check_range(f"{name} of pending episodes", state[name], -1, LATEST)
            for episode, number in zip(pending.values(), state[name].tolist(), strict=True):
                setattr(episode, name, number)
    for part in state["partial"]:
        id = ids[check_integer("place", part["place"], 0)]
        episode, length = pending[id], part.get("length")
        check_range("received steps", part["received"], 0, shape.horizon - 1)
        check_range("length of an episode", length or 1, 1, shape.horizon)
        episode.received = sum(1 << step for step in set(part["received"]))
        episode.length = length
        if part["states"] is not None:
            path = Episode(id, part["states"], part["actions"])
            path.check(shape)
            episode.path = path_of(path)
    return pending


def join_steps(
    feedback: Sequence[Feedback],
    pending: Mapping[int, PendingEpisode],
    seen: IdSet,
    shape: Shape,
) -> dict[int, Steps]:
    """Check that single steps join one another and the steps observed before.

    Two consecutive steps join if the first leads to the state in which the second begins.

    Parameters
    ----------
    feedback : sequence of Feedback
        Feedback of one step each, in any order. A step from a terminal state is padding.
    pending : mapping
        Map from the id of each episode in flight to its record; the records are not changed.
    seen : IdSet
        Ids of the episodes that are complete. Their padding is ignored.
    shape : Shape
        Size of the problem.

    Returns
    -------
    dict
        Map from the id of each episode to its known steps, which are a map from the number of a
        step to its state and next state. It contains the episodes of all steps in `feedback` that
        are not padding.

    Raises
    ------
    ValueError
        If steps do not join, or if padding does not follow the end of its episode.
    """
    found: dict[int, Steps] = {}
    padding = []
    for item in feedback:
        id, step, state, successor = item.id, *(int(column[0]) for column in item[1:3] + item[4:5])
        if shape.is_terminal[state]:
            padding.append((id, step, state))
            continue
        known = found.get(id)
        if known is None:
            known = found[id] = dict(pending[id].steps) if id in pending else {}
        known.setdefault(step, (state, successor))
        _check_joins(id, known, step, shape)
    for id, step, state in padding:
        if id not in seen:
            episode = pending.get(id, PendingEpisode(0))
            _check_padding(id, step, state, found.get(id, episode.steps), episode.length, shape)
    return found


def _check_joins(id: int, known: Mapping[int, tuple[int, int]], step: int, shape: Shape) -> None:
    """Raise ValueError unless `step` of an episode joins the known steps before and after it.

    `known` maps steps to their states and next states. Steps at a terminal state are not compared:
    `PendingEpisode` checks that none follows.
    """
    for before in (step - 1, step):
        pair = {each: known[each] for each in (before, before + 1) if each in known}
        if find_break(pair) is None:
            continue
        reached, begun = pair[before][1], pair[before + 1][0]
        if shape.is_terminal[reached] or shape.is_terminal[begun]:
            continue
        if before == step:
            rule = f"lead to state {begun}, in which step {step + 1} begins, got state {reached}"
        else:
            rule = f"begin in state {reached}, to which step {before} leads, got state {begun}"
        raise ValueError(f"Step {step} of episode {id} must {rule}.")


def _check_padding(
    id: int,
    step: int,
    state: int,
    known: Mapping[int, tuple[int, int]],
    length: int | None,
    shape: Shape,
) -> None:
    """Raise ValueError unless a step of padding follows the end of its episode.

    Parameters
    ----------
    id : int
        Id of the episode.
    step, state : int
        Number of the padding step, and the terminal state in which it begins.
    known : mapping
        Map from known steps to their states and next states. The first step that reaches a terminal
        state is the end of the episode.
    length : int or None
        Number of steps of the episode, used if no known step reaches a terminal state; None if the
        episode is not known to have ended.
    shape : Shape
        Size of the problem.
    """
    ends = {each + 1: to for each, (_, to) in known.items() if shape.is_terminal[to]}
    end = min(ends, default=length)
    if end is None or not is_padding_after((end, ends.get(end, state)), step, state):
        why = (
            "no step that reaches it has been observed"
            if end is None
            else f"it ends after step {end - 1} in state {ends.get(end, state)}"
        )
        raise ValueError(
            f"Step {step} of episode {id} must not begin in the terminal state {state}: {why}."
        )
