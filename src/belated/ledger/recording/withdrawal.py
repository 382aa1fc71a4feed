"""Recording of withdrawals, and redaction of the data of a subject or an episode.

Redaction deletes the content of events; the events themselves remain in the ledger.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.canonical import canonical
from belated.ledger.episodes import chunk_ids, feedback_seqs, opening_seqs
from belated.ledger.events import Withdrawn
from belated.ledger.outcomes import AlreadyRecorded, NotFound, Outcome, Recorded
from belated.ledger.recording.transaction import Transaction


def record_withdrawal(transaction: Transaction, event: Withdrawn) -> Outcome:
    """Record the withdrawal `event` in `transaction`, and redact the feedback of its episodes.

    Returns the outcome. It is NotFound if the episode does not exist or the subject has no
    episodes, and AlreadyRecorded if the episode has been withdrawn before.
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
    # the event names the episodes for the fold, but not the subject
    seq = transaction.add_event(
        "withdrawn", canonical({"episodes": ids}), problem=problem, event_time=event.event_time
    )
    for chunk in chunk_ids(ids):
        _redact(transaction, chunk, problem=problem, seq=seq)
    transaction.delete_claims(ids)
    transaction.reload_episodes(ids)
    transaction.redacted = True
    return Recorded(seq)


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


def _redact(transaction: Transaction, ids: Sequence[str], *, problem: int, seq: int) -> None:
    events, episodes, quarantine = schema.events, schema.episodes, schema.quarantine
    subjects = schema.subjects
    first = sa.select(sa.func.min(episodes.c.seq)).where(episodes.c.id.in_(ids))
    transaction.delete_snapshots(problem, since=transaction.execute(first).scalar_one())
    for statement in (
        sa.update(events)
        .where(events.c.seq.in_(feedback_seqs(ids)))
        .values(body=None, salt=None, event_time=None, redacted=True),
        sa.update(events)
        .where(
            events.c.problem == problem,
            events.c.kind == "lost",
            events.c.episode.in_(ids),
            sa.text(schema.RARE),
        )
        .values(body=None, salt=None, event_time=None, redacted=True),
        sa.update(subjects).where(subjects.c.episode.in_(opening_seqs(ids))).values(subject=None),
        sa.update(episodes).where(episodes.c.id.in_(ids)).values(withdrawn=seq, lost=None),
    ):
        transaction.execute(statement)
    rejected = sa.delete(quarantine).where(quarantine.c.episode.in_(ids))
    transaction.has_deleted_rejected |= transaction.execute(rejected).rowcount > 0
