"""The events of a problem that others refer to."""

import sqlalchemy as sa

from belated.online import schema
from belated.online.batch import Batch
from belated.online.events import Event, Kind


def latest(batch: Batch, problem: int, kind: Kind) -> Event | None:
    """The last event of this kind."""
    of = schema.events.c
    row = batch.run(
        sa.select(schema.events)
        .where(of.problem == problem, of.kind == kind, sa.text(schema.RARE))
        .order_by(of.seq.desc())
        .limit(1)
    ).first()
    return None if row is None else Event._make(row)


def is_at(batch: Batch, problem: int, kind: Kind, seq: int) -> bool:
    """Whether an event of this kind stands at `seq`."""
    of = schema.events.c
    found = sa.select(of.seq).where(of.seq == seq, of.problem == problem, of.kind == kind)
    return batch.run(found).scalar() is not None
