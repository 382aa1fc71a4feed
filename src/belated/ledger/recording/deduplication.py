"""Claims: which parts of an episode have come, and what of new feedback is new."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from belated.ledger.canonical import canonical, digest
from belated.ledger.outcomes import AlreadyRecorded, Conflict
from belated.ledger.recording.content import PATH, WHOLE, Parts, as_path, as_steps, body_of

Form = Literal["whole", "steps", "path"]

SPLIT: Final[dict[Form, Callable[[Parts], Parts]]] = {"steps": as_steps, "path": as_path}


class Claim(NamedTuple):
    """A part of an episode that has come: its digest, and where it stands."""

    sha: str
    seq: int


Claims: TypeAlias = dict[str, Claim]


def shas(parts: Parts) -> dict[str, str]:
    """The digest of each part."""
    return {part: digest(canonical(value)) for part, value in parts.items()}


def written(parts: Parts) -> tuple[str, dict[str, str]]:
    """Feedback with these parts in canonical JSON, and the digest of each part."""
    text = canonical(body_of(parts))
    # a whole episode is its own only part
    return text, {WHOLE: digest(text)} if WHOLE in parts else shas(parts)


def form_of(parts: Iterable[str]) -> Form:
    """How an episode comes: as a whole, by steps, or as a path with rewards."""
    part = next(iter(parts))
    if part == WHOLE:
        return "whole"
    return "path" if part == PATH or part.startswith("reward:") else "steps"


def judge(
    parts: Parts, known: Mapping[str, Claim], load: Callable[[int], Parts]
) -> Parts | AlreadyRecorded | Conflict:
    """What of these parts is new; or that nothing is, or that one contradicts what is known.

    `load` gives the parts of the event at a seq. An episode keeps the form in which it first came:
    a whole one after steps of it becomes the steps that are missing.
    """
    if not known:
        return parts
    form, was = form_of(parts), form_of(known)
    if form != was:
        if was == "whole":
            seq = known[WHOLE].seq
            split = shas(SPLIT[form](load(seq)))
            known = {part: Claim(sha, seq) for part, sha in split.items()}
        elif form == "whole":
            parts = SPLIT[was](parts)
        else:
            seq = min(claim.seq for claim in known.values())
            return Conflict(f"The episode has come by {_NAMES[was]}, not by {_NAMES[form]}.", seq)
    new, seq = {}, 0
    for part, sha in shas(parts).items():
        claim = known.get(part)
        if claim is None:
            new[part] = parts[part]
        elif claim.sha != sha:
            return Conflict(f"{_called(part)} has come already, with other content.", claim.seq)
        else:
            seq = max(seq, claim.seq)
    return new or AlreadyRecorded(seq)


def superseded(parts: Parts, history: Iterable[tuple[int, Parts]]) -> int | None:
    """The seq by which all of these parts had come, among feedback that counts no more."""
    old = {
        claim: seq
        for seq, earlier in history
        for form in _forms(earlier)
        for claim in shas(form).items()
    }
    for form in _forms(parts):
        found = [old.get(claim) for claim in shas(form).items()]
        if None not in found:
            return max(seq for seq in found if seq is not None)
    return None


def _forms(parts: Parts) -> list[Parts]:
    return [parts, as_steps(parts), as_path(parts)] if WHOLE in parts else [parts]


_NAMES: Final[dict[Form, str]] = {"steps": "steps", "path": "path and rewards"}


def _called(part: str) -> str:
    name, _, step = part.partition(":")
    if name == WHOLE:
        return "The episode"
    if name == PATH:
        return "Its path"
    return f"Its step {step}" if name == "step" else f"Its reward at step {step}"
