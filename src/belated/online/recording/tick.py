"""Recording where a batch ends."""

from belated.online.batch import Batch
from belated.online.canonical import canonical
from belated.online.events import Tick
from belated.online.outcomes import AlreadyRecorded, Outcome, Recorded, Refused, Unknown
from belated.online.recording.milestones import latest


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
