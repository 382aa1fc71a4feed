"""Published versions of policies in the database, and the encoding of a policy as bytes."""

import struct
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from belated.episode import Policy
from belated.ledger import schema
from belated.ledger.problems import ProblemCache, ProblemSpec
from belated.ledger.store import Store


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
    return EncodedPolicy(actions, explore, epsilon, _digest(actions, explore, epsilon))


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


def _digest(actions: bytes, explore: bytes | None, epsilon: float) -> str:
    return sha256(struct.pack("<d", epsilon) + actions + (explore or b"")).hexdigest()


def check_policy(policy: Policy, spec: ProblemSpec) -> None:
    """Raise ValueError unless the array shapes and actions of `policy` fit the problem `spec`."""
    H, S, A = spec.shape.table
    if policy.actions.shape != (H, S):
        raise ValueError(f"policy.actions must have shape {(H, S)}, got {policy.actions.shape}.")
    for number in policy.actions[(policy.actions < 0) | (policy.actions >= A)][:1]:
        raise ValueError(f"policy.actions must lie in 0 .. {A - 1}, got {number}.")
    if spec.shape.is_restricted:
        steps, states = np.ogrid[:H, :S]
        for step, state in np.argwhere(~spec.shape.available[steps, states, policy.actions])[:1]:
            action = spec.actions[policy.actions[step, state]]
            raise ValueError(
                f"policy.actions must be allowed, got {action!r} in state {spec.states[state]!r} "
                f"at step {step}."
            )
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

    def __init__(self, store: Store, problems: ProblemCache) -> None:
        self._store = store
        self._problems = problems

    def versions(self, problem: int) -> list[Version]:
        """Return all versions of the problem with id `problem`, oldest first."""
        query = self._query(problem).order_by(schema.policies.c.version)
        with self._store.reading() as connection:
            return [Version(*row) for row in connection.execute(query)]

    def newest(self, problem: int) -> Version | None:
        """Return the newest version of the problem with id `problem`; None if there is none."""
        query = self._query(problem).order_by(schema.policies.c.version.desc()).limit(1)
        with self._store.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else Version(*row)

    @staticmethod
    def _query(problem: int) -> sa.Select[Any]:
        columns = schema.policies.c
        query = sa.select(columns.version, columns.seq, columns.tick, columns.sha)
        return query.where(columns.problem == problem)

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
        if _digest(*encoded[:3]) != encoded.sha:
            raise ValueError(
                f"Version {version} of problem {known.name!r} has been changed: digest mismatch."
            )
        return decode_policy(encoded, known.spec)
