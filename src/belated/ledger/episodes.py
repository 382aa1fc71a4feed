"""Episodes of a ledger: their records, their feedback, and events that no longer count."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.events import Event, Kind

MAX_IDS_PER_QUERY: Final = 500

EXCLUDING_KINDS: Final[tuple[Kind, ...]] = ("corrected", "withdrawn")
"""Kinds of events that exclude earlier events."""


@dataclass(frozen=True)
class EpisodeRecord:
    """Episode as stored in the ledger, without its feedback."""

    id: str
    problem: int
    """Id of the problem."""
    number: int
    """Number 1, 2, ... within the problem; the learner's id of the episode."""
    version: int
    """Version of the policy that was given out for the episode."""
    seq: int
    """Sequence number of the event that opened the episode."""
    subject: str | None = field(default=None, repr=False)
    """Pseudonym of the person to whom the episode belongs."""
    withdrawn: int | None = None
    """Sequence number of the withdrawal, if the episode has been withdrawn."""


class Exclusions:
    """Events that a fold must skip: withdrawn episodes, and feedback that was corrected later.

    A withdrawn episode is skipped entirely, as if it had never been opened. `events` are the known
    corrections and withdrawals in order of seq; others are ignored.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._withdrawn: set[str] = set()
        self._corrected: dict[str, int] = {}
        self.add(events)

    def add(self, events: Iterable[Event]) -> None:
        """Add corrections and withdrawals from `events`, which are in order of seq."""
        for event in events:
            if event.kind == "withdrawn":
                self._withdrawn.update(event.body["episodes"])
            elif event.kind == "corrected" and event.episode is not None:
                self._corrected[event.episode] = event.seq

    def __contains__(self, event: Event) -> bool:
        """Return whether to skip `event`, which is an event of an episode."""
        episode = event.episode
        # an event that is redacted was withdrawn by an event that may not have been read yet
        return (
            event.redacted
            or episode in self._withdrawn
            or (event.kind != "opened" and event.seq < self._corrected.get(episode or "", 0))
        )


def opening_seqs(ids: Sequence[str]) -> sa.Select[tuple[int]]:
    """Return a query for the seqs at which the episodes `ids` were opened, the key of claims."""
    return sa.select(schema.episodes.c.seq).where(schema.episodes.c.id.in_(ids))


def feedback_seqs(ids: Sequence[str]) -> sa.CompoundSelect[tuple[int]]:
    """Return a query for the seqs of all feedback of the episodes `ids`, replaced or not."""
    return sa.union(
        *(
            sa.select(table.c.seq).where(table.c.episode.in_(opening_seqs(ids)))
            for table in (schema.claims, schema.replaced)
        )
    )


def chunk_ids(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield `ids` in slices that are short enough for one query."""
    for first in range(0, len(ids), MAX_IDS_PER_QUERY):
        yield ids[first : first + MAX_IDS_PER_QUERY]
