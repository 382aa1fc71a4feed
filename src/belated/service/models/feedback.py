"""Models of feedback, and of the responses to feedback and withdrawals."""

from typing import Literal

from pydantic import Field

from belated.service.models.common import (
    EXAMPLE_ID,
    Action,
    Index,
    Model,
    RequestModel,
    Reward,
    State,
    Text,
    Time,
    optional_field,
    with_example,
)


class Step(RequestModel):
    """One step of an episode: state, action, next state, and the reward if rewards are unknown."""

    step: Index = Field(description="Step, from 0.")
    state: State
    action: Action
    next_state: State
    reward: Reward | None = None


class WholeEpisode(RequestModel):
    """A whole episode: H + 1 states, H actions, and H rewards if rewards are unknown."""

    states: list[State]
    actions: list[Action]
    rewards: list[Reward] | None = None
    event_time: Time = None
    model_config = with_example(
        {
            "states": ["ill", "ill", "well", "well"],
            "actions": ["treat", "treat", "wait"],
            "rewards": [0, 0.5, 1],
        }
    )


class Steps(RequestModel):
    """Some steps of an episode."""

    steps: list[Step] = Field(min_length=1)
    event_time: Time = None
    model_config = with_example(
        {"steps": [{"step": 0, "state": "ill", "action": 1, "next_state": "well", "reward": 1}]}
    )


class EpisodePath(RequestModel):
    """States and actions of an episode, without its rewards."""

    states: list[State]
    actions: list[Action]


class LateRewards(RequestModel):
    """Feedback if only rewards are delayed: the path, a map from steps to rewards, or both."""

    path: EpisodePath = optional_field()
    rewards: dict[str, Reward] = optional_field(min_length=1)
    event_time: Time = None
    model_config = with_example({"rewards": {"0": 0, "2": 1}})


class LostEpisode(RequestModel):
    """Declaration that the feedback of an episode is no longer expected."""

    reason: Text = Field(description="Explanation for people. Withdrawing the episode deletes it.")
    event_time: Time = None
    model_config = with_example({"reason": "the response to the opening was lost"})


class Receipt(Model):
    """Confirmation that the data is on disk, recorded by this request or by an earlier one."""

    result: Literal["recorded", "already recorded"]
    seq: int = Field(description="Sequence number in the ledger.")
    model_config = with_example({"result": "recorded", "seq": 42})


class Withdrawal(Model):
    """Confirmation that a withdrawal is on disk, or that no data of the subject is stored.

    The response is the same for an unknown subject and for a subject withdrawn earlier, because the
    service does not store which subjects were withdrawn.
    """

    result: Literal["recorded", "nothing kept"]
    seq: int | None = Field(description="Sequence number in the ledger, if recorded.")
    model_config = with_example({"result": "recorded", "seq": 43})


class LineResult(Model):
    """Result of one line of a bulk request.

    An accepted line has `result` and `seq`. A rejected line has `error`, `message` and `field`.
    """

    line: int = Field(description="Number of the line, from 1.")
    episode: str | None
    status: int = Field(description="HTTP status that the line would get as a request of its own.")
    result: str | None = None
    seq: int | None = None
    error: str | None = None
    message: str | None = None
    field: str | None = None
    model_config = with_example(
        {"line": 1, "episode": EXAMPLE_ID, "status": 201, "result": "recorded", "seq": 42}
    )
