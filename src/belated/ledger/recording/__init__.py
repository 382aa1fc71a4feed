"""How each kind of event is recorded: what it is held against, and what it becomes."""

from collections.abc import Callable
from typing import Any, Final

from belated.ledger.events import (
    Control,
    Corrected,
    Defined,
    Feedback,
    Opened,
    Published,
    Tick,
    Withdrawn,
)
from belated.ledger.outcomes import Outcome
from belated.ledger.recording.episodes import (
    record_correction,
    record_feedback,
    record_opening,
    record_withdrawal,
)
from belated.ledger.recording.problems import (
    record_control,
    record_definition,
    record_publication,
    record_tick,
)
from belated.ledger.recording.transaction import Batch

RECORDERS: Final[dict[type, Callable[[Batch, Any], Outcome]]] = {
    Defined: record_definition,
    Opened: record_opening,
    Feedback: record_feedback,
    Corrected: record_correction,
    Withdrawn: record_withdrawal,
    Tick: record_tick,
    Published: record_publication,
    Control: record_control,
}
