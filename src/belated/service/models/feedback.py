"""What came back of episodes, and what became of it."""

from typing import Literal

from pydantic import Field

from belated.service.models.common import (
    ID,
    Action,
    Model,
    Number,
    Reward,
    Sent,
    State,
    Time,
    example,
    left_out,
)


class StepReport(Sent):
    """One step of an episode."""

    step: Number = Field(description="From 0.")
    state: State
    action: Action
    next_state: State
    reward: Reward | None = None


class WholeEpisode(Sent):
    """A whole episode: H + 1 states, H actions, H rewards (or none where they are known)."""

    states: list[State]
    actions: list[Action]
    rewards: list[Reward] | None = None
    event_time: Time = None
    model_config = example(
        {
            "states": ["ill", "ill", "well", "well"],
            "actions": ["treat", "treat", "wait"],
            "rewards": [0, 0.5, 1],
        }
    )


class SomeSteps(Sent):
    """Some steps of an episode."""

    steps: list[StepReport] = Field(min_length=1)
    event_time: Time = None
    model_config = example(
        {"steps": [{"step": 0, "state": "ill", "action": 1, "next_state": "well", "reward": 1}]}
    )


class Walk(Sent):
    """States and actions of an episode whose rewards are late."""

    states: list[State]
    actions: list[Action]


class LateRewards(Sent):
    """The path, or rewards by step, or both, where only rewards are late."""

    path: Walk = left_out()
    rewards: dict[str, Reward] = left_out(min_length=1)
    event_time: Time = None
    model_config = example({"rewards": {"0": 0, "2": 1}})


class Receipt(Model):
    """It is on disk: recorded now, or before."""

    result: Literal["recorded", "already recorded"]
    seq: int = Field(description="Where it stands in the ledger.")
    model_config = example({"result": "recorded", "seq": 42})


class Withdrawal(Model):
    """It is on disk, or nothing of this subject is kept: nothing ever was, or all was withdrawn.
    Which of the two cannot be told, since that would mean to remember the subject."""

    result: Literal["recorded", "nothing kept"]
    seq: int | None = Field(description="Where it stands in the ledger, if it was recorded.")
    model_config = example({"result": "recorded", "seq": 43})


class LineResult(Model):
    """What became of one line."""

    line: int = Field(description="From 1.")
    episode: str | None
    status: int = Field(description="As if it had come alone.")
    result: str | None = None
    seq: int | None = None
    error: str | None = None
    message: str | None = None
    field: str | None = None
    model_config = example(
        {"line": 1, "episode": ID, "status": 201, "result": "recorded", "seq": 42}
    )
