"""Recording what came back of an episode."""

import json
import secrets
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.canonical import SALT_BYTES, canonical
from belated.ledger.episodes import EpisodeRecord
from belated.ledger.events import Corrected, Event, Feedback, Opened, Withdrawn
from belated.ledger.outcomes import (
    AlreadyRecorded,
    Conflict,
    Gone,
    Outcome,
    Recorded,
    Refused,
    Unknown,
)
from belated.ledger.problems import Spec
from belated.ledger.quarantine import keep
from belated.ledger.recording.content import ContentError, Parts, parse, parse_whole
from belated.ledger.recording.deduplication import judge, superseded, written
from belated.ledger.recording.transaction import Batch, answers, pieces

F = TypeVar("F", bound=Feedback)


def quarantined(
    record: Callable[[Batch, F, EpisodeRecord, Spec], Outcome],
) -> Callable[[Batch, F], Outcome]:
    """Find the episode that feedback is of; whatever is refused is kept with its reason."""

    @wraps(record)
    def recorded(batch: Batch, given: F) -> Outcome:
        episode = batch.episode(given.episode)
        outcome: Outcome
        foreign = episode is not None and given.problem not in (None, episode.problem)
        if episode is None or foreign:
            where = "" if given.problem is None else " of this problem"
            outcome = Unknown(f"There is no episode {given.episode[:64]!r}{where}.")
        elif episode.withdrawn is not None:
            outcome = Gone(f"Episode {episode.id} has been withdrawn.", episode.withdrawn)
        else:
            problem = batch.problem(episode.problem)
            assert problem is not None
            outcome = record(batch, given, episode, problem.spec)
        if not isinstance(outcome, Recorded | AlreadyRecorded):
            keep(
                batch.connection,
                at=batch.at,
                problem=given.problem if episode is None or foreign else episode.problem,
                episode=given.episode,
                outcome=type(outcome).__name__.lower(),
                reason=outcome.reason,
                # what was withdrawn, or is another's, is not to be kept under another name
                body=None if foreign or isinstance(outcome, Gone) else given.content,
            )
        return outcome

    return recorded


def history(batch: Batch, episode: str) -> list[Event]:
    """All that came back of an episode, in order of seq."""
    of = schema.events.c
    rows = batch.run(
        sa.select(schema.events).where(of.seq.in_(answers([episode]))).order_by(of.seq)
    )
    return [Event._make(row) for row in rows]


def loader(batch: Batch, spec: Spec) -> Callable[[int], Parts]:
    """What gives the parts of the feedback at a seq."""

    def load(seq: int) -> Parts:
        of = schema.events.c
        return parse(
            json.loads(batch.run(sa.select(of.body).where(of.seq == seq)).scalar_one()), spec
        )

    return load


def record_opening(batch: Batch, given: Opened) -> Outcome:
    """Episodes are numbered within their problem, in order of seq."""
    if batch.problem(given.problem) is None:
        return Unknown(f"There is no problem {given.problem}.")
    known = None if given.id is None else batch.episode(given.id)
    if known is not None:
        return _again(given, known)
    newest = batch.most(schema.policies.c.version, given.problem)
    if given.version > newest:
        return Refused(
            f"version is {given.version}; problem {given.problem} has published {newest}.",
            "version",
        )
    number = batch.most(schema.episodes.c.number, given.problem) + 1
    id = given.id or secrets.token_urlsafe(SALT_BYTES)
    # the subject is kept beside the event, where it can be forgotten
    seq = batch.event(
        "opened",
        canonical({"number": number, "version": given.version}),
        problem=given.problem,
        episode=id,
        event_time=given.event_time,
    )
    episode = EpisodeRecord(id, given.problem, number, given.version, seq, given.subject)
    batch.open(episode)
    return Recorded(seq, episode)


def _again(given: Opened, known: EpisodeRecord) -> Outcome:
    """The one that asks again gets what it was given first, whatever has been published since."""
    if known.withdrawn is not None:
        return Gone(f"Episode {known.id} has been withdrawn.", known.withdrawn)
    if (known.problem, known.subject) == (given.problem, given.subject):
        return AlreadyRecorded(known.seq, known)
    return Conflict(f"Episode {known.id} was opened already, otherwise.", known.seq)


