"""Steps of feedback: their validation, and the checks that the steps of one episode join.

Steps join if each one begins in the state to which the step before it leads. Steps in requests are
checked for this. Stored steps are not, since early versions recorded steps that do not join.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from belated.ledger.outcomes import Conflict, Invalid
from belated.ledger.problems import ProblemSpec
from belated.ledger.recording.deduplication import REMEDY, Claim
from belated.ledger.recording.parts import END, PATH, WHOLE, Parts, end_part
from belated.ledger.recording.values import (
    ContentError,
    check_allowed,
    check_fields,
    check_padding,
    check_rewards_known,
    check_stays,
    count_items,
    parse_index,
    parse_reward,
    parse_step,
    shorten,
)

ParsedStep: TypeAlias = dict[str, Any]
"""Step of an episode, as a dict.

The keys "step", "state", "action" and "next_state" have indices as values. The key "reward" has a
number or None as its value; it is absent in padding."""

PADDING: Final = "padding"
"""Key of padding in a dict of parts, if the request does not contain the end of the episode.

The end is the step that reaches the terminal state. The padding is compared with the end that was
recorded earlier. It is not recorded itself."""


def parse_steps(steps: object, spec: ProblemSpec, *, received: bool) -> Parts:
    """Validate a list of steps, and convert it to parts.

    Parameters
    ----------
    steps : list
        Steps of one episode, in any order.
    spec : ProblemSpec
        Problem of the episode.
    received : bool
        True if the steps come from a request, False if they are stored in the ledger. Steps in a
        request must join. Padding in a request without the end of the episode is returned under the
        key `PADDING`; all other padding is dropped.

    Returns
    -------
    Parts
        Map from the name of each part to its value: one part for each step, in order of the steps,
        and the part that marks the end if the episode ends before the horizon.

    Raises
    ------
    ContentError
        If the steps are not valid.
    """
    if not isinstance(steps, list | tuple) or not steps:
        raise ContentError(
            "steps", f"steps must be a list of at least one step, got {shorten(steps)}."
        )
    columns = {
        "state": spec.state_numbers,
        "action": spec.action_numbers,
        "next_state": spec.state_numbers,
    }
    by_number: dict[int, ParsedStep] = {}
    places: dict[int, str] = {}  # path of each step in the request, by number of the step
    padding: dict[str, ParsedStep] = {}  # by path
    for i, given in enumerate(steps):
        where = f"steps[{i}]"
        step = _parse_one(where, given, columns, spec)
        number = step["step"]
        if spec.shape.is_terminal[step["state"]]:
            padding[where] = step
            continue
        places[number] = where
        if by_number.setdefault(number, step) != step:
            raise ContentError(
                where,
                f"{where} is step {number} again with different content; send each step once.",
            )
    ordered = [by_number[number] for number in sorted(by_number)]
    parts: Parts = {f"step:{step['step']}": step for step in ordered}
    parts |= _find_end(ordered, spec)
    if received:
        _check_joins(ordered, places, spec)
        if padding and not _has_checked_padding(padding, ordered, spec):
            parts[PADDING] = padding
    return parts


def _parse_one(
    where: str, step: object, columns: Mapping[str, Mapping[str, int]], spec: ProblemSpec
) -> ParsedStep:
    """Check one step of feedback, and return it with indices instead of names.

    Parameters
    ----------
    where : str
        Path of the step in the feedback, such as "steps[0]", for error messages.
    step : object
        The step, as it was sent or stored.
    columns : mapping
        Map from each of the fields "state", "action" and "next_state" to a map from the names that
        the field may contain to their indices.
    spec : ProblemSpec
        Problem of the episode.

    Returns
    -------
    ParsedStep
        The step. It has no reward if it is padding.

    Raises
    ------
    ContentError
        If the step is not valid.
    """
    if not isinstance(step, Mapping):
        raise ContentError(where, f"{where} must be an object, got {shorten(step)}.")
    check_fields(step, "step", *columns, "reward", within=where)
    parsed: ParsedStep = {"step": parse_step(f"{where}.step", step.get("step"), spec.horizon)}
    for name, numbers in columns.items():
        factors = None if name == "action" else spec.factors
        parsed[name] = parse_index(f"{where}.{name}", step.get(name), numbers, factors)
    reward = step.get("reward")
    if spec.shape.is_terminal[parsed["state"]]:
        check_stays(where, parsed["state"], parsed["next_state"], spec)
        check_padding(f"{where}.reward", reward)
        return parsed
    check_allowed(f"{where}.action", parsed["step"], parsed["state"], parsed["action"], spec)
    if reward is None:
        check_rewards_known(f"{where}.reward", spec)
    else:
        reward = parse_reward(f"{where}.reward", None, reward, spec)
    parsed["reward"] = reward
    return parsed


def _find_end(steps: Sequence[ParsedStep], spec: ProblemSpec) -> Parts:
    """Return a dict with the part that marks the end, if one of `steps` reaches a terminal state.

    `steps` must be in order. The dict is empty if the episode does not end before the horizon.
    Raises ContentError if a step follows the end.
    """
    ends = [step["step"] for step in steps if spec.shape.is_terminal[step["next_state"]]]
    if ends and steps[-1]["step"] > ends[0]:
        raise ContentError(
            "steps",
            f"steps must end with step {ends[0]}, which reaches a terminal state, "
            f"got step {steps[-1]['step']}.",
        )
    return end_part(ends[0] + 1, spec.horizon) if ends else {}


def _check_joins(steps: Sequence[ParsedStep], places: dict[int, str], spec: ProblemSpec) -> None:
    """Raise ContentError if two consecutive `steps` do not join. `steps` must be in order.

    `places` maps the number of each step to its path in the request, for the error message.
    """
    for before, after in pairwise(steps):
        if after["step"] == before["step"] + 1 and after["state"] != before["next_state"]:
            field = f"{places[after['step']]}.state"
            raise ContentError(
                field,
                f"{field} must be {spec.states[before['next_state']]!r}, the next_state of step "
                f"{before['step']}, got {spec.states[after['state']]!r}.",
            )


def _has_checked_padding(
    padding: Mapping[str, ParsedStep], steps: Sequence[ParsedStep], spec: ProblemSpec
) -> bool:
    """Compare `padding` with `steps` of the same request; return whether `steps` contain the end.

    The end is the step that reaches a terminal state. `padding` maps the path of each padding step
    in the request to the step. `steps` are all other steps, in order. Raises ContentError if a
    padding step is step 0, if it is not after all of `steps`, or if it is in another terminal state
    than the one that the end reaches.
    """
    last = steps[-1] if steps else None
    end = None if last is None or not spec.shape.is_terminal[last["next_state"]] else last
    for where, step in padding.items():
        field = f"{where}.state"
        if step["step"] == 0 or (last is not None and step["step"] <= last["step"]):
            raise ContentError(
                field,
                f"{field} must not be a terminal state at step {step['step']}, "
                f"got {spec.states[step['state']]!r}; an episode ends when it reaches one.",
            )
        if end is not None:
            check_stays(field, end["next_state"], step["state"], spec)
    return end is not None


def compare_padding(
    padding: Mapping[str, ParsedStep],
    known: Mapping[str, Claim],
    load: Callable[[int], Parts],
    spec: ProblemSpec,
) -> Invalid | Conflict | None:
    """Compare padding with the recorded end of its episode.

    Use this function if the request does not contain the end, the step that reaches the terminal
    state.

    Parameters
    ----------
    padding : mapping
        Map from the path of each padding step in the request, such as "steps[0]", to the step.
    known : mapping
        Map from the name of each recorded part of the episode to its claim.
    load : callable
        Function that returns the parts of the feedback event with a given seq.
    spec : ProblemSpec
        Problem of the episode.

    Returns
    -------
    Invalid, Conflict or None
        Invalid if no end is recorded. Conflict if the recorded end is in another state than the
        padding, or after a step of the padding. None if the padding may follow the recorded end.
    """
    seq = next((known[part].seq for part in known if part == WHOLE or part.startswith(END)), None)
    end = None if seq is None else _read_end(load(seq), spec)
    for where, step in padding.items():
        field, name = f"{where}.state", spec.states[step["state"]]
        if end is None or seq is None:
            return Invalid(
                f"{field} must not be a terminal state, got {name!r}, because no step that "
                "reaches it is recorded; send that step first, or in the same request.",
                field,
            )
        if not _belongs_to(step, end):
            steps, state = end
            return Conflict(
                f"The episode has ended in {spec.states[state]!r} after "
                f"{count_items(steps, 'step')}, which contradicts step {step['step']} in {name!r}"
                f"{REMEDY}",
                seq,
            )
    return None


def find_superseded_end(
    padding: Mapping[str, ParsedStep], earlier: Iterable[tuple[int, Parts]], spec: ProblemSpec
) -> int | None:
    """Find the replaced feedback that contains the end of an episode before given padding.

    Feedback is replaced when a correction of its episode is recorded. The end is the step that
    reaches a terminal state. It must be before all padding steps, and they must be in its state.

    Parameters
    ----------
    padding : mapping
        Map from the path of each padding step in the request, such as "steps[0]", to the step.
    earlier : iterable of (int, Parts)
        Seq and parts of each feedback event of the episode that a correction has replaced.
    spec : ProblemSpec
        Problem of the episode.

    Returns
    -------
    int or None
        Seq of the first event in `earlier` that contains the end; None if there is no such event.
    """
    for seq, parts in earlier:
        end = _read_end(parts, spec)
        if end is not None and all(_belongs_to(step, end) for step in padding.values()):
            return seq
    return None


def _belongs_to(step: ParsedStep, end: tuple[int, int]) -> bool:
    """Return whether the padding `step` is in the terminal state of an episode, after its end.

    `end` is the number of steps of the episode and the index of its terminal state.
    """
    steps, state = end
    return bool(step["state"] == state and step["step"] >= steps)


def _read_end(parts: Parts, spec: ProblemSpec) -> tuple[int, int] | None:
    """Return the number of steps of an episode, and the index of its terminal state.

    Returns None if `parts` do not contain the end of the episode.
    """
    path = parts.get(WHOLE) or parts.get(PATH)
    if path is not None:
        state = path["states"][-1]
        return (len(path["actions"]), state) if spec.shape.is_terminal[state] else None
    part = next((part for part in parts if part.startswith(END)), None)
    if part is None:
        return None
    steps = int(part.removeprefix(END))
    return steps, parts[f"step:{steps - 1}"]["next_state"]


def find_gap(
    new: Parts, known: Mapping[str, Claim], read_body: Callable[[int], str], spec: ProblemSpec
) -> Conflict | None:
    """Check that new steps join the recorded steps directly before and after them.

    Parameters
    ----------
    new : Parts
        Steps that are not recorded yet; other parts are ignored.
    known : mapping
        Map from the name of each recorded part of the episode to its claim.
    read_body : callable
        Function that returns the body of the event with a given seq, as JSON.
    spec : ProblemSpec
        Problem of the episode.

    Returns
    -------
    Conflict or None
        Conflict with the first recorded step that a new step does not join; None if all join.
    """
    for step in new.values():
        if not isinstance(step, dict) or "next_state" not in step:
            continue
        for number, claim in _find_neighbours(step["step"], known):
            recorded = json.loads(read_body(claim.seq))["steps"]
            other = next(each for each in recorded if each["step"] == number)
            before, after = (other, step) if number < step["step"] else (step, other)
            if before["next_state"] != after["state"]:
                return Conflict(
                    f"Step {before['step']} leads to {spec.states[before['next_state']]!r}, but "
                    f"step {after['step']} begins in {spec.states[after['state']]!r}; step "
                    f"{number} is recorded{REMEDY}",
                    claim.seq,
                )
    return None


def find_neighbour_seqs(content: object, known: Mapping[str, Claim]) -> set[int]:
    """Return the seqs of the recorded events that `find_gap` may read for new feedback.

    The feedback need not have been validated.

    Parameters
    ----------
    content : object
        Content of the feedback, of any form.
    known : mapping
        Map from the name of each recorded part of the episode to its claim.

    Returns
    -------
    set of int
        Seqs of the events that contain the steps directly before and after the steps in `content`.
    """
    steps = content.get("steps") if isinstance(content, Mapping) else None
    given = steps if isinstance(steps, list | tuple) else ()
    numbers = [each.get("step") for each in given if isinstance(each, Mapping)]
    return {
        claim.seq
        for number in numbers
        if isinstance(number, int)
        for _, claim in _find_neighbours(number, known)
    }


def _find_neighbours(number: int, known: Mapping[str, Claim]) -> list[tuple[int, Claim]]:
    """Return the number and the claim of each recorded step directly before or after step `number`.

    `known` maps the name of each recorded part of the episode to its claim.
    """
    found = ((near, known.get(f"step:{near}")) for near in (number - 1, number + 1))
    return [(near, claim) for near, claim in found if claim is not None]
