"""Recording of events: validation, detection of repeated events, and the rows to insert."""

from collections.abc import Callable
from typing import Any, Final

from belated.ledger import events
from belated.ledger.clients.idempotency import StoredResponse
from belated.ledger.outcomes import Outcome
from belated.ledger.recording import episodes, idempotency, lost, problems, withdrawal
from belated.ledger.recording.transaction import Transaction

RECORDERS: Final[dict[type, Callable[[Transaction, Any], Outcome]]] = {
    events.Defined: problems.record_definition,
    events.Opened: episodes.record_opening,
    events.Feedback: episodes.record_feedback,
    events.Corrected: episodes.record_correction,
    events.Lost: lost.record_lost,
    events.Withdrawn: withdrawal.record_withdrawal,
    events.Tick: problems.record_tick,
    events.Published: problems.record_publication,
    events.Control: problems.record_control,
    StoredResponse: idempotency.record_response,
}
"""Map from the type of an event to the function that records the event and returns the outcome."""
