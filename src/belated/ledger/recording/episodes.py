"""Recording of events about an episode: openings, feedback and corrections."""

import json
import secrets
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TypeVar

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.canonical import SALT_BYTES, canonical
from belated.ledger.clients.quarantine import RejectedRequest, quarantine_request
from belated.ledger.episodes import EpisodeRecord, feedback_seqs
from belated.ledger.events import Corrected, Event, Feedback, Opened
from belated.ledger.outcomes import (
    AlreadyRecorded,
    Conflict,
    DataWithdrawn,
    Invalid,
    NotFound,
    Outcome,
    Recorded,
)
from belated.ledger.problems import ProblemSpec
from belated.ledger.recording.content import UnusableContent, parse_content, parse_correction
from belated.ledger.recording.deduplication import (
    encode_parts,
    find_new_parts,
    find_superseded,
)
from belated.ledger.recording.parts import WHOLE, Parts
from belated.ledger.recording.problems import problem_not_found
from belated.ledger.recording.steps import (
    PADDING,
    ParsedStep,
    compare_padding,
    find_gap,
    find_neighbour_seqs,
    find_superseded_end,
)
from belated.ledger.recording.transaction import Transaction
from belated.ledger.recording.values import ContentError

F = TypeVar("F", bound=Feedback)


def record_opening(transaction: Transaction, event: Opened) -> Outcome:
    """Record the opening `event` in `transaction`, and return the outcome.

    The outcome is NotFound if the problem does not exist, Conflict if it is archived, and Invalid
    if the version has not been published.

    If an episode with the same id exists, nothing is recorded. In this case the outcome is
    DataWithdrawn if the existing episode has been withdrawn, Conflict if it has another problem or
    subject, and otherwise AlreadyRecorded with the existing episode.
    """
    problem = transaction.problem(event.problem)
    if problem is None:
        return problem_not_found(event.problem)
    known = None if event.id is None else transaction.episode(event.id)
    if known is not None:
        return _compare_opening(event, known)
    newest, archived = transaction.opening_limits(event.problem)
    if archived is not None:
        return Conflict(
            f"Problem {problem.name!r} is archived; unarchive it to open episodes.", archived
        )
    if event.version > newest:
        return Invalid(
            f"version must be at most {newest}, the newest of the problem, got {event.version}.",
            "version",
        )
    number = transaction.max_value(schema.episodes.c.number, event.problem) + 1
    id = event.id or secrets.token_urlsafe(SALT_BYTES)
    # the subject is not part of the event, so that it can be deleted
    seq = transaction.add_event(
        "opened",
        canonical({"number": number, "version": event.version}),
        problem=event.problem,
        episode=id,
        event_time=event.event_time,
    )
    episode = EpisodeRecord(id, event.problem, number, event.version, seq, event.subject)
    transaction.add_episode(episode)
    return Recorded(seq, episode)


def _compare_opening(event: Opened, known: EpisodeRecord) -> Outcome:
    """Return the outcome of `event`, which opens the existing episode `known` again.

    The version in `event` is ignored, since an episode keeps its version.
    """
    if known.withdrawn is not None:
        return DataWithdrawn(f"Episode {known.id} has been withdrawn.", known.withdrawn)
    if (known.problem, known.subject) == (event.problem, event.subject):
        return AlreadyRecorded(known.seq, known)
    return Conflict(
        f"Episode {known.id} is already open with a different problem or subject; draw another id.",
        known.seq,
    )


def _quarantining(
    record: Callable[[Transaction, F, EpisodeRecord, ProblemSpec], Outcome],
) -> Callable[[Transaction, F], Outcome]:
    """Return a function that calls `record` and puts rejected feedback in the quarantine.

    The returned function takes a transaction and an event. It looks up the episode of the event and
    the specification of the problem, and passes them to `record`.
    """

    @wraps(record)
    def recorded(transaction: Transaction, event: F) -> Outcome:
        episode = transaction.episode(event.episode)
        outcome: Outcome
        foreign = episode is not None and event.problem not in (None, episode.problem)
        if episode is None or foreign:
            where = "" if event.problem is None else " of this problem"
            outcome = NotFound(f"There is no episode {event.episode[:64]!r}{where}.")
        elif episode.withdrawn is not None:
            outcome = DataWithdrawn(f"Episode {episode.id} has been withdrawn.", episode.withdrawn)
        else:
            problem = transaction.problem(episode.problem)
            assert problem is not None
            outcome = record(transaction, event, episode, problem.spec)
        if not isinstance(outcome, Recorded | AlreadyRecorded):
            content = event.content
            content = content.value if isinstance(content, UnusableContent) else content
            request = RejectedRequest(
                outcome.reason,
                # data that was withdrawn or belongs to another problem must not be kept
                None if foreign or isinstance(outcome, DataWithdrawn) else content,
                problem=event.problem if episode is None or foreign else episode.problem,
                episode=event.episode,
                outcome=outcome.name,
            )
            quarantine_request(transaction.connection, request, at=transaction.at)
        return outcome

    return recorded


