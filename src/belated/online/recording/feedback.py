"""Recording what came back of an episode."""

from belated.online.batch import Batch
from belated.online.claims import judge, superseded, written
from belated.online.content import ContentError, Parts, parse
from belated.online.events import Feedback
from belated.online.outcomes import (
    AlreadyRecorded,
    Conflict,
    EpisodeRecord,
    Outcome,
    Recorded,
    Refused,
)
from belated.online.recording.addressee import history, loader, quarantined
from belated.online.spec import Spec


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
