"""Parcel: what comes back at once of one episode, as a learner takes it in."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Episode, Floats, Ints, Shape, Step


class Parcel(NamedTuple):
    """Some steps of one episode: their transitions, their rewards or both."""

    id: int
    steps: Ints
    states: Ints
    actions: Ints
    successors: Ints
    rewards: Floats | None
    transitions: bool = True  # whether these are new
    late: bool = True  # whether this is what comes late: the rewards, where only those do

    def rows(self, shape: Shape, stages: int) -> Ints:
        """(stage * S + state) * A + action of each step; pooled counts are one stage."""
        stage = self.steps if stages > 1 else 0
        rows: Ints = (stage * shape.states + self.states) * shape.actions + self.actions
        return rows


def joined(parcels: Sequence[Parcel]) -> Parcel:
    """Several as one, in this order; whose they are is forgotten."""
    if len(parcels) == 1:
        return parcels[0]
    brought = [parcel.rewards for parcel in parcels if parcel.rewards is not None]
    rewards = np.concatenate(brought) if len(brought) == len(parcels) else None
    return Parcel(
        0,
        np.concatenate([parcel.steps for parcel in parcels]),
        np.concatenate([parcel.states for parcel in parcels]),
        np.concatenate([parcel.actions for parcel in parcels]),
        np.concatenate([parcel.successors for parcel in parcels]),
        rewards,
    )


def whole(episode: Episode) -> Parcel:
    """All of an episode."""
    states, actions = episode.states, episode.actions
    steps = np.arange(actions.size)
    return Parcel(episode.id, steps, states[:-1], actions, states[1:], episode.rewards)


def single(step: Step) -> Parcel:
    """One step."""
    return Parcel(
        step.id,
        steps=np.array([step.step]),
        states=np.array([step.state]),
        actions=np.array([step.action]),
        successors=np.array([step.successor]),
        rewards=None if step.reward is None else np.array([step.reward]),
    )


def path(episode: Episode) -> Parcel:
    """An episode but for its rewards, which are late."""
    return whole(episode)._replace(rewards=None, late=False)


def earned(id: int, given: ArrayLike, shape: Shape) -> Floats:
    """What the steps of an episode earned, nan where that is still to come; checked."""
    nothing = np.zeros(0, np.int64)
    rewards = Episode(id, [0], nothing, np.nan if given is None else given).rewards
    assert rewards is not None
    Episode(id, [0], nothing, np.nan_to_num(rewards)).check_rewards(shape)
    return rewards


def paid(known: Parcel, rewards: Floats) -> Parcel:
    """The rewards of a path that is known, nan where they are still to come."""
    come = np.flatnonzero(~np.isnan(rewards))
    return Parcel(
        known.id,
        known.steps[come],
        known.states[come],
        known.actions[come],
        known.successors[come],
        rewards[come],
        transitions=False,
    )
