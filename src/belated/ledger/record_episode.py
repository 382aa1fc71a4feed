"""Recording of events about an episode: openings, feedback, corrections, losses, withdrawals."""

import secrets
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.clients import RejectedRequest, quarantine_request
from belated.ledger.content import (
    ContentError,
    UnusableContent,
    parse_content,
    parse_correction,
)
from belated.ledger.events import (
    AlreadyRecorded,
    Conflict,
    Corrected,
    DataWithdrawn,
    EpisodeRecord,
    Event,
    Feedback,
    Invalid,
    Lost,
    NotFound,
    Opened,
    Outcome,
    Recorded,
    Withdrawn,
    chunk_ids,
)
from belated.ledger.feedback import (
    Columns,
    RecordedFeedback,
    compare_padding,
    find_new,
    find_repeated,
    is_complete,
)
from belated.ledger.problems import ProblemSpec
from belated.ledger.record_problem import problem_not_found
from belated.ledger.schema import SALT_BYTES, canonical
from belated.ledger.transaction import Transaction

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
    archived = transaction.archived(event.problem)
    if archived is not None:
        return Conflict(
            f"Problem {problem.name!r} is archived; unarchive it to open episodes.", archived
        )
    newest = transaction.max_value(schema.policies.c.version, event.problem)
    if event.version > newest:
        return Invalid(
            f"version must be at most {newest}, the newest of the problem, got {event.version}.",
            "version",
        )
    number = transaction.max_value(schema.episodes.c.number, event.problem) + 1
    id = event.id or secrets.token_urlsafe(SALT_BYTES)
    opened = transaction.add_event(
        "opened",
        canonical({"number": number, "version": event.version}),
        problem=event.problem,
        episode=id,
        event_time=event.event_time,
    )
    if event.subject is not None:  # it is not part of the event, so that it can be deleted
        transaction.add_subject(id, event.subject)
    return Recorded(opened.seq, transaction.episode(id))


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
            outcome = record(transaction, event, episode, _spec(transaction, episode))
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
        columns = parse_content(event.content, spec, received=True)
    except ContentError as error:
        return Invalid(str(error), error.field)
    recorded = _read_feedback(transaction, episode, spec)
    if columns.padding:
        rejection = compare_padding(columns.padding, recorded, spec)
        if rejection is not None:
            return _find_superseded(transaction, columns, episode, spec) or rejection
        columns = columns._replace(padding=())
        if not columns.steps:
            return AlreadyRecorded(episode.feedback[-1])
    found = find_new(columns, recorded, spec)
    if isinstance(found, Conflict):
        return _find_superseded(transaction, columns, episode, spec) or found
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
        columns = parse_correction(event.content, spec)
    except ContentError as error:
        return Invalid(str(error), error.field)
    found = find_new(columns, _read_feedback(transaction, episode, spec), spec)
    if isinstance(found, AlreadyRecorded):
        return found
    if episode.feedback:
        given = "corrected", canonical(columns.content()), event.event_time
        for earlier in _read_events(transaction, (*episode.replaced, *episode.feedback)):
            if (earlier.kind, earlier.text, earlier.event_time) == given:
                return Conflict(
                    f"This correction was recorded at seq {earlier.seq} and has been corrected "
                    "since; to record it again, send it with a different event_time.",
                    earlier.seq,
                )
        transaction.delete_snapshots(episode.problem, since=episode.feedback[0])
    return _add_feedback(transaction, event, episode, columns)


def _add_feedback(
    transaction: Transaction, event: Feedback, episode: EpisodeRecord, columns: Columns
) -> Recorded:
    added = transaction.add_event(
        event.kind,
        canonical(columns.content()),
        problem=episode.problem,
        episode=episode.id,
        event_time=event.event_time,
    )
    return Recorded(added.seq)


def _spec(transaction: Transaction, episode: EpisodeRecord) -> ProblemSpec:
    problem = transaction.problem(episode.problem)
    assert problem is not None
    return problem.spec


def _read_feedback(
    transaction: Transaction, episode: EpisodeRecord, spec: ProblemSpec
) -> RecordedFeedback:
    """Return the seqs and columns of the events with the valid feedback of `episode`.

    The first call that has to read an event reads the feedback of all episodes for which
    `transaction` is to record feedback, in few queries.
    """
    if not episode.feedback:
        return []
    if not transaction.has_bodies:
        transaction.has_bodies = True
        known = (transaction.episode(str(getattr(e, "episode", ""))) for e in transaction.events)
        transaction.read_bodies([seq for one in known if one is not None for seq in one.feedback])
    bodies = transaction.read_bodies(episode.feedback)
    parsed = [parse_content(body, spec) for body in bodies]
    return list(zip(episode.feedback, parsed, strict=True))


def _read_events(transaction: Transaction, seqs: Sequence[int]) -> list[Event]:
    """Return the events with the sequence numbers `seqs`, in increasing order."""
    seq = schema.events.c.seq
    query = sa.select(schema.events).where(seq.in_(seqs)).order_by(seq)
    return [Event._make(row) for row in transaction.execute(query)]


def _find_superseded(
    transaction: Transaction, columns: Columns, episode: EpisodeRecord, spec: ProblemSpec
) -> AlreadyRecorded | None:
    """Return AlreadyRecorded if `columns` repeat feedback that a correction has replaced."""
    generations: list[list[tuple[int, Columns]]] = [[]]  # each correction begins another one
    for event in _read_events(transaction, episode.replaced):
        if event.kind == "corrected":
            generations.append([])
        generations[-1].append((event.seq, parse_content(event.body, spec)))
    repeated = (find_repeated(columns, each, spec) for each in reversed(generations) if each)
    return next((outcome for outcome in repeated if outcome is not None), None)


