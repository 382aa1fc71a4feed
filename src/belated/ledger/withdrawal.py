"""Withdrawal: stored values of withdrawn episodes are blanked, and their events redacted.

Redaction deletes the content of events; the events themselves remain in the ledger, with their
digests. Subjects, rejected requests and snapshots that hold the data are deleted too.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.events import (
    AlreadyRecorded,
    EpisodeRecord,
    Event,
    NotFound,
    Outcome,
    chunk_ids,
)
from belated.ledger.transaction import Transaction

if TYPE_CHECKING:
    from belated.ledger.kinds import Withdrawn


def record_withdrawal(transaction: Transaction, event: "Withdrawn") -> Outcome:
    """Record the withdrawal `event` in `transaction`, and redact the data of its episodes.

    Returns the outcome. It is NotFound if the episode does not exist or the subject has no
    episodes, and AlreadyRecorded if the episode has been withdrawn before.
    """
    if event.episode is not None:
        episode = transaction.find_episode(event.episode)
        if isinstance(episode, NotFound):
            return episode
        if not isinstance(episode, EpisodeRecord):
            return AlreadyRecorded(episode.seq)
        ids, problem = [episode.id], episode.problem
    else:
        assert event.problem is not None
        problem = event.problem
        subjects, events = schema.subjects.c, schema.events.c
        query = sa.select(events.episode).join(schema.subjects, subjects.episode == events.seq)
        query = query.where(events.problem == problem, subjects.subject == event.subject)
        ids = list(transaction.execute(query.order_by(events.seq)).scalars())
        if not ids:
            return NotFound(f"The subject has no episodes in the problem with id {problem}.")
    transaction.redacted = True
    # the event names the episodes for the fold, but not the subject
    return transaction.add_event(event, {"episodes": ids}, problem=problem)


def follow_withdrawal(transaction: Transaction, event: Event) -> None:
    """Mark the episodes of the stored `event` as withdrawn, and blank all that holds their data."""
    ids = event.body["episodes"]
    transaction.reload_episodes(ids)
    for chunk in chunk_ids(ids):
        _blank(transaction, chunk, event)
    transaction.reload_episodes(ids)


def _blank(transaction: Transaction, ids: Sequence[str], event: Event) -> None:
    events, episodes, subjects = schema.events, schema.episodes, schema.subjects
    claims, rejected = schema.claims, schema.quarantine
    found = [episode for episode in map(transaction.episode, ids) if episode is not None]
    openings = [episode.seq for episode in found]
    feedback = [seq for episode in found for seq in (*episode.feedback, *episode.replaced)]
    lost = sa.and_(events.c.kind == "lost", events.c.episode.in_(ids), sa.text(schema.RARE))
    empty: dict[str, Any] = {"body": None, "salt": None, "event_time": None, "redacted": True}
    for which in (
        *(events.c.seq.in_(seqs) for seqs in chunk_ids(feedback)),
        sa.and_(events.c.problem == event.problem, lost),
    ):
        transaction.execute(sa.update(events).where(which).values(**empty))
    hidden = sa.update(subjects).where(subjects.c.episode.in_(openings)).values(subject=None)
    marked = sa.update(episodes).where(episodes.c.id.in_(ids))
    transaction.execute(hidden)
    transaction.execute(marked.values(withdrawn=event.seq, lost=None))
    transaction.execute(sa.delete(claims).where(claims.c.episode.in_(openings)))
    transaction.delete_snapshots(event.problem, since=min(openings, default=1))
    transaction.execute(sa.delete(rejected).where(rejected.c.episode.in_(ids)))
