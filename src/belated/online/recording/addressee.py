"""Whose feedback it is, and what came of that episode before."""

import json
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import sqlalchemy as sa

from belated.online import schema
from belated.online.batch import Batch, answers
from belated.online.content import Parts, parse
from belated.online.events import Event, Feedback
from belated.online.outcomes import (
    AlreadyRecorded,
    EpisodeRecord,
    Gone,
    Outcome,
    Recorded,
    Unknown,
)
from belated.online.quarantine import keep
from belated.online.spec import Spec

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
