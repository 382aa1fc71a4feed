"""Stored events and episodes, and the outcomes of recording an event.

`Event` is an event stored in the ledger; `belated.ledger.kinds` has one class for each kind of new
event, with its fields. Times are in microseconds since 1970 (UTC). `event_time` is the time at
which the event happened; it is set by the caller, and None if unknown. The ledger adds the time of
recording. Learners use events in order of the sequence number, which is the order of arrival; ages
and delays in seconds are computed from `Event.happened_at`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, TypeVar

import sqlalchemy as sa

from belated.check import check_episode_id, check_seq, check_text, check_time

if TYPE_CHECKING:
    from belated.ledger.transaction import Transaction

Kind = Literal[
    "defined",
    "opened",
    "feedback",
    "corrected",
    "lost",
    "withdrawn",
    "tick",
    "published",
    "control",
]


class Event(NamedTuple):
    """Event as stored in the ledger."""

    seq: int
    """Sequence number, from 1."""
    problem: int
    """Id of the problem."""
    episode: str | None
    """Id of the episode; None if the event does not belong to a single episode."""
    kind: Kind
    at: int
    """Time of recording, in microseconds since 1970 (UTC)."""
    event_time: int | None
    text: str | None
    """Body as canonical JSON; None if the event is redacted."""
    salt: bytes | None
    """Random bytes that are hashed before the text. None if the event is redacted, or if it is of a
    kind that is never redacted."""
    sha: str
    """SHA-256 digest of the salt followed by the text; it is kept when the event is redacted."""
    redacted: bool

    @property
    def body(self) -> Any:
        """Body of the event, parsed from its JSON text at each access; None if it is redacted."""
        return None if self.text is None else json.loads(self.text)

    @property
    def happened_at(self) -> int:
        """Time at which the event happened, in microseconds since 1970 (UTC).

        This is `event_time`, or the time of recording if `event_time` is None. An event cannot
        happen after it is recorded, so a later `event_time` is replaced by the time of recording.
        """
        return self.at if self.event_time is None else min(self.event_time, self.at)


def _check_episode(name: str, value: object) -> None:
    # only a text: an id with an invalid format is not found rather than malformed
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {value!r}.")


CHECKS: Final[dict[str, Callable[[str, object], object]]] = {
    "problem": check_seq,
    "version": check_seq,
    "upto": check_seq,
    "tick": check_seq,
    "subject": check_text,
    "by": check_text,
    "reason": check_text,
    "id": check_episode_id,
    "episode": _check_episode,
    "event_time": check_time,
}
"""Map from the name of a field of a new event to the function that checks the field's value."""


class NewEvent:
    """Base class of what `Ledger.append` records: the new events in `belated.ledger.kinds`, and
    responses to be stored together with them. Fields are checked when an object is created."""

    kind: ClassVar[Kind]
    is_personal: ClassVar[bool] = False
    """Whether the content belongs to a person: it is salted, and redacted by a withdrawal."""
    event_time: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name in CHECKS and (value is not None or not hasattr(type(self), name)):
                CHECKS[name](name, value)

    def record(self, transaction: "Transaction") -> "Outcome":
        """Record this event in `transaction`, or reject it, and return the outcome."""
        raise NotImplementedError

    @staticmethod
    def follow(transaction: "Transaction", event: Event) -> None:
        """Change the derived tables because of the stored `event`.

        This is called when an event is recorded, and for each event when an audit rebuilds the
        tables.
        """


MAX_IDS_PER_QUERY: Final = 500

K = TypeVar("K", int, str)

EXCLUDING_KINDS: Final[tuple[Kind, ...]] = ("corrected", "withdrawn")
"""Kinds of events because of which a learner has to skip earlier events."""


