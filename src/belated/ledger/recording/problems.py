"""Recording that a version of the policy is published."""

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.canonical import canonical
from belated.ledger.events import Control, Defined, Event, Kind, Published, Tick
from belated.ledger.outcomes import AlreadyRecorded, Conflict, Outcome, Recorded, Refused, Unknown
from belated.ledger.policies import check_fits, pack
from belated.ledger.problems import Problem
from belated.ledger.recording.transaction import Batch


def record_definition(batch: Batch, given: Defined) -> Outcome:
    """A name is defined once; the same again is a repeat."""
    spec = given.spec
    known = batch.named(spec.name)
    if known is None:
        seq = batch.event("defined", spec.text, event_time=given.event_time)
        batch.define(Problem(seq, spec))
        return Recorded(seq)
    if known.spec == spec:
        return AlreadyRecorded(known.id)
    return Conflict(f"Problem {spec.name!r} is defined already, otherwise.", known.id)


def record_tick(batch: Batch, given: Tick) -> Outcome:
    """Batches follow each other, and end at events that are there."""
    if batch.problem(given.problem) is None:
        return Unknown(f"There is no problem {given.problem}.")
    upto = batch.seq if given.upto is None else given.upto
    if upto > batch.seq:
        return Refused(f"upto is {upto}; the ledger ends at {batch.seq}.", "upto")
    last = latest(batch, given.problem, "tick")
    done = 0 if last is None else last.body["upto"]
    if last is not None and upto == done:
        return AlreadyRecorded(last.seq)
    if upto < done:
        return Refused(f"upto is {upto}; the last batch ended at {done}.", "upto")
    seq = batch.event(
        "tick",
        canonical({"upto": upto}),
        problem=given.problem,
        event_time=given.event_time,
    )
    return Recorded(seq)


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


def record_control(batch: Batch, given: Control) -> Outcome:
    """Decisions are kept as they come; only what never was cannot be gone back to."""
    problem = batch.problem(given.problem)
    if problem is None:
        return Unknown(f"There is no problem {given.problem}.")
    last = batch.most(schema.policies.c.version, given.problem)
    if given.version is not None and given.version > last:
        return Refused(
            f"version is {given.version}; the newest of problem {problem.name!r} is {last}.",
            "version",
        )
    seq = batch.event(
        "control",
        canonical({"action": given.action, "version": given.version, "by": given.by}),
        problem=given.problem,
        event_time=given.event_time,
    )
    return Recorded(seq)


def latest(batch: Batch, problem: int, kind: Kind) -> Event | None:
    """The last event of this kind."""
    of = schema.events.c
    row = batch.run(
        sa.select(schema.events)
        .where(of.problem == problem, of.kind == kind, sa.text(schema.RARE))
        .order_by(of.seq.desc())
        .limit(1)
    ).first()
    return None if row is None else Event._make(row)


def is_at(batch: Batch, problem: int, kind: Kind, seq: int) -> bool:
    """Whether an event of this kind stands at `seq`."""
    of = schema.events.c
    found = sa.select(of.seq).where(of.seq == seq, of.problem == problem, of.kind == kind)
    return batch.run(found).scalar() is not None
