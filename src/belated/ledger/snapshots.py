"""Table of snapshots, from which a learner is restored without applying all events again.

A snapshot is the state computed from the events of a problem up to some seq, encoded as bytes.
The module `belated.online.snapshot_codec` encodes and decodes the bytes.
"""

import logging
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import sqlalchemy as sa

from belated.check import check_seq
from belated.ledger import schema
from belated.ledger.episodes import EXCLUDING_KINDS
from belated.ledger.store import Store

LOG: Final = logging.getLogger("belated.service")

SNAPSHOTS_PER_PROBLEM: Final = 4
"""Number of snapshots to keep for each problem.

More than one is kept, since a correction or withdrawal deletes those that include affected
events."""


@dataclass(frozen=True)
class Snapshot:
    """Snapshot of a problem: the state computed from its events up to `seq`, encoded as bytes."""

    problem: int
    seq: int
    data: bytes = field(repr=False)


class Snapshots:
    """Snapshots of the ledger whose database is `store`.

    When a correction or withdrawal is recorded, the snapshots that include the affected events are
    deleted in the same transaction.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(self, problem: int, seq: int, data: bytes) -> bool:
        """Save a snapshot, unless it may be stale.

        A snapshot may be stale if a correction or withdrawal of the problem was recorded after
        `seq`. Only the newest `SNAPSHOTS_PER_PROBLEM` snapshots of a problem are kept.

        Parameters
        ----------
        problem : int
            Id of the problem.
        seq : int
            Seq of the last event that the snapshot includes.
        data : bytes
            State encoded as bytes.

        Returns
        -------
        bool
            Whether the snapshot was saved.
        """
        if not isinstance(data, bytes):
            raise TypeError(f"data must be bytes, got {type(data).__name__}.")
        table, events = schema.snapshots, schema.events.c
        excluding = sa.select(events.seq).where(
            events.problem == problem,
            events.kind.in_(EXCLUDING_KINDS),
            events.seq > check_seq("seq", seq),
            sa.text(schema.RARE),
        )
        with self._store.writing() as connection:
            if connection.execute(excluding.limit(1)).first() is not None:
                return False
            mine = table.c.problem == problem
            connection.execute(sa.delete(table).where(mine, table.c.seq == seq))
            row = {"problem": problem, "seq": seq, "at": self._store.now(), "data": data}
            connection.execute(sa.insert(table).values(**row, sha=sha256(data).hexdigest()))
            newest_first = sa.select(table.c.seq).where(mine).order_by(table.c.seq.desc())
            oldest = list(connection.scalars(newest_first.offset(SNAPSHOTS_PER_PROBLEM)))
            connection.execute(sa.delete(table).where(mine, table.c.seq.in_(oldest)))
        return True

    def newest(self, problem: int, *, upto: int | None = None) -> Snapshot | None:
        """Return the newest snapshot of the problem with id `problem`; None if there is none.

        Snapshots that do not match their digest are skipped, and a warning is logged. If `upto` is
        given, snapshots that include events with a sequence number above `upto` are skipped too.
        """
        columns = schema.snapshots.c
        query = sa.select(columns.seq, columns.data, columns.sha).where(columns.problem == problem)
        if upto is not None:
            query = query.where(columns.seq <= check_seq("upto", upto, 0))
        with (
            self._store.reading() as connection,
            # closed at once: in SQLite, an open cursor keeps its read transaction open
            connection.execute(query.order_by(columns.seq.desc())) as rows,
        ):
            for row in rows:
                if sha256(row.data).hexdigest() == row.sha:
                    return Snapshot(problem, row.seq, bytes(row.data))
                LOG.warning("Snapshot at seq %d is ignored: digest mismatch.", row.seq)
        return None
