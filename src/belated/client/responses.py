"""Responses of the service: policies, opened episodes, results of bulk requests."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class NamedPolicy:
    """Version of a policy, by names of states and actions. It chooses actions without a network."""

    problem: str
    version: int
    horizon: int
    actions: Sequence[str]
    plan: Sequence[Mapping[str, str]] = field(repr=False)
    """Action by step and state."""
    explore: Sequence[Mapping[str, Sequence[str]]] = field(repr=False)
    """Actions to draw from by step and state, where the policy explores."""
    epsilon: float
    """Probability of a random action in all other states."""
    sha: str
    """Digest of the policy."""

    def act(self, step: int, state: str | int, u: float | None = None) -> str:
        """Return the action at a step in a state.

        Parameters
        ----------
        step : int
            Step from 0.
        state : str | int
            Name or index of the state.
        u : float | None
            Uniform number in [0, 1) that decides random choices; drawn if None.

        Returns
        -------
        str
            Name of the action.

        Raises
        ------
        ValueError
            If `step`, `state` or `u` is out of range.
        """
        if not 0 <= step < self.horizon:
            raise ValueError(f"step must be in 0 .. {self.horizon - 1}, got {step}.")
        names = list(self.plan[step])
        if not isinstance(state, str) and 0 <= state < len(names):
            state = names[state]
        if state not in self.plan[step]:
            known = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
            raise ValueError(f"state must be {known}, or 0 .. {len(names) - 1}; got {state!r}.")
        u = random.random() if u is None else u
        if not 0 <= u < 1:
            raise ValueError(f"u must be in [0, 1), got {u}.")
        if explored := self.explore[step].get(str(state)):
            return explored[int(u * len(explored))]
        if u < self.epsilon:
            return self.actions[int(u / self.epsilon * len(self.actions))]
        return self.plan[step][str(state)]


@dataclass(frozen=True)
class OpenEpisode:
    """Episode that was opened, and the policy for it."""

    id: str
    version: int
    policy: NamedPolicy

    def act(self, step: int, state: str | int, u: float | None = None) -> str:
        """Return the action at a step in a state, as `NamedPolicy.act` does.

        Parameters
        ----------
        step : int
            Step from 0.
        state : str | int
            Name or index of the state.
        u : float | None
            Uniform number in [0, 1). By default it is derived from the id and the step: further
            calls, and `Client.decide` with this episode, return the same action.

        Returns
        -------
        str
            Name of the action.
        """
        if u is None:
            bits = sha256(f"{step}/{self.id}".encode()).digest()
            u = int.from_bytes(bits[:8], "big") / 2**64 // 2**-53 * 2**-53
        return self.policy.act(step, state, u)


@dataclass(frozen=True)
class LineResult:
    """Result of one line of a bulk request."""

    line: int
    """Number of the line, from 1."""
    episode: str | None
    """Id of the episode, if the line named one."""
    status: int
    """HTTP status that the line would get as a request of its own."""
    result: str | None = None
    """"recorded" or "already recorded", if accepted."""
    seq: int | None = None
    """Sequence number in the ledger, if accepted."""
    error: str | None = None
    """Error code, if rejected."""
    message: str | None = None
    """Explanation, if rejected."""
    field: str | None = None
    """Field that is wrong, if rejected."""


def from_json(kind: type[T], body: Mapping[str, Any]) -> T:
    """Return a dataclass of this `kind` from the JSON object `body`, ignoring unknown fields."""
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: body[name] for name in names if name in body})
