"""Outcomes of recording an event in a ledger."""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from belated.ledger.episodes import EpisodeRecord


@dataclass(frozen=True)
class Recorded:
    """Outcome: the event was recorded. It is on disk when its transaction is committed."""

    name: ClassVar[str] = "recorded"
    seq: int
    """Sequence number of the event."""
    episode: EpisodeRecord | None = None
    """Record of the new episode if the event is an opening, else None."""


@dataclass(frozen=True)
class KeyStored(Recorded):
    """Outcome: a response was stored under an idempotency key; no event was recorded."""

    name: ClassVar[str] = "keystored"


@dataclass(frozen=True)
class AlreadyRecorded:
    """Outcome: the content of the event is recorded already, and nothing was added."""

    name: ClassVar[str] = "alreadyrecorded"
    seq: int
    """Sequence number of the recorded event; the largest one if several events hold the content."""
    episode: EpisodeRecord | None = None
    """Record of the existing episode if the event is an opening, else None."""


@dataclass(frozen=True)
class Conflict:
    """Outcome: the event was rejected, since it contradicts a recorded event."""

    name: ClassVar[str] = "conflict"
    reason: str
    seq: int
    """Sequence number of the recorded event that is contradicted."""


@dataclass(frozen=True)
class NotFound:
    """Outcome: the event was rejected, since its episode, problem or subject does not exist."""

    name: ClassVar[str] = "unknown"
    reason: str


@dataclass(frozen=True)
class DataWithdrawn:
    """Outcome: the event was rejected, since the data of its episode has been withdrawn."""

    name: ClassVar[str] = "gone"
    reason: str
    seq: int
    """Sequence number of the event that withdrew the data."""


@dataclass(frozen=True)
class Invalid:
    """Outcome: the event was rejected, since it is malformed or not allowed at present."""

    name: ClassVar[str] = "refused"
    reason: str
    field: str | None = None
    """Name of the invalid field, such as `rewards[3]` or `steps[0].state`; None if no single field
    is invalid."""


Outcome: TypeAlias = Recorded | AlreadyRecorded | Conflict | NotFound | DataWithdrawn | Invalid
"""Outcome of recording an event.

The attribute `name` of an outcome identifies its type in the quarantine and in metrics."""
