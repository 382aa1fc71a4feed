"""Parts of feedback: their names, and their conversion between the forms of an episode.

A part is the smallest unit of feedback that is recorded: a whole episode, one step, the path of an
episode, or the reward of one step. Parts are named "whole", "step:3", "path" or "reward:3", where 3
is the step. In a part, states and actions are given as indices. If an episode reaches a terminal
state after fewer steps than the horizon, for example after 4, there is also the part "end:4". It is
recorded together with the step or path that reaches the terminal state.
"""

from collections.abc import Collection
from typing import Any, Final, TypeAlias

Parts: TypeAlias = dict[str, Any]

WHOLE: Final = "whole"
PATH: Final = "path"
END: Final = "end:"
"""Prefix of the name of the part that marks the end of an episode.

The prefix is followed by the number of steps, as in "end:4". Only an episode with fewer steps than
the horizon has this part."""


def join_parts(parts: Parts) -> dict[str, Any]:
    """Return `parts` as content of feedback, which `parse_content` converts back to `parts`."""
    if WHOLE in parts:
        return dict(parts[WHOLE])
    steps = [value for part, value in parts.items() if part.startswith("step:")]
    if steps:
        return {"steps": steps}
    content: dict[str, Any] = {}
    if PATH in parts:
        content["path"] = parts[PATH]
    rewards = {
        part.partition(":")[2]: value for part, value in parts.items() if part.startswith("reward:")
    }
    if rewards:
        content["rewards"] = rewards
    return content


def split_into_steps(parts: Parts, horizon: int | None = None) -> Parts:
    """Convert the part "whole" in `parts` to one part for each step, and return these parts.

    If the episode has fewer than `horizon` steps, the part that marks its end is included; if
    `horizon` is None, it is not.
    """
    whole = parts[WHOLE]
    states, rewards = whole["states"], whole["rewards"] or [None] * len(whole["actions"])
    return {
        f"step:{h}": {
            "step": h,
            "state": states[h],
            "action": action,
            "next_state": states[h + 1],
            "reward": rewards[h],
        }
        for h, action in enumerate(whole["actions"])
    } | end_part(len(whole["actions"]), horizon)


def split_into_path(parts: Parts, horizon: int | None = None) -> Parts:
    """Convert the part "whole" in `parts` to the path and one part for each reward.

    Returns these parts. If the episode contains no rewards, there are no parts for rewards. If it
    has fewer than `horizon` steps, the part that marks its end is included; if `horizon` is None,
    it is not.
    """
    whole = parts[WHOLE]
    path = {"states": whole["states"], "actions": whole["actions"]}
    rewards = {f"reward:{h}": r for h, r in enumerate(whole["rewards"] or [])}
    return {PATH: path, **rewards} | end_part(len(path["actions"]), horizon)


def end_part(steps: int, horizon: int | None) -> Parts:
    """Return a dict with the part that marks the end of an episode after a number of `steps`.

    The dict maps the name of the part, such as "end:4", to True. It is empty if the episode has as
    many steps as `horizon`, or if `horizon` is None.
    """
    return {f"{END}{steps}": True} if horizon is not None and steps < horizon else {}


def is_complete(parts: Collection[str], horizon: int) -> bool:
    """Return whether the feedback of an episode is complete, given the names of its `parts`.

    `horizon` is the number of steps of an episode that does not reach a terminal state.

    >>> is_complete({"step:0", "end:1"}, 3), is_complete({"path", "reward:0"}, 3)
    (True, False)
    """
    if WHOLE in parts:
        return True
    ends = [int(part.removeprefix(END)) for part in parts if part.startswith(END)]
    steps = min(ends, default=horizon)
    arrived = {part.partition(":")[2] for part in parts if part.startswith(("step:", "reward:"))}
    has_path = PATH in parts or any(part.startswith("step:") for part in parts)
    return has_path and len(arrived) >= steps