@quarantined
def record_feedback(batch: Batch, given: Feedback, episode: EpisodeRecord, spec: Spec) -> Outcome:
    """Every part of an episode comes once; of what is repeated, only the rest is recorded."""
    try:
        parts = parse(given.content, spec)
    except ContentError as error:
        return Refused(str(error), error.field)
    found = judge(parts, batch.claims(episode.id), loader(batch, spec))
    if isinstance(found, Conflict):
        return _late_repeat(batch, parts, episode, spec) or found
    if isinstance(found, AlreadyRecorded):
        return found
    text, claims = written(found)
    seq = batch.event(
        "feedback",
        text,
        problem=episode.problem,
        episode=episode.id,
        event_time=given.event_time,
    )
    batch.claim(episode.id, claims)
    return Recorded(seq)


def _late_repeat(
    batch: Batch, parts: Parts, episode: EpisodeRecord, spec: Spec
) -> AlreadyRecorded | None:
    """A repeat of what has been corrected since contradicts nothing."""
    events = history(batch, episode.id)
    last = max((event.seq for event in events if event.kind == "corrected"), default=0)
    earlier = [(event.seq, parse(event.body, spec)) for event in events if event.seq < last]
    seq = superseded(parts, earlier)
    return None if seq is None else AlreadyRecorded(seq)


@quarantined
def record_correction(
    batch: Batch, given: Corrected, episode: EpisodeRecord, spec: Spec
) -> Outcome:
    """A correction replaces all that came before it, unless it says just that."""
    try:
        parts = parse_whole(given.content, spec)
    except ContentError as error:
        return Refused(str(error), error.field)
    known = batch.claims(episode.id)
    found = judge(parts, known, loader(batch, spec))
    if isinstance(found, AlreadyRecorded):
        return found
    text, claims = written(parts)
    for event in history(batch, episode.id) if known else []:
        if (event.kind, event.text, event.event_time) == ("corrected", text, given.event_time):
            return Conflict(
                f"This correction was recorded at seq {event.seq} and has been corrected since; "
                "to make it again, give it an event_time of its own.",
                event.seq,
            )
    seq = batch.event(
        "corrected",
        text,
        problem=episode.problem,
        episode=episode.id,
        event_time=given.event_time,
    )
    if known:
        batch.forget_snapshots(episode.problem, min(claim.seq for claim in known.values()))
        batch.replace_claims(episode.id)
    batch.claim(episode.id, claims)
    return Recorded(seq)


def record_withdrawal(batch: Batch, given: Withdrawn) -> Outcome:
    """What came back of these episodes is forgotten; that they were played is not."""
    if given.episode is not None:
        episode = batch.episode(given.episode)
        if episode is None:
            return Unknown(f"There is no episode {given.episode[:64]!r}.")
        if episode.withdrawn is not None:
            return AlreadyRecorded(episode.withdrawn)
        ids, problem = [episode.id], episode.problem
    else:
        assert given.problem is not None
        ids, problem = _played_by(batch, given), given.problem
        if not ids:
            return Unknown(f"Nothing of this subject is in problem {problem}.")
    # the ids tell the fold what to leave out; the subject itself is not named
    seq = batch.event(
        "withdrawn", canonical({"episodes": ids}), problem=problem, event_time=given.event_time
    )
    for some in pieces(ids):
        _redact(batch, some, problem=problem, seq=seq)
    batch.forget_claims(ids)
    batch.refresh(ids)
    batch.redacts = True
    return Recorded(seq)


def _played_by(batch: Batch, given: Withdrawn) -> list[str]:
    of = schema.episodes.c
    query = sa.select(of.id).where(of.problem == given.problem, of.subject == given.subject)
    return list(batch.run(query.order_by(of.number)).scalars())


def _redact(batch: Batch, ids: Sequence[str], *, problem: int, seq: int) -> None:
    events, episodes = schema.events, schema.episodes
    refusals = schema.quarantine
    first = sa.select(sa.func.min(episodes.c.seq)).where(episodes.c.id.in_(ids))
    batch.forget_snapshots(problem, batch.run(first).scalar_one())
    for statement in (
        sa.update(events)
        .where(events.c.seq.in_(answers(ids)))
        .values(body=None, salt=None, event_time=None, redacted=True),
        sa.update(episodes).where(episodes.c.id.in_(ids)).values(subject=None, withdrawn=seq),
        sa.delete(refusals).where(refusals.c.episode.in_(ids)),
    ):
        batch.run(statement)
