"""Episodes, and the policies they are played with."""

from typing import Annotated, Any

from pydantic import Field

from belated.service.models.common import ID, MOST, Model, Sent, State, Text, Time, example


class NewEpisode(Sent):
    """An episode to be opened; every field may be left out."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{22,64}$")] | None = Field(
        default=None,
        description="Random, 128 bits or more; with it the request can be repeated safely.",
    )
    subject: Text | None = Field(
        default=None, description="By which the data can be withdrawn; a pseudonym."
    )
    event_time: Time = None
    model_config = example({"subject": "patient-17"})


PLAN: dict[str, Any] = {
    "problem": "clinic",
    "version": 1,
    "horizon": 3,
    "actions": ["wait", "treat"],
    "plan": [{"ill": "treat", "well": "wait"}] * 3,
    "explore": [{}, {"ill": ["wait", "treat"]}, {}],
    "epsilon": 0.0,
    "sha": "0f3c" * 16,
}


class Plan(Model):
    """A version of a policy. At step h (from 0) in a state: draw one of `explore[h][state]`, each
    as likely, if there are any; otherwise, with probability `epsilon`, one of all actions;
    otherwise play `plan[h][state]`."""

    problem: str
    version: int
    horizon: int
    actions: list[str]
    plan: list[dict[str, str]]
    explore: list[dict[str, list[str]]]
    epsilon: float
    sha: str = Field(description="The digest of the policy.")
    model_config = example(PLAN)


class Episode(Model):
    """An episode, and the policy that it is to be played with."""

    episode: str
    version: int
    policy: Plan
    model_config = example({"episode": ID, "version": 1, "policy": PLAN})


class Situation(Sent):
    """Where an episode is."""

    state: State
    step: Annotated[int, Field(ge=0, le=MOST)] = Field(description="From 0.")
    episode: str | None = Field(
        default=None,
        description="With it, its own version answers, and the same question gets the same answer.",
    )
    model_config = example({"state": "ill", "step": 0, "episode": ID})


class Decision(Model):
    """What to do."""

    action: str
    version: int
    model_config = example({"action": "treat", "version": 1})
