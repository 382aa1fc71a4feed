"""What became of an event that was handed to a ledger."""

from dataclasses import dataclass
from typing import TypeAlias

from belated.ledger.episodes import EpisodeRecord


@dataclass(frozen=True)
class Recorded:
    """It is in the ledger at `seq`, and stays there if the power fails now."""

    seq: int
    episode: EpisodeRecord | None = None
    """What was opened, if that is what it was."""


@dataclass(frozen=True)
class AlreadyRecorded:
    """All that it says had been recorded by `seq`; nothing was added."""

    seq: int
    episode: EpisodeRecord | None = None


@dataclass(frozen=True)
class Conflict:
    """It contradicts what was recorded at `seq`."""

    reason: str
    seq: int


@dataclass(frozen=True)
class Unknown:
    """It speaks of an episode, problem or subject that was never recorded."""

    reason: str


@dataclass(frozen=True)
class Gone:
    """It speaks of an episode whose data has been withdrawn."""

    reason: str
    seq: int


@dataclass(frozen=True)
class Refused:
    """It is malformed, or out of turn."""

    reason: str
    field: str | None = None
    """Where: `rewards[3]`, `steps[0].state`."""


Outcome: TypeAlias = Recorded | AlreadyRecorded | Conflict | Unknown | Gone | Refused
