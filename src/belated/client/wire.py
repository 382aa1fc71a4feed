"""Types that client and service share.

The service writes them as JSON, and describes them in its OpenAPI document, with the docstrings as
descriptions. The client reads them with `from_dict`. A field that has a default value is left out
of the JSON object if it has this value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, Union

T = TypeVar("T")

StateRef = Union[str, int, Mapping[str, Union[str, int]]]
"""State, given as its name, its index, or a mapping from the name of each factor to its value."""


class Message:
    """Base class of the types."""

    # read by Pydantic, where the service describes the types
    __pydantic_config__ = {"use_attribute_docstrings": True, "extra": "forbid"}  # noqa: RUF012


@dataclass(frozen=True)
class LineResult(Message):
    """Result of one line of a bulk request.

    An accepted line has `result` and `seq`. A rejected line has `error`, `message` and `field`.
    """

    line: int
    """Number of the line, from 1."""
    episode: str | None
    """Id of the episode; None if the line contains no id."""
    status: int
    """HTTP status of the line, as if it had been a separate request."""
    result: str | None = None
    """"recorded" or "already recorded"; None if the line was rejected."""
    seq: int | None = None
    """Sequence number of the event in the ledger; None if the line was rejected."""
    error: str | None = None
    """Error code; None if the line was accepted."""
    message: str | None = None
    """Explanation of the error; None if the line was accepted."""
    field: str | None = None
    """Name of the field at fault; None if the line was accepted or no single field is at fault."""


@dataclass(frozen=True)
class Policy(Message):
    """A published version of a policy.

    The action at step h (from 0) in a state is chosen as follows. If `explore[h][state]` is
    present, draw one of its actions with equal probabilities. Otherwise, with probability
    `epsilon`, draw one of all actions with equal probabilities, or of `allowed[h][state]` if it is
    present. Otherwise take `plan[h][state]`. The fields after `sha` are present only if the problem
    has terminal states, forbidden actions or factors, respectively.
    """

    problem: str
    version: int
    horizon: int
    actions: Sequence[str]
    plan: Sequence[Mapping[str, str | None]] = field(repr=False)
    """For each step, a mapping from the name of each state to the name of the action. The action is
    None in a terminal state, in which the episode has ended."""
    explore: Sequence[Mapping[str, Sequence[str]]] = field(repr=False)
    """For each step, a mapping from the name of a state to the actions from which one is drawn
    uniformly. States without such actions are omitted."""
    epsilon: float
    """Probability of a uniformly random action in states that are not in `explore`."""
    sha: str
    """SHA-256 digest of the policy."""
    terminal: Sequence[str] = field(default=(), repr=False)
    """Names of the terminal states."""
    allowed: Sequence[Mapping[str, Sequence[str]]] = field(default=(), repr=False)
    """For each step, a mapping from the name of a state to the allowed actions. States in which all
    actions are allowed are omitted. Empty if all actions are allowed everywhere."""
    factors: Sequence[str] = field(default=(), repr=False)
    """Names of the factors of the states; empty if the states have no factors."""


def from_dict(kind: type[T], body: Mapping[str, Any]) -> T:
    """Return an instance of the dataclass `kind` with the fields of the JSON object `body`.

    Unknown fields are ignored.
    """
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: body[name] for name in names if name in body})
