"""Episodes of a ledger: their records, queries for their feedback, and excluded events."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.events import Event, Kind

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


EPISODE_COLUMNS: Final = (
    *(schema.episodes.c[name] for name in ("id", "problem", "number", "version", "seq")),
    sa.select(schema.subjects.c.subject)
    .where(schema.subjects.c.episode == schema.episodes.c.seq)
    .scalar_subquery()
    .label("subject"),
    *(schema.episodes.c[name] for name in ("withdrawn", "lost")),
)
"""Columns of a query on the table of episodes, in the order of the fields of an EpisodeRecord."""


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
        self.add(events)

    def add(self, events: Iterable[Event]) -> None:
        """Add the events to skip because of the corrections and withdrawals among `events`.

        `events` must be in order of their sequence numbers.
        """
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


def opening_seqs(ids: Sequence[str]) -> sa.Select[tuple[int]]:
    """Return a query for the sequence numbers of the events that opened the episodes `ids`.

    The tables of claims, of replaced events and of subjects identify an episode by this number.
    """
    return sa.select(schema.episodes.c.seq).where(schema.episodes.c.id.in_(ids))


def feedback_seqs(ids: Sequence[str]) -> sa.CompoundSelect[tuple[int]]:
    """Return a query for the sequence numbers of all feedback and corrections of some episodes.

    `ids` are the ids of the episodes. Feedback that a later correction replaced is included.
    """
    return sa.union(
        *(
            sa.select(table.c.seq).where(table.c.episode.in_(opening_seqs(ids)))
            for table in (schema.claims, schema.replaced)
        )
    )


def chunk_ids(ids: Sequence[K]) -> Iterator[Sequence[K]]:
    """Yield consecutive slices of `ids`, each with at most `MAX_IDS_PER_QUERY` ids."""
    for first in range(0, len(ids), MAX_IDS_PER_QUERY):
        yield ids[first : first + MAX_IDS_PER_QUERY]
