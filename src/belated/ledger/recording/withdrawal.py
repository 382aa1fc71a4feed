"""Recording of withdrawals, and redaction of the data of a subject or an episode.

Redaction deletes the content of events; the events themselves remain in the ledger.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.canonical import canonical
from belated.ledger.episodes import chunk_ids, feedback_seqs
from belated.ledger.events import Withdrawn
from belated.ledger.outcomes import AlreadyRecorded, NotFound, Outcome, Recorded
from belated.ledger.recording.transaction import Transaction


def record_withdrawal(transaction: Transaction, event: Withdrawn) -> Outcome:
    """Record the withdrawal `event` in `transaction`, and redact the feedback of its episodes.

    Returns the outcome: NotFound if there is no such episode or the subject has no episodes, and
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
        problem = event.problem
        columns = schema.episodes.c
        query = sa.select(columns.id).where(
            columns.problem == problem, columns.subject == event.subject
        )
        ids = list(transaction.execute(query.order_by(columns.number)).scalars())
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


def _redact(transaction: Transaction, ids: Sequence[str], *, problem: int, seq: int) -> None:
    events, episodes, quarantine = schema.events, schema.episodes, schema.quarantine
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
        sa.update(episodes)
        .where(episodes.c.id.in_(ids))
        .values(subject=None, withdrawn=seq, lost=None),
        sa.delete(quarantine).where(quarantine.c.episode.in_(ids)),
    ):
        transaction.execute(statement)
