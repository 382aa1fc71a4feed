"""Recording of events: validation of each kind, detection of repeats, and the rows to write."""

from collections.abc import Callable
from typing import Any, Final

from belated.ledger import events
from belated.ledger.outcomes import Outcome
from belated.ledger.recording import episodes, problems, withdrawal
from belated.ledger.recording.transaction import Transaction

RECORDERS: Final[dict[type, Callable[[Transaction, Any], Outcome]]] = {
    events.Defined: problems.record_definition,
    events.Opened: episodes.record_opening,
    events.Feedback: episodes.record_feedback,
    events.Corrected: episodes.record_correction,
    events.Withdrawn: withdrawal.record_withdrawal,
    events.Tick: problems.record_tick,
    events.Published: problems.record_publication,
    events.Control: problems.record_control,
}
"""Function that records an event, by type of event."""
