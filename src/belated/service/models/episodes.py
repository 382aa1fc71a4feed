"""Models of requests and responses about episodes and decisions."""

from typing import Annotated

from pydantic import Field

from belated.service.models.common import (
    EXAMPLE_ID,
    Index,
    Model,
    RequestModel,
    State,
    Text,
    Time,
    with_example,
)
from belated.service.models.policies import EXAMPLE_POLICY, Policy


class NewEpisode(RequestModel):
    """Episode to be opened. Every field may be omitted."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{22,64}$")] | None = Field(
        default=None,
        description="Id of the episode: 22 to 64 characters of A-Z, a-z, 0-9, _ and -, with at "
        "least 128 random bits. An id makes it safe to repeat the request; drawn if omitted.",
    )
    subject: Text | None = Field(
        default=None, description="Pseudonym by which the data can be withdrawn."
    )
    event_time: Time = None
    model_config = with_example({"subject": "patient-17"})


class Episode(Model):
    """Episode that was opened, and the policy to follow in this episode."""

    episode: str
    version: int
    policy: Policy
    model_config = with_example({"episode": EXAMPLE_ID, "version": 1, "policy": EXAMPLE_POLICY})


class DecisionRequest(RequestModel):
    """State and step for which an action is requested."""

    state: State
    step: Index = Field(description="Step, from 0.")
    episode: str | None = Field(
        default=None,
        description="Id of an open episode. The action follows the version that the episode "
        "received, and repeating the request returns the same action.",
    )
    model_config = with_example({"state": "ill", "step": 0, "episode": EXAMPLE_ID})


class Decision(Model):
    """Action to take, and the version of the policy that chose this action."""

    action: str
    version: int
    model_config = with_example({"action": "treat", "version": 1})
