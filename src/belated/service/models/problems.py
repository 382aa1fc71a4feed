"""Problems, as they are defined."""

from typing import Annotated, Any, Literal

from pydantic import Field

from belated.service.models.common import MOST, Model, Reward, Sent, Text, example


class Part(Sent):
    """A base or an updater, by name, with its options."""

    name: Text
    options: dict[str, Any] = Field(
        default_factory=dict,
        description="Each is a number, a text, true, false, null, or a list of those.",
    )
    model_config = example({"name": "ucrl2", "options": {"delta": 0.05}})


CLINIC: dict[str, Any] = {
    "name": "clinic",
    "states": ["ill", "well"],
    "actions": ["wait", "treat"],
    "horizon": 3,
    "rewards": None,
    "base": {"name": "ucrl2", "options": {"delta": 0.05, "scale": 0.1}},
    "updater": {"name": "lazy", "options": {"alpha": 10}},
    "episodes": 1000,
}


class NewProblem(Sent):
    """A problem, defined once and for all."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = Field(
        description="It stands in addresses."
    )
    states: list[Text] = Field(min_length=1, description="A name for each state.")
    actions: list[Text] = Field(min_length=1, description="A name for each action.")
    horizon: int = Field(ge=1, le=MOST, description="Steps of an episode.")
    rewards: list[list[Reward]] | list[list[list[Reward]]] | None = Field(
        default=None,
        description="Known mean rewards by state and action, or by step, state and action; "
        "null where they are unknown and come with the feedback.",
    )
    base: Part = Field(description="How to plan; delta is one of its options.")
    updater: Part = Field(default=Part(name="active"), description="When to plan.")
    episodes: int = Field(ge=1, le=MOST, description="How many there will be, about.")
    stages: Text = "each"
    late: Literal["everything", "rewards"] = Field(
        default="everything", description="What comes late."
    )
    reward_bonus: Text = "hoeffding"
    seed: int = Field(default=0, ge=0, le=MOST)
    model_config = example(CLINIC)


class Problem(NewProblem):
    """A problem as it was defined."""

    model_config = example(
        CLINIC | {"stages": "each", "late": "everything", "reward_bonus": "hoeffding", "seed": 0}
    )


class Problems(Model):
    """All problems, oldest first."""

    problems: list[Problem]
    model_config = example({"problems": [CLINIC]})
