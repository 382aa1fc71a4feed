"""Deduplication of feedback: detection of parts that are new, repeated or in conflict.

The parts of feedback are defined in `belated.ledger.recording.parts`. A claim is the record that
a part of an episode has arrived; it holds the digest of the part. An episode arrives in one of
three forms: as a whole, as single steps, or as a path and rewards.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from belated.ledger.canonical import canonical, digest
from belated.ledger.outcomes import AlreadyRecorded, Conflict
from belated.ledger.recording.parts import (
    END,
    PATH,
    WHOLE,
    Parts,
    join_parts,
    split_into_path,
    split_into_steps,
)
from belated.ledger.recording.values import count_items

Form = Literal["whole", "steps", "path"]

SPLITTERS: Final[dict[Form, Callable[[Parts, int], Parts]]] = {
    "steps": split_into_steps,
    "path": split_into_path,
}
"""Map from the name of a form to the function that converts a whole episode to this form."""

ZERO_SHA: Final = digest(canonical(0.0))
"""Digest of a reward of 0."""

REMEDY: Final = (
    "; to replace all feedback of the episode, send a correction "
    "(POST /v1/episodes/{episode}/correction)."
)
"""Last part of the message of a conflict: how to replace the recorded feedback."""


class Claim(NamedTuple):
    """Claim: record that a part of the feedback of an episode has arrived."""

    sha: str
    """Digest of the content of the part."""
    seq: int
    """Sequence number of the event that contained the part."""


Claims: TypeAlias = dict[str, Claim]
"""Map from the name of each recorded part of an episode to its claim."""


def digest_parts(parts: Parts) -> dict[str, str]:
    """Return a dict that maps the name of each of `parts` to the digest of its content."""
    return {part: digest(canonical(value)) for part, value in parts.items()}


def encode_parts(parts: Parts) -> tuple[str, dict[str, str]]:
    """Return feedback that consists of `parts` as canonical JSON, and the digests of the parts.

    The digests are returned as a dict that maps the name of each part to the digest.
    """
    text = canonical(join_parts(parts))
    # the text of a whole episode is also that of its only part
    return text, {WHOLE: digest(text)} if WHOLE in parts else digest_parts(parts)


def _form(parts: Iterable[str]) -> Form:
    """Return the form of an episode, given the names of some of its `parts`.

    The form is "whole", "steps", or "path" for a path and rewards.
    """
    part = next(part for part in parts if not part.startswith(END))
    if part == WHOLE:
        return "whole"
    return "path" if part == PATH or part.startswith("reward:") else "steps"


def find_new_parts(
    parts: Parts, known: Mapping[str, Claim], load: Callable[[int], Parts], *, horizon: int
) -> Parts | AlreadyRecorded | Conflict:
    """Return the parts of feedback that are not yet recorded for its episode.

    An episode keeps the form in which it first arrived. For example, a whole episode that arrives
    after some of its steps is recorded as the remaining steps.

    Parameters
    ----------
    parts : Parts
        Parts of the feedback.
    known : mapping
        Map from the name of each recorded part of the episode to its claim.
    load : callable
        Function that returns the parts of the feedback event with a given seq.
    horizon : int
        Number of steps of an episode that does not end early.

    Returns
    -------
    Parts, AlreadyRecorded or Conflict
        The new parts. AlreadyRecorded if no part is new. Conflict if a part differs from the
        recorded part of the same name, if a part is of a step after the end of the episode, or if
        the episode has arrived in another form to which the new parts cannot be converted.
    """
    if not known:
        return parts
    form, known_form = _form(parts), _form(known)
    if form != known_form:
        if known_form == "whole":
            seq = known[WHOLE].seq
            digests = digest_parts(SPLITTERS[form](load(seq), horizon))
            known = {part: Claim(sha, seq) for part, sha in digests.items()}
        elif form == "whole":
            parts = SPLITTERS[known_form](parts, horizon)
        else:
            seq = min(claim.seq for claim in known.values())
            names: dict[Form, str] = {"steps": "steps", "path": "path and rewards"}
            return Conflict(
                f"Feedback of this episode has already arrived as {names[known_form]}; send the "
                f"rest as {names[known_form]} too, not as {names[form]}.",
                seq,
            )
    kept = _drop_padding(parts, known)
    if isinstance(kept, Conflict):
        return kept
    # feedback that consists of padding repeats what is known
    new, seq = {}, 0 if kept else max(claim.seq for claim in known.values())
    for part, sha in digest_parts(kept).items():
        claim = known.get(part)
        if claim is None:
            new[part] = kept[part]
        elif claim.sha != sha:
            return Conflict(
                f"{_describe(part).capitalize()} has already arrived with different content"
                f"{REMEDY}",
                claim.seq,
            )
        else:
            seq = max(seq, claim.seq)
    return new or AlreadyRecorded(seq)


def _drop_padding(parts: Parts, known: Mapping[str, Claim]) -> Parts | Conflict:
    """Return the new `parts` of an episode without rewards of 0 after its end, which are padding.

    `known` maps the name of each recorded part to its claim. The end is that of the part "end:..."
    among the new and the recorded parts. If there is no such part, `parts` are returned unchanged.
    Returns a Conflict if a new or recorded part other than padding belongs to a step after the end,
    or if there is also a part that marks a later end.
    """
    ends = [_number(part) for part in (*known, *parts) if part.startswith(END)]
    if not ends:
        return parts
    end, kept = min(ends), dict(parts)
    for part in (*known, *parts):
        if _number(part) < end or part in (f"{END}{end}", WHOLE, PATH):
            continue
        claim = known.get(part)
        if parts.get(part, 0) != 0 or (claim is not None and claim.sha != ZERO_SHA):
            seq = max(each.seq for each in known.values()) if claim is None else claim.seq
            return Conflict(
                f"The episode ends after {count_items(end, 'step')} in a terminal state, which "
                f"contradicts {_describe(part)}{REMEDY}",
                seq,
            )
        kept.pop(part, None)
    return kept


def _number(part: str) -> int:
    """Return the number in the name `part`, such as 3 in "step:3"; -1 if there is no number."""
    number = part.partition(":")[2]
    return int(number) if number else -1


def find_superseded(
    parts: Parts, earlier: Iterable[tuple[int, Parts]], *, horizon: int
) -> int | None:
    """Find the replaced feedback that new feedback repeats.

    Feedback is replaced when a correction of its episode is recorded. A whole episode is compared
    in all three forms: as a whole, as steps, and as a path and rewards. A new reward of 0 for a
    step after the end of the episode is padding; it repeats the replaced event that contains the
    end.

    Parameters
    ----------
    parts : Parts
        Parts of the new feedback.
    earlier : iterable of (int, Parts)
        Seq and parts of each feedback event of the episode that a correction has replaced.
    horizon : int
        Number of steps of an episode that does not end early.

    Returns
    -------
    int or None
        If each part of the new feedback is in some event of `earlier`, the largest seq of these
        events; otherwise None.
    """
    old = {
        claim: seq
        for seq, earlier_parts in earlier
        for form in _all_forms(earlier_parts, horizon)
        for claim in digest_parts(form).items()
    }
    ends = {_number(part): seq for (part, _), seq in old.items() if part.startswith(END)}
    after_end = range(min(ends, default=horizon), horizon)
    for form in _all_forms(parts, horizon):
        found = [
            ends[after_end.start]
            if part.startswith("reward:") and _number(part) in after_end and sha == ZERO_SHA
            else old.get((part, sha))
            for part, sha in digest_parts(form).items()
        ]
        if None not in found:
            return max(seq for seq in found if seq is not None)
    return None


def _all_forms(parts: Parts, horizon: int) -> list[Parts]:
    if WHOLE not in parts:
        return [parts]
    return [parts, split_into_steps(parts, horizon), split_into_path(parts, horizon)]


def _describe(part: str) -> str:
    name, _, step = part.partition(":")
    if name == WHOLE:
        return "the feedback of the episode"
    if name == PATH:
        return "the path of the episode"
    if name == "end":
        return f"the end of the episode after {count_items(int(step), 'step')}"
    what = "step" if name == "step" else "the reward at step"
    return f"{what} {step} of the episode"
