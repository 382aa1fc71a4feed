"""Check that the single steps of an episode join.

Steps join if each one begins in the state to which the step before it leads.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from belated.id_set import IdSet
from belated.learner.feedback import Feedback, PendingEpisode
from belated.padding import find_break, is_padding_after
from belated.shape import Shape

Steps: TypeAlias = dict[int, tuple[int, int]]


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
