"""Check that the single steps of an episode join.

Steps join if each one begins in the state to which the step before it leads.
"""

from collections.abc import Mapping, Sequence

from belated.id_set import IdSet
from belated.learner.feedback import Feedback, PendingEpisode
from belated.shape import Shape


def join_steps(
    feedback: Sequence[Feedback],
    pending: Mapping[int, PendingEpisode],
    seen: IdSet,
    shape: Shape,
) -> dict[int, dict[int, int]]:
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
        Map from the id of each episode to its known states, which are a map from a position,
        0 .. H, to a state. It contains the episodes of all steps in `feedback` that are not
        padding.

    Raises
    ------
    ValueError
        If steps do not join, or if padding does not follow the end of its episode.
    """
    states: dict[int, dict[int, int]] = {}
    padding = []
    for item in feedback:
        id, step, state, successor = item.id, *(int(column[0]) for column in item[1:3] + item[4:5])
        if shape.is_terminal[state]:
            padding.append((id, step, state))
            continue
        known = states.get(id)
        if known is None:
            known = states[id] = dict(pending[id].states) if id in pending else {}
        _join(id, known, step, state, shape, f"begin in state {{}}, to which step {step - 1} leads")
        rule = f"lead to state {{}}, in which step {step + 1} begins"
        _join(id, known, step + 1, successor, shape, rule)
    for id, step, state in padding:
        if id not in seen:
            episode = pending.get(id, PendingEpisode(0))
            _check_padding(id, step, state, states.get(id, episode.states), episode.length, shape)
    return states


def _join(
    id: int, known: dict[int, int], position: int, state: int, shape: Shape, rule: str
) -> None:
    """Record the state at a position of an episode, or check it if it is known.

    Parameters
    ----------
    id : int
        Id of the episode, for the error message.
    known : dict
        Map from positions in the episode, 0 .. H, to known states; changed in place.
    position, state : int
        Position, and the state at this position.
    shape : Shape
        Size of the problem.
    rule : str
        Text for the error message that says how the expected state is determined.

    Raises
    ------
    ValueError
        If another state is known at this position, unless one of the two states is terminal.
        `PendingEpisode` checks steps after a terminal state.
    """
    found = known.setdefault(position, state)
    if found != state and not (shape.is_terminal[found] or shape.is_terminal[state]):
        step = position if rule.startswith("begin") else position - 1
        raise ValueError(
            f"Step {step} of episode {id} must {rule.format(found)}, got state {state}."
        )


def _check_padding(
    id: int, step: int, state: int, known: Mapping[int, int], length: int | None, shape: Shape
) -> None:
    """Raise ValueError unless a step of padding follows the end of its episode.

    Parameters
    ----------
    id : int
        Id of the episode.
    step, state : int
        Number of the padding step, and the terminal state in which it begins.
    known : mapping
        Map from positions in the episode, 0 .. H, to known states. The first terminal state among
        them is the end of the episode.
    length : int or None
        Number of steps of the episode, used if no known state is terminal; None if the episode is
        not known to have ended.
    shape : Shape
        Size of the problem.
    """
    ends = {position: at for position, at in known.items() if shape.is_terminal[at]}
    end = min(ends, default=length)
    if end is None or step < end or state != ends.get(end, state):
        why = (
            "no step that reaches it has been observed"
            if end is None
            else f"it ends after step {end - 1} in state {ends.get(end, state)}"
        )
        raise ValueError(
            f"Step {step} of episode {id} must not begin in the terminal state {state}: {why}."
        )