@dataclass(frozen=True)
class EpisodeRecord:
    """Episode as stored in the ledger, without its feedback."""

    id: str
    problem: int
    """Id of the problem."""
    number: int
    """Number 1, 2, ... of the episode within its problem; the learner uses it as the episode id."""
    version: int
    """Version of the policy that the episode follows."""
    seq: int
    """Sequence number of the event that opened the episode."""
    subject: str | None = field(default=None, repr=False)
    """Pseudonym of the person to whom the episode belongs; None if not given, or withdrawn."""
    withdrawn: int | None = None
    """Sequence number of the event that withdrew the episode; None if it is not withdrawn."""
    lost: int | None = None
    """Sequence number of the event that declared the episode lost; None if there is no such event,
    or if feedback of the episode arrived after it."""
    feedback: tuple[int, ...] = field(default=(), repr=False)
    """Sequence numbers of the events with the feedback of the episode that is currently valid."""
    replaced: tuple[int, ...] = field(default=(), repr=False)
    """Sequence numbers of the events whose feedback a correction has replaced."""

    @classmethod
    def of(cls, row: Sequence[Any]) -> "EpisodeRecord":
        """Return the record in a row of the result of one of `EPISODE_QUERIES`."""
        claims = (tuple(map(int, text.split(","))) if text else () for text in row[8:])
        return cls(*row[:8], *claims)


_COLUMNS: Final = """
    episodes.id, problem, number, version, seq,
    (SELECT subject FROM subjects WHERE episode = episodes.seq), withdrawn, lost,
    (SELECT seqs FROM claims WHERE episode = episodes.seq),
    (SELECT replaced FROM claims WHERE episode = episodes.seq)
"""

EPISODE_QUERIES: Final = {
    "sqlite": f"SELECT {_COLUMNS} FROM json_each(?) AS wanted "
    "JOIN episodes ON episodes.id = wanted.value",
    # a lateral join, since PostgreSQL scans the whole table until it has statistics
    "postgresql": f"SELECT {_COLUMNS} FROM json_array_elements_text(%s) AS wanted(id), "
    "LATERAL (SELECT * FROM episodes WHERE id = wanted.id OFFSET 0) AS episodes",
}
"""Map from the SQL dialect to the query for the records of episodes; the parameter is the list of
their ids as JSON."""


def read_episodes(connection: sa.Connection, ids: Sequence[str]) -> dict[str, EpisodeRecord]:
    """Return a dict that maps each of `ids` to the record of the episode with this id.

    Ids for which there is no episode are omitted.
    """
    query = EPISODE_QUERIES[connection.dialect.name]
    rows = (
        row
        for chunk in chunk_ids(ids)
        for row in connection.exec_driver_sql(query, (json.dumps(chunk),))
    )
    return {row[0]: EpisodeRecord.of(row) for row in rows}


class Exclusions:
    """Set of the events to skip when the state of a learner is computed from events.

    All events of a withdrawn episode are skipped, as if the episode had never been opened. For
    a corrected episode, all feedback before the last correction is skipped.

    Parameters
    ----------
    events : iterable of Event
        Corrections and withdrawals, in order of their sequence numbers; events of other kinds are
        ignored.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._withdrawn: set[str] = set()
        self._corrected: dict[str, int] = {}
        for event in events:
            if event.kind == "withdrawn":
                self._withdrawn.update(event.body["episodes"])
            elif event.kind == "corrected" and event.episode is not None:
                self._corrected[event.episode] = event.seq

    def __contains__(self, event: Event) -> bool:
        """Return whether to skip `event`, which must be an opening, feedback or a correction."""
        episode = event.episode
        # an event that is redacted was withdrawn by an event that may not have been read yet
        return (
            event.redacted
            or episode in self._withdrawn
            or (event.kind != "opened" and event.seq < self._corrected.get(episode or "", 0))
        )


def chunk_ids(ids: Sequence[K]) -> Iterator[Sequence[K]]:
    """Yield consecutive slices of `ids`, each with at most `MAX_IDS_PER_QUERY` ids."""
    for first in range(0, len(ids), MAX_IDS_PER_QUERY):
        yield ids[first : first + MAX_IDS_PER_QUERY]


@dataclass(frozen=True)
class Recorded:
    """Outcome: the event was recorded. It is on disk when its transaction is committed."""

    name: ClassVar[str] = "recorded"
    seq: int
    """Sequence number of the event."""
    episode: EpisodeRecord | None = None
    """Record of the new episode if the event is an opening, else None."""


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

The attribute `name` of an outcome identifies its type in the quarantine."""