@_quarantining
def record_feedback(
    transaction: Transaction, event: Feedback, episode: EpisodeRecord, spec: ProblemSpec
) -> Outcome:
    """Record the parts of feedback that have not been recorded yet.

    Parameters
    ----------
    transaction : Transaction
        Open transaction.
    event : Feedback
        The feedback.
    episode : EpisodeRecord
        Episode of the feedback. Callers do not pass it; the decorator looks it up.
    spec : ProblemSpec
        Problem of the episode. Callers do not pass it; the decorator looks it up.

    Returns
    -------
    Outcome
        Outcome of recording the feedback.
    """
    try:
        parts = parse_content(event.content, spec, received=True)
    except ContentError as error:
        return Invalid(str(error), error.field)
    known, load = transaction.claims(episode.id), _loader(transaction, spec)
    if PADDING in parts:  # not recorded
        padding = parts.pop(PADDING)
        rejection = compare_padding(padding, known, load, spec)
        if rejection is not None:
            return _find_superseded_repeat(transaction, parts, episode, spec, padding) or rejection
        if not parts:
            return AlreadyRecorded(max(claim.seq for claim in known.values()))
    found = find_new_parts(parts, known, load, horizon=spec.horizon)
    if known and WHOLE not in parts and isinstance(found, dict):
        _load_neighbours(transaction)
        found = find_gap(found, known, transaction.read_body, spec) or found
    if isinstance(found, Conflict):
        return _find_superseded_repeat(transaction, parts, episode, spec) or found
    if isinstance(found, AlreadyRecorded):
        return found
    return _add_feedback(transaction, event, episode, found)


@_quarantining
def record_correction(
    transaction: Transaction, event: Corrected, episode: EpisodeRecord, spec: ProblemSpec
) -> Outcome:
    """Record a correction, which replaces all earlier feedback of its episode.

    Nothing is recorded if the correction equals the feedback that is currently valid. The
    parameters `transaction`, `event`, `episode` and `spec`, and the returned outcome, are as in
    `record_feedback`. The outcome is Conflict if an identical correction, with the same event time,
    was recorded before and has been replaced since.
    """
    try:
        parts = parse_correction(event.content, spec)
    except ContentError as error:
        return Invalid(str(error), error.field)
    known = transaction.claims(episode.id)
    found = find_new_parts(parts, known, _loader(transaction, spec), horizon=spec.horizon)
    if isinstance(found, AlreadyRecorded):
        return found
    text, _ = encode_parts(parts)
    for earlier in _read_feedback(transaction, episode.id) if known else []:
        if (earlier.kind, earlier.text, earlier.event_time) == (
            "corrected",
            text,
            event.event_time,
        ):
            return Conflict(
                f"This correction was recorded at seq {earlier.seq} and has been corrected since; "
                "to record it again, send it with a different event_time.",
                earlier.seq,
            )
    if known:
        first = min(claim.seq for claim in known.values())
        transaction.delete_snapshots(episode.problem, since=first)
        transaction.replace_claims(episode.id)
    return _add_feedback(transaction, event, episode, parts)


def _add_feedback(
    transaction: Transaction, event: Feedback, episode: EpisodeRecord, parts: Parts
) -> Recorded:
    text, digests = encode_parts(parts)
    seq = transaction.add_event(
        event.kind,
        text,
        problem=episode.problem,
        episode=episode.id,
        event_time=event.event_time,
    )
    transaction.add_claims(episode.id, digests)
    if episode.lost is not None:
        transaction.set_lost(episode, None)
    return Recorded(seq)


def _load_neighbours(transaction: Transaction) -> None:
    """Load the bodies of the recorded events that `find_gap` may read during `transaction`.

    The first call in a transaction loads the bodies for all events to be recorded, in few queries.
    Later calls do nothing.
    """
    if transaction.has_neighbours:
        return
    transaction.has_neighbours = True
    seqs: set[int] = set()
    for event in transaction.events:
        if type(event) is Feedback and transaction.episode(event.episode) is not None:
            seqs |= find_neighbour_seqs(event.content, transaction.claims(event.episode))
    transaction.load_bodies(seqs)


def _loader(transaction: Transaction, spec: ProblemSpec) -> Callable[[int], Parts]:
    """Return a function that reads the feedback event with a given seq and returns its parts."""

    def load(seq: int) -> Parts:
        return parse_content(json.loads(transaction.read_body(seq)), spec)

    return load


def _read_feedback(transaction: Transaction, episode: str) -> list[Event]:
    """Return all feedback and corrections of `episode`, in order of their sequence numbers.

    Feedback that a later correction replaced is included.
    """
    seq = schema.events.c.seq
    query = sa.select(schema.events).where(seq.in_(feedback_seqs([episode]))).order_by(seq)
    return [Event._make(row) for row in transaction.execute(query)]


def _find_superseded_repeat(
    transaction: Transaction,
    parts: Parts,
    episode: EpisodeRecord,
    spec: ProblemSpec,
    padding: Mapping[str, ParsedStep] | None = None,
) -> AlreadyRecorded | None:
    """Find out whether feedback repeats feedback that a later correction has replaced.

    Parameters
    ----------
    transaction : Transaction
        Open transaction.
    parts : Parts
        Parts of the feedback; empty if it consists of padding.
    episode : EpisodeRecord
        Episode of the feedback.
    spec : ProblemSpec
        Problem of the episode.
    padding : mapping, optional
        Padding steps of the feedback, if the request does not contain the step that reaches the
        terminal state; otherwise None. The map is from the path of a step in the request, such as
        "steps[0]", to the step.

    Returns
    -------
    AlreadyRecorded or None
        AlreadyRecorded if all parts and all padding repeat replaced feedback, else None.
    """
    events = _read_feedback(transaction, episode.id)
    last = max((event.seq for event in events if event.kind == "corrected"), default=0)
    earlier = [(event.seq, parse_content(event.body, spec)) for event in events if event.seq < last]
    found: list[int | None] = []
    if parts:
        found.append(find_superseded(parts, earlier, horizon=spec.horizon))
    if padding:
        found.append(find_superseded_end(padding, earlier, spec))
    seqs = [seq for seq in found if seq is not None]
    return AlreadyRecorded(max(seqs)) if len(seqs) == len(found) else None
