"""Recording that data is withdrawn, and redacting it."""

from collections.abc import Sequence

import sqlalchemy as sa

from belated.online import schema
from belated.online.batch import Batch, answers, pieces
from belated.online.canonical import canonical
from belated.online.events import Withdrawn
from belated.online.outcomes import AlreadyRecorded, Outcome, Recorded, Unknown


def record_withdrawal(batch: Batch, given: Withdrawn) -> Outcome:
    """What came back of these episodes is forgotten; that they were played is not."""
    if given.episode is not None:
        episode = batch.episode(given.episode)
        if episode is None:
            return Unknown(f"There is no episode {given.episode[:64]!r}.")
        if episode.withdrawn is not None:
            return AlreadyRecorded(episode.withdrawn)
        ids, problem = [episode.id], episode.problem
    else:
        assert given.problem is not None
        ids, problem = _played_by(batch, given), given.problem
        if not ids:
            return Unknown(f"Nothing of this subject is in problem {problem}.")
    # the ids tell the fold what to leave out; the subject itself is not named
    seq = batch.event(
        "withdrawn", canonical({"episodes": ids}), problem=problem, event_time=given.event_time
    )
    for some in pieces(ids):
        _redact(batch, some, problem=problem, seq=seq)
    batch.forget_claims(ids)
    batch.refresh(ids)
    batch.redacts = True
    return Recorded(seq)


def _played_by(batch: Batch, given: Withdrawn) -> list[str]:
    of = schema.episodes.c
    query = sa.select(of.id).where(of.problem == given.problem, of.subject == given.subject)
    return list(batch.run(query.order_by(of.number)).scalars())


def _redact(batch: Batch, ids: Sequence[str], *, problem: int, seq: int) -> None:
    events, episodes = schema.events, schema.episodes
    refusals = schema.quarantine
    first = sa.select(sa.func.min(episodes.c.seq)).where(episodes.c.id.in_(ids))
    batch.forget_snapshots(problem, batch.run(first).scalar_one())
    for statement in (
        sa.update(events)
        .where(events.c.seq.in_(answers(ids)))
        .values(body=None, salt=None, event_time=None, redacted=True),
        sa.update(episodes).where(episodes.c.id.in_(ids)).values(subject=None, withdrawn=seq),
        sa.delete(refusals).where(refusals.c.episode.in_(ids)),
    ):
        batch.run(statement)
