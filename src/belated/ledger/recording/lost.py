"""Recording of the declaration that an episode is lost."""

import json

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.canonical import canonical
from belated.ledger.events import Lost
from belated.ledger.outcomes import (
    AlreadyRecorded,
    Conflict,
    DataWithdrawn,
    NotFound,
    Outcome,
    Recorded,
)
from belated.ledger.recording.parts import is_complete
from belated.ledger.recording.transaction import Transaction


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
        columns = schema.events.c
        text = transaction.execute(sa.select(columns.body).where(columns.seq == episode.lost))
        if json.loads(text.scalar_one())["reason"] == event.reason:
            return AlreadyRecorded(episode.lost)
        return Conflict(
            f"Episode {episode.id} is already declared lost for a different reason.", episode.lost
        )
    problem = transaction.problem(episode.problem)
    assert problem is not None
    claims = transaction.claims(episode.id)
    if is_complete(claims, problem.spec.horizon):
        last = max(claim.seq for claim in claims.values())
        return Conflict(f"The feedback of episode {episode.id} is complete.", last)
    seq = transaction.add_event(
        "lost",
        canonical({"reason": event.reason}),
        problem=episode.problem,
        episode=episode.id,
        event_time=event.event_time,
    )
    transaction.set_lost(episode, seq)
    return Recorded(seq)
