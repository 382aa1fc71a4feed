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

    Parameters
    ----------
    feedback : sequence of Feedback
        Feedback of one step each, in any order. A step from a terminal state is padding.
    pending : mapping
        Episodes in flight, by id; they are not changed.
    seen : IdSet
        Ids of the episodes that are complete. Their padding is ignored.
    shape : Shape
        Size of the problem.

    Returns
    -------
    dict
        For the id of each episode with a step in `feedback`, the known states by position.

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
    """Add `state` to the `known` states by position; raise ValueError if another one is known.

    A step after a terminal state is left to `PendingEpisode`. `rule` describes the expected state.
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
    """Raise ValueError unless padding at `step` in `state` follows the end of episode `id`.

    The end is in the `known` states by position. If it is not, `length` is the number of steps of
    the episode, or None if it is unknown.
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
