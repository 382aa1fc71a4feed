"""Omissions: what a fold leaves out, which it must know before it comes to it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from belated.ledger.events import Event, Kind


@dataclass(frozen=True)
class EpisodeRecord:
    """What the ledger knows of an episode, but for its feedback."""

    id: str
    problem: int
    number: int
    """1, 2, ... within its problem: what a learner calls its id."""
    version: int
    """Of the policy that it was given."""
    seq: int
    """Of the event that opened it."""
    subject: str | None = field(default=None, repr=False)
    withdrawn: int | None = None
    """The seq of its withdrawal."""


UNDOING: tuple[Kind, ...] = ("corrected", "withdrawn")
"""The events that tell what to leave out of those before them."""


class Omissions:
    """The episodes that were withdrawn, and the feedback that was corrected later.

    A withdrawn episode is left out as if it had never been opened: it does not wait for feedback.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._withdrawn: set[str] = set()
        self._corrected: dict[str, int] = {}
        self.add(events)

    def add(self, events: Iterable[Event]) -> None:
        """Learn from events that undo others, in order of seq."""
        for event in events:
            if event.kind == "withdrawn":
                self._withdrawn.update(event.body["episodes"])
            elif event.kind == "corrected" and event.episode is not None:
                self._corrected[event.episode] = event.seq

    def __contains__(self, event: Event) -> bool:
        """Whether this event of an episode is left out."""
        episode = event.episode
        # what is redacted was withdrawn by an event that is still to be read
        return (
            event.redacted
            or episode in self._withdrawn
            or (event.kind != "opened" and event.seq < self._corrected.get(episode or "", 0))
        )
