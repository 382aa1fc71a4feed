"""Recording that what came back of an episode is corrected."""

from belated.online.batch import Batch
from belated.online.claims import judge, written
from belated.online.content import ContentError, parse_whole
from belated.online.events import Corrected
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
