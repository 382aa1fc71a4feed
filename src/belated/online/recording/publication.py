"""Recording that a version of the policy is published."""

import sqlalchemy as sa

from belated.online import schema
from belated.online.batch import Batch
from belated.online.canonical import canonical
from belated.online.events import Published
from belated.online.outcomes import (
    AlreadyRecorded,
    Conflict,
    Outcome,
    Recorded,
    Refused,
    Unknown,
)
from belated.online.policies import check_fits, pack
from belated.online.recording.milestones import is_at, latest


def record_publication(batch: Batch, given: Published) -> Outcome:
    """Versions count on from 1, and each is published once, from what the last tick came to."""
    problem = batch.problem(given.problem)
    if problem is None:
        return Unknown(f"There is no problem {given.problem}.")
    try:
        check_fits(given.policy, problem.spec)
    except ValueError as error:
        return Refused(str(error), "policy")
    packed = pack(given.policy)
    last = batch.most(schema.policies.c.version, given.problem)
    if given.version <= last:
        return _again(batch, given, packed.sha)
    if given.version > last + 1:
        return Refused(f"version is {given.version}; the next one is {last + 1}.", "version")
    if given.tick is not None:
        if not is_at(batch, given.problem, "tick", given.tick):
            return Refused(f"tick is {given.tick}; no tick of this problem stands there.", "tick")
        newest = latest(batch, given.problem, "tick")
        if newest is not None and newest.seq > given.tick:
            # one who was slower than another must not have the last word
            return Refused(f"tick is {given.tick}; the last one is {newest.seq}.", "tick")
    seq = batch.event(
        "published",
        canonical({"version": given.version, "sha": packed.sha, "tick": given.tick}),
        problem=given.problem,
        event_time=given.event_time,
    )
    batch.publish(given.problem, given.version, tick=given.tick, **packed._asdict())
    return Recorded(seq)


def _again(batch: Batch, given: Published, sha: str) -> Outcome:
    of = schema.policies.c
    known = batch.run(
        sa.select(of.seq, of.sha).where(of.problem == given.problem, of.version == given.version)
    ).one()
    if known.sha == sha:
        return AlreadyRecorded(known.seq)
    return Conflict(f"Version {given.version} is published already, as another.", known.seq)
