"""Policies: the versions that were published."""

import struct
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from belated.episode import Policy
from belated.ledger import schema
from belated.ledger.problems import Problems, Spec
from belated.ledger.store import Store


class Packed(NamedTuple):
    """A policy as bytes, and their digest."""

    actions: bytes
    explore: bytes | None
    epsilon: float
    sha: str


@dataclass(frozen=True)
class Version:
    """A version of a policy, but for what it plays."""

    version: int
    seq: int
    tick: int | None
    """The seq of the tick that it came from; None for one that came from no data."""
    sha: str


def pack(policy: Policy) -> Packed:
    """The same bytes for the same policy, on any machine."""
    actions = np.ascontiguousarray(policy.actions, "<i4").tobytes()
    marked = policy.explore is not None and bool(policy.explore.any())
    explore = np.packbits(policy.explore).tobytes() if marked else None  # type: ignore[arg-type]
    epsilon = float(policy.epsilon)
    return Packed(actions, explore, epsilon, _sha(actions, explore, epsilon))


def unpack(packed: Packed, spec: Spec) -> Policy:
    """The policy, bit for bit."""
    H, S, A = spec.horizon, len(spec.states), len(spec.actions)
    actions = np.frombuffer(packed.actions, "<i4").astype(np.int32).reshape(H, S)
    explore = None
    if packed.explore is not None:
        bits = np.unpackbits(np.frombuffer(packed.explore, np.uint8), count=H * S * A)
        explore = bits.astype(np.bool_).reshape(H, S, A)
    elif packed.epsilon > 0:
        explore = np.zeros((H, S, A), np.bool_)
    return Policy(actions, explore, packed.epsilon)


def _sha(actions: bytes, explore: bytes | None, epsilon: float) -> str:
    parts = (struct.pack("<d", epsilon), actions, explore or b"")
    return sha256(b"".join(parts)).hexdigest()


def check_fits(policy: Policy, spec: Spec) -> None:
    """Refuse a policy that is not one of this problem."""
    H, S, A = spec.horizon, len(spec.states), len(spec.actions)
    if policy.actions.shape != (H, S):
        raise ValueError(
            f"policy has actions of shape {policy.actions.shape}; it must be {(H, S)}."
        )
    if not ((policy.actions >= 0) & (policy.actions < A)).all():
        raise ValueError(f"policy has an action outside 0 .. {A - 1}.")
    if policy.explore is not None and policy.explore.shape != (H, S, A):
        raise ValueError(
            f"policy explores with shape {policy.explore.shape}; it must be {(H, S, A)}."
        )


class Policies:
    """What was published, to be read."""

    def __init__(self, store: Store, problems: Problems) -> None:
        self._store = store
        self._problems = problems

    def versions(self, problem: int) -> list[Version]:
        """Every version, oldest first."""
        of = schema.policies.c
        query = sa.select(of.version, of.seq, of.tick, of.sha).where(of.problem == problem)
        with self._store.reading() as connection:
            return [Version(*row) for row in connection.execute(query.order_by(of.version))]

    def newest(self, problem: int) -> Version | None:
        """The last version, if there is one."""
        of = schema.policies.c
        query = sa.select(of.version, of.seq, of.tick, of.sha).where(of.problem == problem)
        with self._store.reading() as connection:
            row = connection.execute(query.order_by(of.version.desc()).limit(1)).first()
        return None if row is None else Version(*row)

    def get(self, problem: int, version: int) -> Policy | None:
        """What a version plays, just as it was published; None if there is no such version."""
        of = schema.policies.c
        query = sa.select(of.actions, of.explore, of.epsilon, of.sha)
        with self._store.reading() as connection:
            known = self._problems.get(connection, problem)
            row: Any = connection.execute(
                query.where(of.problem == problem, of.version == version)
            ).first()
        if row is None or known is None:
            return None
        packed = Packed(*row)
        if _sha(*packed[:3]) != packed.sha:
            raise ValueError(
                f"Version {version} of problem {known.name!r} has been changed where it is stored: "
                "its digest is another."
            )
        return unpack(packed, known.spec)
