"""How each kind of event is recorded: what it is held against, and what it becomes."""

from collections.abc import Callable
from typing import Any, Final

from belated.online.batch import Batch
from belated.online.events import (
    Control,
    Corrected,
    Defined,
    Feedback,
    Opened,
    Published,
    Tick,
    Withdrawn,
)
from belated.online.outcomes import Outcome
from belated.online.recording.control import record_control
from belated.online.recording.correction import record_correction
from belated.online.recording.definition import record_definition
from belated.online.recording.feedback import record_feedback
from belated.online.recording.opening import record_opening
from belated.online.recording.publication import record_publication
from belated.online.recording.tick import record_tick
from belated.online.recording.withdrawal import record_withdrawal

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
