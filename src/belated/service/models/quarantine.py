"""What was refused."""

from typing import Any, Literal

from pydantic import Field

from belated.service.models.common import ID, Model, example


class Refusal(Model):
    """Something that was refused; the same again counts up `times`."""

    id: int = Field(description="It grows in the order in which they came.")
    at: int = Field(description="When it was refused last, in microseconds since 1970.")
    problem: str | None = Field(description="Null where none could be told.")
    episode: str | None = Field(description="Null where none could be told.")
    outcome: Literal["conflict", "unknown", "gone", "refused"]
    reason: str
    body: Any = Field(
        description="What was sent. A text if it is no JSON, or so long that only its beginning is "
        "kept; of what is too large, how many bytes were declared or read; null where nothing may "
        "be kept."
    )
    times: int = Field(description="How often it came.")
    model_config = example(
        {
            "id": 1767225600000000,
            "at": 1767225660000000,
            "problem": "clinic",
            "episode": ID,
            "outcome": "refused",
            "reason": "states[1] is 'wel'; allowed are 0 .. 1.",
            "body": {"states": [0, "wel"], "actions": [1], "rewards": [0]},
            "times": 2,
        }
    )
