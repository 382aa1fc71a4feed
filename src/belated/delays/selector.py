"""Selection of a delay law by the played episode, as plain arrays that compiled code can read."""

from typing import Final, NamedTuple

import numpy as np

from belated.compiled import kernel
from belated.episode import Episode, Floats, Ints
from belated.shape import Shape

# Values of `Selector.kind`:
INDEPENDENT: Final = 0  # there is one law for all episodes
BY_ACTION: Final = 1  # by the action played at a step
BY_STATE: Final = 2  # by the state at a step
BY_RETURN: Final = 3  # by the sum of the rewards


class Selector(NamedTuple):
    """Rule that maps a played episode to one of several laws, its group."""

    kind: int  # INDEPENDENT, BY_ACTION, BY_STATE or BY_RETURN
    groups: int  # number of groups, at least 1
    step: int  # step, from 0, whose action or state is looked up
    table: Ints  # group of each state; of each action, and last if the episode ends before `step`
    edges: Floats  # smallest return of each group but the first, in increasing order


ONE_GROUP: Final = Selector(INDEPENDENT, 1, 0, np.zeros(0, np.int64), np.zeros(0))
"""Selector of a law that does not depend on the episode."""


@kernel
def select_group(
    selector: Selector, states: Ints, actions: Ints, rewards: Floats, length: int
) -> int:
    """Return the group of a played episode.

    Parameters
    ----------
    selector : Selector
        Rule, of a kind other than INDEPENDENT.
    states : Ints
        States of the episode, at least `length` + 1.
    actions : Ints
        Actions of the episode, at least `length`.
    rewards : Floats
        Rewards of the episode, at least `length`; they are read only if the kind is BY_RETURN.
    length : int
        Number of steps of the episode.

    Returns
    -------
    int
        Number of the group, from 0.
    """
    if selector.kind == BY_ACTION:
        if selector.step >= length:
            return int(selector.table[selector.table.size - 1])
        return int(selector.table[actions[selector.step]])
    if selector.kind == BY_STATE:
        return int(selector.table[states[min(selector.step, length)]])
    total = 0.0
    for h in range(length):
        total += rewards[h]
    group = 0
    while group < selector.edges.size and total >= selector.edges[group]:
        group += 1
    return group


def group_of(selector: Selector, episode: Episode, shape: Shape) -> int:
    """Return the group of an episode.

    Parameters
    ----------
    selector : Selector
        Rule for problems of size `shape`.
    episode : Episode
        Played episode. If the rule is BY_RETURN, its rewards must be known.
    shape : Shape
        Size of the problem.

    Returns
    -------
    int
        Number of the group, from 0.

    Raises
    ------
    ValueError
        If the rule needs the rewards of the episode, and they are not known.
    """
    if selector.kind == INDEPENDENT:
        return 0
    rewards = episode.rewards
    if rewards is None:
        if selector.kind == BY_RETURN:
            raise ValueError(
                f"rewards of episode {episode.id} must be given, because its delay depends on "
                "their sum, got none."
            )
        rewards = np.zeros(episode.actions.size)
    length = episode.steps(shape) if shape.terminal else episode.actions.size
    return int(select_group(selector, episode.states, episode.actions, rewards, length))