def record_lost(transaction: Transaction, event: Lost) -> Outcome:
    """Record in `transaction` that the episode of `event` is lost, and return the outcome.

    The outcome is NotFound if the episode does not exist, and DataWithdrawn if it has been
    withdrawn. It is Conflict if the feedback of the episode is complete, or if the episode was
    declared lost for another reason. It is AlreadyRecorded if the episode was declared lost for the
    same reason.
    """
    episode = transaction.episode(event.episode)
    if episode is None:
        return NotFound(f"There is no episode {event.episode[:64]!r}.")
    if episode.withdrawn is not None:
        return DataWithdrawn(f"Episode {episode.id} has been withdrawn.", episode.withdrawn)
    if episode.lost is not None:
        [body] = transaction.read_bodies([episode.lost])
        if body["reason"] == event.reason:
            return AlreadyRecorded(episode.lost)
        return Conflict(
            f"Episode {episode.id} is already declared lost for a different reason.", episode.lost
        )
    spec = _spec(transaction, episode)
    recorded = _read_feedback(transaction, episode, spec)
    if is_complete([columns for _, columns in recorded], spec):
        last = episode.feedback[-1]
        return Conflict(f"The feedback of episode {episode.id} is complete.", last)
    added = transaction.add_event(
        "lost",
        canonical({"reason": event.reason}),
        problem=episode.problem,
        episode=episode.id,
        event_time=event.event_time,
    )
    return Recorded(added.seq)


def record_withdrawal(transaction: Transaction, event: Withdrawn) -> Outcome:
    """Record the withdrawal `event` in `transaction`, and redact the data of its episodes.

    Redaction deletes the content of events; the events themselves remain in the ledger. Returns the
    outcome. It is NotFound if the episode does not exist or the subject has no episodes, and
    AlreadyRecorded if the episode has been withdrawn before.
    """
    if event.episode is not None:
        episode = transaction.episode(event.episode)
        if episode is None:
            return NotFound(f"There is no episode {event.episode[:64]!r}.")
        if episode.withdrawn is not None:
            return AlreadyRecorded(episode.withdrawn)
        ids, problem = [episode.id], episode.problem
    else:
        assert event.problem is not None
        assert event.subject is not None
        problem = event.problem
        ids = _find_episodes(transaction, problem, event.subject)
        if not ids:
            return NotFound(f"The subject has no episodes in the problem with id {problem}.")
    transaction.reload_episodes(ids)
    for chunk in chunk_ids(ids):
        _redact(transaction, chunk, problem=problem)
    transaction.redacted = True
    # the event names the episodes for the fold, but not the subject
    added = transaction.add_event(
        "withdrawn", canonical({"episodes": ids}), problem=problem, event_time=event.event_time
    )
    return Recorded(added.seq)


def _find_episodes(transaction: Transaction, problem: int, subject: str) -> list[str]:
    """Return the ids of the episodes of `subject` in `problem`, in the order of their openings."""
    if subject not in transaction.subject_seqs:
        _load_subjects(transaction)
    subjects, events = schema.subjects.c, schema.events.c
    query = sa.select(events.episode).join(schema.subjects, subjects.episode == events.seq)
    # some of the episodes may have been withdrawn since the subject was loaded
    query = query.where(events.problem == problem, subjects.subject == subject)
    ids: list[str] = []
    for seqs in chunk_ids(transaction.subject_seqs[subject]):
        chunk = query.where(subjects.episode.in_(seqs)).order_by(events.seq)
        ids += transaction.execute(chunk).scalars()
    return ids


def _load_subjects(transaction: Transaction) -> None:
    """Find the episodes of all subjects that the events of `transaction` withdraw.

    The sequence numbers of their openings are stored in `transaction.subject_seqs`. All subjects
    are looked up at once: on SQLite, each query reads the whole table of subjects, because no index
    may contain a subject.
    """
    texts = {event.subject for event in transaction.events if isinstance(event, Withdrawn)}
    transaction.subject_seqs = {text: [] for text in texts if text is not None}
    table = schema.subjects
    for chunk in chunk_ids(sorted(transaction.subject_seqs)):
        query = sa.select(table).where(table.c.subject.in_(chunk)).order_by(table.c.episode)
        for row in transaction.execute(query):
            transaction.subject_seqs[row.subject].append(row.episode)


def _redact(transaction: Transaction, ids: Sequence[str], *, problem: int) -> None:
    events, quarantine, subjects = schema.events, schema.quarantine, schema.subjects
    found = [episode for episode in map(transaction.episode, ids) if episode is not None]
    openings = [episode.seq for episode in found]
    feedback = [seq for episode in found for seq in (*episode.feedback, *episode.replaced)]
    lost = sa.and_(events.c.kind == "lost", events.c.episode.in_(ids), sa.text(schema.RARE))
    empty: dict[str, Any] = {"body": None, "salt": None, "event_time": None, "redacted": True}
    transaction.delete_snapshots(problem, since=min(openings))
    for seqs in chunk_ids(feedback):
        transaction.execute(sa.update(events).where(events.c.seq.in_(seqs)).values(**empty))
    transaction.execute(sa.update(events).where(events.c.problem == problem, lost).values(**empty))
    transaction.execute(
        sa.update(subjects).where(subjects.c.episode.in_(openings)).values(subject=None)
    )
    rejected = sa.delete(quarantine).where(quarantine.c.episode.in_(ids))
    transaction.has_deleted_rejected |= transaction.execute(rejected).rowcount > 0
