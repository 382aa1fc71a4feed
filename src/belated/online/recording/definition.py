"""Recording that a problem is defined."""

from belated.online.batch import Batch
from belated.online.events import Defined
from belated.online.outcomes import AlreadyRecorded, Conflict, Outcome, Recorded
from belated.online.problems import Problem


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
