"""What a service answers: a plan to act by, an episode that was opened, a line of a bulk."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """A version of a policy, to act by without a network."""

    problem: str
    version: int
    horizon: int
    actions: Sequence[str]
    plan: Sequence[Mapping[str, str]] = field(repr=False)
    """By step and state."""
    explore: Sequence[Mapping[str, Sequence[str]]] = field(repr=False)
    """Where one of several is drawn, these."""
    epsilon: float
    sha: str

    def act(self, step: int, state: str | int, u: float | None = None) -> str:
        """The action to play; where it is drawn, by a uniform `u` in [0, 1), or at random."""
        if not 0 <= step < self.horizon:
            raise ValueError(f"step is {step}; allowed are 0 .. {self.horizon - 1}.")
        names = list(self.plan[step])
        if not isinstance(state, str) and 0 <= state < len(names):
            state = names[state]
        if state not in self.plan[step]:
            known = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
            raise ValueError(f"state is {state!r}; allowed are {known}, or 0 .. {len(names) - 1}.")
        u = random.random() if u is None else u
        if not 0 <= u < 1:
            raise ValueError(f"u is {u}; it must lie in [0, 1).")
        if marked := self.explore[step].get(str(state)):
            return marked[int(u * len(marked))]
        if u < self.epsilon:
            return self.actions[int(u / self.epsilon * len(self.actions))]
        return self.plan[step][str(state)]


@dataclass(frozen=True)
class OpenEpisode:
    """An episode, and the policy that it is to be played with."""

    id: str
    version: int
    plan: Plan

    def act(self, step: int, state: str | int, u: float | None = None) -> str:
        """The action to play. A draw belongs to the step: asked again, here or with `decide`, it
        is the same."""
        if u is None:
            bits = sha256(f"{step}/{self.id}".encode()).digest()
            u = int.from_bytes(bits[:8], "big") / 2**64 // 2**-53 * 2**-53
        return self.plan.act(step, state, u)


@dataclass(frozen=True)
class Line:
    """What became of one line of a bulk, from 1; `status` is as if it had come alone."""

    line: int
    episode: str | None
    status: int
    result: str | None = None
    seq: int | None = None
    error: str | None = None
    message: str | None = None
    field: str | None = None


def made(kind: type[T], said: Mapping[str, Any]) -> T:
    """A record; what a newer service says on top is left out."""
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: said[name] for name in names if name in said})
