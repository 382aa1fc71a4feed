"""Answers: what became of an event, as a status and a few words."""

from typing import Any

from belated.ledger.outcomes import (
    AlreadyRecorded,
    Conflict,
    DataWithdrawn,
    NotFound,
    Outcome,
    Recorded,
)
from belated.service.errors import RefusalError, body_of
from belated.service.wire import Complaint


def answer(outcome: Outcome, complaint: Complaint | None = None) -> tuple[int, dict[str, Any]]:
    """The status and the body; a complaint about the same field says it better than the ledger.

    >>> answer(Recorded(7))
    (201, {'result': 'recorded', 'seq': 7})
    """
    match outcome:
        case Recorded(seq):
            return 201, {"result": "recorded", "seq": seq}
        case AlreadyRecorded(seq):
            return 200, {"result": "already recorded", "seq": seq}
        case Conflict(reason):
            return 409, body_of(409, reason)
        case NotFound(reason):
            return 404, body_of(404, reason)
        case DataWithdrawn(reason):
            return 410, body_of(410, reason)
        case _:
            reason, field = outcome.reason, outcome.field
            if complaint is not None and complaint.field in (field, "event_time"):
                field, reason = complaint
            return 422, body_of(422, reason, field)


def check(outcome: Outcome) -> Recorded | AlreadyRecorded:
    """What was recorded, or an answer that says why not."""
    if isinstance(outcome, Recorded | AlreadyRecorded):
        return outcome
    status, body = answer(outcome)
    raise RefusalError(status, body["message"], field=body["field"])
