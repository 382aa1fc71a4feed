"""Recording that an episode is opened."""

import secrets

from belated.online import schema
from belated.online.batch import Batch
from belated.online.canonical import SALT_BYTES, canonical
from belated.online.events import Opened
from belated.online.outcomes import (
    AlreadyRecorded,
    Conflict,
    EpisodeRecord,
    Gone,
    Outcome,
    Recorded,
    Refused,
    Unknown,
)


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
