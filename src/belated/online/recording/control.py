"""Recording what a person decided."""

from belated.online import schema
from belated.online.batch import Batch
from belated.online.canonical import canonical
from belated.online.events import Control
from belated.online.outcomes import Outcome, Recorded, Refused, Unknown


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
