"""Published versions of policies, and snapshots from which a learner is restored.

A snapshot is the state computed from the events of a problem up to some seq, encoded as bytes.
The module `belated.online.snapshot_codec` encodes and decodes the bytes.
"""

import logging
import struct
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import sqlalchemy as sa

from belated.check import check_seq
from belated.episode import Policy
from belated.ledger import schema
from belated.ledger.events import EXCLUDING_KINDS
from belated.ledger.problems import ProblemSpec
from belated.ledger.store import Store

if TYPE_CHECKING:
    from belated.ledger.transaction import ProblemCache


class EncodedPolicy(NamedTuple):
    """Policy encoded as bytes, with a digest. Each field is a column of the table of policies."""

    actions: bytes
    """Index of the action for each step and state, as little-endian int32."""
    explore: bytes | None
    """Mask, over all steps, states and actions, of the actions to explore, as packed bits; None if
    the mask contains no action."""
    epsilon: float
    """Probability of a uniformly random action where the mask `explore` contains no action."""
    sha: str
    """SHA-256 of the other fields."""


@dataclass(frozen=True)
class Version:
    """Data about a published version of a policy, without the policy itself."""

    version: int
    """Version number: 1, 2, ... within the problem."""
    seq: int
    """Sequence number of the event that published the version."""
    tick: int | None
    """Sequence number of the last tick before the policy was computed; None if the policy was
    computed before the first tick."""
    sha: str
    """SHA-256 digest of the encoded policy."""


def encode_policy(policy: Policy) -> EncodedPolicy:
    """Return `policy` encoded as bytes. The encoding does not depend on the machine."""
    actions = np.ascontiguousarray(policy.actions, "<i4").tobytes()
    explore = None
    if policy.explore is not None and policy.explore.any():
        explore = np.packbits(policy.explore).tobytes()
    epsilon = float(policy.epsilon)
    return EncodedPolicy(actions, explore, epsilon, digest_policy(actions, explore, epsilon))


def decode_policy(encoded: EncodedPolicy, spec: ProblemSpec) -> Policy:
    """Return the policy that was encoded as `encoded`.

    `spec` specifies the problem of the policy; it determines the shapes of the arrays.
    """
    H, S, A = spec.shape.table
    actions = np.frombuffer(encoded.actions, "<i4").astype(np.int32).reshape(H, S)
    explore = None
    if encoded.explore is not None:
        bits = np.unpackbits(np.frombuffer(encoded.explore, np.uint8), count=H * S * A)
        explore = bits.astype(np.bool_).reshape(H, S, A)
    elif encoded.epsilon > 0:
        explore = np.zeros((H, S, A), np.bool_)
    allowed = spec.shape.available if encoded.epsilon > 0 and spec.shape.is_restricted else None
    return Policy(actions, explore, encoded.epsilon, allowed)


def digest_policy(actions: bytes, explore: bytes | None, epsilon: float) -> str:
    return sha256(struct.pack("<d", epsilon) + actions + (explore or b"")).hexdigest()


def check_policy(policy: Policy, spec: ProblemSpec) -> None:
    """Raise ValueError unless the array shapes and actions of `policy` fit the problem `spec`."""
    H, S, A = spec.shape.table
    if policy.actions.shape != (H, S):
        raise ValueError(f"policy.actions must have shape {(H, S)}, got {policy.actions.shape}.")
    for number in policy.actions[(policy.actions < 0) | (policy.actions >= A)][:1]:
        raise ValueError(f"policy.actions must lie in 0 .. {A - 1}, got {number}.")
    spec.shape.check_actions("policy.actions", policy.actions)
    if policy.explore is not None and policy.explore.shape != (H, S, A):
        raise ValueError(f"policy.explore must have shape {(H, S, A)}, got {policy.explore.shape}.")


class Policies:
    """Read-only access to the policies published in a ledger.

    Parameters
    ----------
    store : Store
        Database of the ledger.
    problems : ProblemCache
        Cache of the problems of the ledger.
    """

    def __init__(self, store: Store, problems: "ProblemCache") -> None:
        self._store = store
        self._problems = problems

    def versions(self, problem: int, *, limit: int | None = None) -> list[Version]:
        """Return the newest `limit` versions, or all, of a problem with an id, oldest first."""
        columns = schema.policies.c
        query = sa.select(columns.version, columns.seq, columns.tick, columns.sha)
        query = query.where(columns.problem == problem).order_by(columns.version.desc())
        return [Version(*row) for row in reversed(self._store.read(query.limit(limit)))]

    def newest(self, problem: int) -> Version | None:
        """Return the newest version of the problem with id `problem`; None if there is none."""
        return next(iter(self.versions(problem, limit=1)), None)

    def get(self, problem: int, version: int) -> Policy | None:
        """Return the policy published as `version` of the problem with id `problem`.

        Returns None if there is no such version. Raises ValueError if the stored policy does not
        match its digest.
        """
        columns = schema.policies.c
        query = sa.select(columns.actions, columns.explore, columns.epsilon, columns.sha)
        query = query.where(columns.problem == problem, columns.version == version)
        with self._store.reading() as connection:
            known = self._problems.get(connection, problem)
            row: Any = connection.execute(query).first()
        if row is None or known is None:
            return None
        encoded = EncodedPolicy(*row)
        if digest_policy(*encoded[:3]) != encoded.sha:
            raise ValueError(
                f"Version {version} of problem {known.name!r} has been changed: digest mismatch."
            )
        return decode_policy(encoded, known.spec)


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
            newest = sa.select(table.c.seq).where(mine, table.c.seq != seq)
            kept = newest.order_by(table.c.seq.desc()).limit(SNAPSHOTS_PER_PROBLEM - 1)
            connection.execute(sa.delete(table).where(mine, table.c.seq.not_in(kept)))
            row = {"problem": problem, "seq": seq, "at": self._store.now(), "data": data}
            connection.execute(sa.insert(table).values(**row, sha=sha256(data).hexdigest()))
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
