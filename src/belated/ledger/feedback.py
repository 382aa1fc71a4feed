"""Recording of feedback and corrections: what is new, repeated or in conflict.

New feedback is compared, as columns and part by part, with the events that hold the recorded
feedback of its episode. Rejected feedback is put in the quarantine.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from belated.ledger.clients import RejectedRequest, quarantine_request
from belated.ledger.content import (
    Columns,
    ContentError,
    Form,
    Part,
    UnusableContent,
    count_items,
    parse_content,
)
from belated.ledger.events import (
    AlreadyRecorded,
    Conflict,
    EpisodeRecord,
    Invalid,
    NotFound,
    Outcome,
    Recorded,
)
from belated.ledger.problems import ProblemSpec
from belated.ledger.schema import canonical
from belated.ledger.transaction import Transaction
from belated.padding import find_break, is_padding_after

if TYPE_CHECKING:
    from belated.ledger.kinds import Feedback

RecordedFeedback: TypeAlias = Sequence[tuple[int, Columns]]
"""Recorded feedback of an episode: the sequence number and the columns of each event."""

REMEDY: Final = (
    "; to replace all feedback of the episode, send a correction "
    "(POST /v1/episodes/{episode}/correction)."
)
"""Last part of the message of a conflict: how to replace the recorded feedback."""


def record_feedback(
    transaction: Transaction,
    event: "Feedback",
    compare: Callable[[Transaction, "Feedback", EpisodeRecord], Columns | Outcome],
) -> Outcome:
    """Record feedback or a correction, or put it in the quarantine, and return the outcome.

    `compare` is `compare_feedback` or `compare_correction`. It is called if the episode exists, and
    returns the columns to record, or another outcome.
    """
    episode = transaction.find_episode(event.episode, event.problem)
    found: Columns | Outcome
    if isinstance(episode, EpisodeRecord):
        try:
            found = compare(transaction, event, episode)
        except ContentError as error:
            found = Invalid(str(error), error.field)
        if isinstance(found, Columns):
            body, problem = found.content(), episode.problem
            return transaction.add_event(event, body, problem=problem, episode=episode.id)
    else:
        found = episode
    if not isinstance(found, Recorded | AlreadyRecorded):
        content = event.content
        content = content.value if isinstance(content, UnusableContent) else content
        # content for an episode of another problem must not be kept
        is_foreign = isinstance(found, NotFound) and transaction.episode(event.episode) is not None
        request = RejectedRequest(
            found.reason,
            None if is_foreign else content,
            problem=event.problem,
            episode=event.episode,
            outcome=found.name,
        )
        transaction.flush()
        quarantine_request(transaction.connection, request, at=transaction.at)
    return found


def compare_feedback(
    transaction: Transaction, event: "Feedback", episode: EpisodeRecord
) -> Columns | Outcome:
    """Return what is new in feedback; or AlreadyRecorded, also if a correction replaced it."""
    spec = transaction.spec(episode)
    columns = parse_content(event.content, spec)
    found = find_new(columns, read_feedback(transaction, episode.feedback, spec), spec)
    if isinstance(found, Columns | AlreadyRecorded):
        return found
    replaced: list[list[int]] = [[]]  # each correction begins another list
    for earlier in transaction.read_events(episode.replaced):
        if earlier.kind == "corrected":
            replaced.append([])
        replaced[-1].append(earlier.seq)
    for seqs in reversed(replaced):
        if seqs:
            repeated = find_new(columns, read_feedback(transaction, seqs, spec), spec)
            if isinstance(repeated, AlreadyRecorded):
                return repeated
    return found


def compare_correction(
    transaction: Transaction, event: "Feedback", episode: EpisodeRecord
) -> Columns | Outcome:
    """Return the columns of a correction if it is to be recorded, else the outcome.

    Nothing is recorded if the correction equals the feedback that is currently valid. The outcome
    is Conflict if an identical correction, with the same event time, was recorded before and has
    been replaced since.
    """
    spec = transaction.spec(episode)
    columns = parse_content(event.content, spec)
    if columns.form != "whole":
        raise ContentError(None, "A correction must be a whole episode, with states and actions.")
    found = find_new(columns, read_feedback(transaction, episode.feedback, spec), spec)
    if isinstance(found, AlreadyRecorded):
        return found
    given = "corrected", canonical(columns.content()), event.event_time
    for earlier in transaction.read_events((*episode.replaced, *episode.feedback)):
        if (earlier.kind, earlier.text, earlier.event_time) == given:
            return Conflict(
                f"This correction was recorded at seq {earlier.seq} and has been corrected "
                "since; to record it again, send it with a different event_time.",
                earlier.seq,
            )
    if episode.feedback:
        transaction.delete_snapshots(episode.problem, since=episode.feedback[0])
    return columns


def read_feedback(
    transaction: Transaction, seqs: Sequence[int], spec: ProblemSpec
) -> RecordedFeedback:
    """Return the feedback that is recorded in the events `seqs` of a problem."""
    events = transaction.read_events(seqs)
    return [(event.seq, parse_content(event.body, spec)) for event in events]


def find_new(
    columns: Columns, recorded: RecordedFeedback, spec: ProblemSpec
) -> Columns | AlreadyRecorded | Conflict | Invalid:
    """Return what is new in `columns`, feedback of an episode of which some is `recorded`.

    An episode keeps the form in which it first arrived. For example, a whole episode that arrives
    after some of its steps is recorded as the remaining steps.

    Parameters
    ----------
    columns : Columns
        The feedback.
    recorded : sequence
        Sequence number and columns of each event with valid feedback of the episode.
    spec : ProblemSpec
        Problem of the episode.

    Returns
    -------
    Columns, AlreadyRecorded, Conflict or Invalid
        The new columns. AlreadyRecorded if nothing is new. Conflict if a part differs from the
        recorded part, if a step does not join its neighbours or follows the end of the episode, or
        if the episode has arrived in another form to which the feedback cannot be converted.
        Invalid if there is padding, but no end of the episode.
    """
    rejected = _compare_padding(columns, recorded, spec)
    if rejected is not None:
        return rejected
    if not recorded:
        return _find_gap(columns, recorded, spec) or columns
    last = max(seq for seq, _ in recorded)
    form, known_form = columns.form, recorded[0][1].form
    if not columns.steps:  # padding repeats what is known
        return AlreadyRecorded(last)
    if form != known_form and "whole" not in (form, known_form):
        names: dict[Form, str] = {"steps": "steps", "path": "path and rewards"}
        return Conflict(
            f"Feedback of this episode has already arrived as {names[known_form]}; send the "
            f"rest as {names[known_form]} too, not as {names[form]}.",
            min(seq for seq, _ in recorded),
        )
    shared = form if known_form == "whole" else known_form
    known = {
        part: (value, seq)
        for seq, each in recorded
        for part, value in each.parts(shared, spec).items()
    }
    parts = _drop_padding(columns.parts(shared, spec), known, last)
    if isinstance(parts, Conflict):
        return parts
    for part in parts:
        if part in known and known[part][0] != parts[part]:
            return Conflict(
                f"{_describe(part).capitalize()} has already arrived with different content"
                f"{REMEDY}",
                known[part][1],
            )
    new = parts.keys() - known.keys()
    if not new:
        return AlreadyRecorded(max((known[part][1] for part in parts), default=last))
    rest = columns.only(shared, new)
    return _find_gap(rest, recorded, spec) or rest


def _find_gap(
    rest: Columns, recorded: RecordedFeedback, spec: ProblemSpec
) -> Conflict | Invalid | None:
    """Return an outcome unless new steps join each other and the recorded steps beside them."""
    if rest.form != "steps":
        return None
    seqs = {step: seq for seq, each in recorded for step in each.steps}
    steps = rest.known_states()
    new = steps.keys()
    for _, each in recorded:
        steps = each.known_states() | steps
    before = find_break(steps, new)
    if before is None:
        return None
    reason = (
        f"Step {before} leads to {spec.states[steps[before][1]]!r}, but step {before + 1} begins "
        f"in {spec.states[steps[before + 1][0]]!r}"
    )
    number = before if before in seqs else before + 1
    if number not in seqs:
        return Invalid(f"{reason}.", "steps")
    return Conflict(f"{reason}; step {number} is recorded{REMEDY}", seqs[number])


def _compare_padding(
    columns: Columns, recorded: RecordedFeedback, spec: ProblemSpec
) -> Invalid | Conflict | None:
    """Compare the padding of `columns` with the end of the episode, there or in what is recorded.

    Returns Invalid if there is no end, Invalid or Conflict if the end is in another state than the
    padding or after a step of the padding, and None if the padding may follow the end.
    """
    seq, end = 0, columns.end(spec)
    for number, each in recorded:
        found = each.end(spec)
        if end is None and found is not None and (each.form == "whole" or found[0] < spec.horizon):
            seq, end = number, found
    for where, step, state in columns.padding:
        field, name = f"{where}.state", spec.states[state]
        if end is None:
            return Invalid(
                f"{field} must not be a terminal state, got {name!r}, because no step that "
                "reaches it is recorded; send that step first, or in the same request.",
                field,
            )
        if not is_padding_after(end, step, state):
            reason = (
                f"The episode has ended in {spec.states[end[1]]!r} after "
                f"{count_items(end[0], 'step')}, which contradicts step {step} in {name!r}"
            )
            return Conflict(f"{reason}{REMEDY}", seq) if seq else Invalid(f"{reason}.", field)
    return None


def _drop_padding(
    parts: dict[Part, Any], known: dict[Part, tuple[Any, int]], last: int
) -> dict[Part, Any] | Conflict:
    """Return the new `parts` of an episode without rewards of 0 after its end, which are padding.

    Parameters
    ----------
    parts, known : dict
        New parts, and recorded parts with the seq of their events.
    last : int
        Seq of the last event with recorded feedback.

    Returns
    -------
    dict or Conflict
        The parts; all of them if neither new nor recorded parts contain the end. Conflict if a part
        other than padding follows the end, or if there is a part that marks a later end.
    """
    ends = [number for name, number in (*known, *parts) if name == "end"]
    if not ends:
        return parts
    end, kept = min(ends), dict(parts)
    for part in (*sorted(known), *parts):
        if part[1] < end or part == ("end", end):
            continue
        value, seq = known.get(part, (0, last))
        if parts.get(part, 0) != 0 or value != 0:
            return Conflict(
                f"The episode ends after {count_items(end, 'step')} in a terminal state, which "
                f"contradicts {_describe(part)}{REMEDY}",
                seq,
            )
        kept.pop(part, None)
    return kept


def _describe(part: Part) -> str:
    name, number = part
    if name == "whole":
        return "the feedback of the episode"
    if name == "path":
        return "the path of the episode"
    if name == "end":
        return f"the end of the episode after {count_items(number, 'step')}"
    what = "step" if name == "step" else "the reward at step"
    return f"{what} {number} of the episode"
