"""Snapshots: what a fold has made of the events up to some seq, so that it need not begin anew."""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.store import Store
from belated.ledger.validation import check_seq

KEEP: Final = 4
"""How many of each problem: a correction can undo the last ones."""


@dataclass(frozen=True)
class Snapshot:
    """What was made of the events of a problem up to and including `seq`."""

    problem: int
    seq: int
    data: bytes = field(repr=False)


class Snapshots:
    """The snapshots of a ledger.

    One that is read holds what its digest says, and nothing that was corrected or withdrawn after
    it was made: whatever was is dropped in the same transaction.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(self, problem: int, seq: int, data: bytes) -> bool:
        """Keep a snapshot, unless something was corrected or withdrawn meanwhile."""
        if not isinstance(data, bytes):
            raise TypeError(f"data must be bytes, not {type(data).__name__}.")
        of, events = schema.snapshots, schema.events.c
        undone = sa.select(events.seq).where(
            events.problem == problem,
            events.kind.in_(["corrected", "withdrawn"]),
            events.seq > check_seq("seq", seq),
            sa.text(schema.RARE),
        )
        with self._store.writing() as connection:
            if connection.execute(undone.limit(1)).first() is not None:
                return False
            mine = of.c.problem == problem
            connection.execute(sa.delete(of).where(mine, of.c.seq == seq))
            row = {"problem": problem, "seq": seq, "at": self._store.now(), "data": data}
            connection.execute(sa.insert(of).values(**row, sha=sha256(data).hexdigest()))
            oldest = sa.select(of.c.seq).where(mine).order_by(of.c.seq.desc()).offset(KEEP)
            connection.execute(
                sa.delete(of).where(mine, of.c.seq.in_(list(connection.scalars(oldest))))
            )
        return True

    def newest(self, problem: int, *, upto: int | None = None) -> Snapshot | None:
        """The last one, at `upto` or before; one that is damaged is passed over."""
        of = schema.snapshots.c
        query = sa.select(of.seq, of.data, of.sha).where(of.problem == problem)
        if upto is not None:
            query = query.where(of.seq <= check_seq("upto", upto, 0))
        with self._store.reading() as connection:
            for row in connection.execute(query.order_by(of.seq.desc())):
                if sha256(row.data).hexdigest() == row.sha:
                    return Snapshot(problem, row.seq, bytes(row.data))
        return None
