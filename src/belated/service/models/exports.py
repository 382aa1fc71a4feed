"""Models of the lines of an export: events of the ledger, and rejected requests."""

from typing import Any, Literal

from pydantic import Field

from belated.service.models.common import EXAMPLE_ID, Model, with_example


class LedgerEvent(Model):
    """Event of the ledger. `body` is null if the data of the event has been withdrawn."""

    seq: int
    episode: str | None
    kind: str
    at: int = Field(description="Time of recording, in microseconds since 1970.")
    event_time: int | None
    body: Any
    sha: str
    redacted: bool
    model_config = with_example(
        {
            "seq": 3,
            "episode": EXAMPLE_ID,
            "kind": "opened",
            "at": 1767225600000000,
            "event_time": None,
            "body": {"number": 1, "version": 1},
            "sha": "0f3c" * 16,
            "redacted": False,
        }
    )


class RejectedRequest(Model):
    """Rejected request in the quarantine. Identical requests are stored once and counted."""

    id: int = Field(description="Id of the entry; later entries have larger ids.")
    at: int = Field(description="Time of the last rejection, in microseconds since 1970.")
    problem: str | None = Field(description="Name of the problem; null if unknown.")
    episode: str | None = Field(description="Id of the episode; null if unknown.")
    outcome: Literal["conflict", "unknown", "gone", "refused"]
    reason: str
    body: Any = Field(
        description="Body of the request: a string if it was not JSON or was truncated, its number "
        "of bytes if it was too large, null if it must not be kept."
    )
    times: int = Field(description="Number of times that the request was rejected.")
    model_config = with_example(
        {
            "id": 1767225600000000,
            "at": 1767225660000000,
            "problem": "clinic",
            "episode": EXAMPLE_ID,
            "outcome": "refused",
            "reason": "states[1] must be one of ill, well, or in 0 .. 1, got 'wel'.",
            "body": {"states": [0, "wel"], "actions": [1], "rewards": [0]},
            "times": 2,
        }
    )
