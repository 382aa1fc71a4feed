"""Outcomes of recording an event in a ledger."""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from belated.ledger.episodes import EpisodeRecord


@dataclass(frozen=True)
class Recorded:
    """The event was recorded durably."""

    name: ClassVar[str] = "recorded"
    seq: int
    """Sequence number of the event."""
    episode: EpisodeRecord | None = None
    """The new episode, if the event opened one."""


@dataclass(frozen=True)
class AlreadyRecorded:
    """The event repeats what is recorded already; nothing was added."""

    name: ClassVar[str] = "alreadyrecorded"
    seq: int
    """Sequence number of the last event that was repeated."""
    episode: EpisodeRecord | None = None
    """The existing episode, if the event opens one."""


@dataclass(frozen=True)
class Conflict:
    """The event contradicts a recorded event."""

    name: ClassVar[str] = "conflict"
    reason: str
    seq: int
    """Sequence number of the recorded event."""


@dataclass(frozen=True)
class NotFound:
    """The event names an episode, problem or subject that does not exist."""

    name: ClassVar[str] = "unknown"
    reason: str


@dataclass(frozen=True)
class DataWithdrawn:
    """The event names an episode whose data has been withdrawn."""

    name: ClassVar[str] = "gone"
    reason: str
    seq: int
    """Sequence number of the withdrawal."""


@dataclass(frozen=True)
class Invalid:
    """The event is malformed, or not allowed in the current state."""

    name: ClassVar[str] = "refused"
    reason: str
    field: str | None = None
    """Invalid field, such as `rewards[3]` or `steps[0].state`, if it is known."""


Outcome: TypeAlias = Recorded | AlreadyRecorded | Conflict | NotFound | DataWithdrawn | Invalid
"""`name` is the outcome's word in the quarantine and in metrics."""
