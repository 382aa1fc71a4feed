"""Events of the ledger."""

from typing import Any

from pydantic import Field

from belated.service.models.common import ID, Model, example


class LedgerEvent(Model):
    """An event of the ledger; `body` is null once it was withdrawn."""

    seq: int
    episode: str | None
    kind: str
    at: int = Field(description="When it was recorded, in microseconds since 1970.")
    event_time: int | None
    body: Any
    sha: str
    redacted: bool
    model_config = example(
        {
            "seq": 3,
            "episode": ID,
            "kind": "opened",
            "at": 1767225600000000,
            "event_time": None,
            "body": {"number": 1, "version": 1},
            "sha": "0f3c" * 16,
            "redacted": False,
        }
    )
