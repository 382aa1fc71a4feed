"""Kinds of events: how each is recorded, what follows from it in the tables, and what it contains.

To add a kind of event, add its class to `belated.ledger.events`, a row here, and a row to the table
`belated.online.fold.APPLY`, which says what a learner does with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from belated.check import check_text
from belated.ledger import events, schema
from belated.ledger.content import parse_content
from belated.ledger.events import EpisodeRecord, Event, Kind, Outcome
from belated.ledger.policies import EncodedPolicy
from belated.ledger.problems import ProblemSpec
from belated.ledger.record_episode import (
    record_correction,
    record_feedback,
    record_lost,
    record_opening,
    record_withdrawal,
)
from belated.ledger.record_problem import (
    record_control,
    record_definition,
    record_publication,
    record_tick,
)
from belated.ledger.transaction import Transaction


def _no_rows(_transaction: Transaction, _event: Event) -> None:
    """Change no table: the event itself is all that is stored."""


def _no_check(_body: Any, _spec: ProblemSpec) -> None:
    """Accept any content: the digest is sufficient."""


@dataclass(frozen=True, kw_only=True)
class EventKind:
    """Rules for events of one kind: how they are recorded, audited and exported."""

    new: type
    """Class of new events of this kind."""
    record: Callable[[Transaction, Any], Outcome]
    """Function that records a new event, or rejects it, and returns the outcome."""
    follow: Callable[[Transaction, Event], None] = _no_rows
    """Function that changes the derived tables; called when an event is recorded, and for each
    event when an audit rebuilds the tables."""
    check: Callable[[Any, ProblemSpec], object] = _no_check
    """Function with which an audit checks the body of an event; it raises ValueError."""
    fields: tuple[str, ...]
    """Fields of the body, with which an event is exported. Feedback has those of one form, and a
    definition omits optional ones."""
    is_personal: bool = False
    """Whether the content belongs to a person: it is salted, and redacted by a withdrawal."""


def _follow_definition(transaction: Transaction, event: Event) -> None:
    transaction.add_row(schema.problems, id=event.seq, name=event.body["name"], archived=None)


def _follow_opening(transaction: Transaction, event: Event) -> None:
    body = event.body
    assert event.episode is not None
    transaction.add_episode(
        EpisodeRecord(event.episode, event.problem, body["number"], body["version"], event.seq)
    )


def _find_episode(transaction: Transaction, event: Event) -> EpisodeRecord:
    episode = transaction.episode(event.episode or "")
    if episode is None:
        raise ValueError(f"There is no episode {event.episode!r}.")
    return episode


def _follow_feedback(transaction: Transaction, event: Event) -> None:
    episode = _find_episode(transaction, event)
    transaction.set_feedback(episode.id, (*episode.feedback, event.seq))
    if episode.lost is not None:
        transaction.set_lost(episode.id, None)


def _follow_correction(transaction: Transaction, event: Event) -> None:
    episode = _find_episode(transaction, event)
    replaced = (*episode.replaced, *episode.feedback)
    transaction.set_feedback(episode.id, (event.seq,), replaced)
    if episode.lost is not None:
        transaction.set_lost(episode.id, None)


def _follow_loss(transaction: Transaction, event: Event) -> None:
    transaction.set_lost(_find_episode(transaction, event).id, event.seq)


def _follow_withdrawal(transaction: Transaction, event: Event) -> None:
    transaction.withdraw_episodes(event.body["episodes"], event.seq)


def _follow_publication(transaction: Transaction, event: Event) -> None:
    body = event.body
    policy = transaction.policy or EncodedPolicy(b"", None, 0.0, body["sha"])
    times = {"seq": event.seq, "tick": body["tick"]}
    transaction.add_version(event.problem, body["version"], **times, **policy._asdict())
    transaction.policy = None


def _follow_control(transaction: Transaction, event: Event) -> None:
    action = event.body["action"]
    if action in ("archive", "unarchive"):
        transaction.set_archived(event.problem, event.seq if action == "archive" else None)


CONTENT: Final = ("states", "actions", "rewards", "steps", "path")

KINDS: Final[dict[Kind, EventKind]] = {
    "defined": EventKind(
        new=events.Defined,
        record=record_definition,
        follow=_follow_definition,
        fields=tuple(ProblemSpec.__dataclass_fields__),
    ),
    "opened": EventKind(
        new=events.Opened,
        record=record_opening,
        follow=_follow_opening,
        fields=("number", "version"),
    ),
    "feedback": EventKind(
        new=events.Feedback,
        record=record_feedback,
        follow=_follow_feedback,
        check=parse_content,
        fields=CONTENT,
        is_personal=True,
    ),
    "corrected": EventKind(
        new=events.Corrected,
        record=record_correction,
        follow=_follow_correction,
        check=parse_content,
        fields=CONTENT,
        is_personal=True,
    ),
    "lost": EventKind(
        new=events.Lost,
        record=record_lost,
        follow=_follow_loss,
        check=lambda body, _: check_text("reason", body["reason"]),
        fields=("reason",),
        is_personal=True,
    ),
    "withdrawn": EventKind(
        new=events.Withdrawn,
        record=record_withdrawal,
        follow=_follow_withdrawal,
        fields=("episodes",),
    ),
    "tick": EventKind(new=events.Tick, record=record_tick, fields=("upto",)),
    "published": EventKind(
        new=events.Published,
        record=record_publication,
        follow=_follow_publication,
        fields=("version", "sha", "tick"),
    ),
    "control": EventKind(
        new=events.Control,
        record=record_control,
        follow=_follow_control,
        fields=("action", "version", "by"),
    ),
}
"""Map from the kind of an event to how it is recorded, audited and exported."""
