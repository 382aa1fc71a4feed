"""Models of the definitions of problems."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from belated.service.models.common import (
    MAX_INT32,
    Index,
    Model,
    RequestModel,
    Reward,
    Text,
    with_example,
)


class Part(RequestModel):
    """Name and options of a base or an updater."""

    name: Text
    options: dict[str, Any] = Field(
        default_factory=dict,
        description="Values are numbers, strings, booleans, null, or lists of these.",
    )
    model_config = with_example({"name": "ucrl2", "options": {"delta": 0.05}})


CLINIC: Final[dict[str, Any]] = {
    "name": "clinic",
    "states": ["ill", "well"],
    "actions": ["wait", "treat"],
    "horizon": 3,
    "rewards": None,
    "base": {"name": "ucrl2", "options": {"delta": 0.05, "scale": 0.1}},
    "updater": {"name": "lazy", "options": {"alpha": 10}},
    "episodes": 1000,
}
"""Example of the definition of a problem."""


class StateFactor(RequestModel):
    """Factor of the states: one part of the description of a state, and its values."""

    name: Text
    values: list[Text] = Field(min_length=1)
    model_config = with_example({"name": "stage", "values": ["new", "returning"]})


SHOP: Final[dict[str, Any]] = {
    "name": "shop",
    "states": ["looks", "hesitates", "sold", "gone"],
    "actions": ["nothing", "coupon"],
    "horizon": 5,
    "terminal": ["sold", "gone"],
    "allowed": {"looks": ["nothing"]},
    "reward_range": [0, 20],
    "base": {"name": "ucrl2", "options": {"scale": 0.1}},
    "episodes": 1000,
}
"""Example of a problem with terminal states, allowed actions and rewards in other units."""


class NewProblem(RequestModel):
    """Definition of a new problem. A definition cannot be changed later."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] = Field(
        description="Name of the problem, part of its URLs."
    )
    states: list[Text] | dict[Text, list[Text | int]] = Field(
        min_length=1,
        description="Names of the states; or the values of each factor, by name of the factor. "
        "The states are then all combinations, with names such as new/mild in which the values are "
        "joined by a slash; the last factor varies fastest.",
    )
    actions: list[Text] = Field(min_length=1, description="Names of the actions.")
    horizon: int = Field(ge=1, le=MAX_INT32, description="Number of steps in an episode.")
    rewards: list[list[Reward]] | list[list[list[Reward]]] | None = Field(
        default=None,
        description="Known mean rewards by state and action, or by step, state and action; "
        "null if they are unknown and part of the feedback. They are in [0, 1] or in "
        "`reward_range`.",
    )
    base: Part = Field(
        description="Base algorithm, which computes the policy; delta is one of its options."
    )
    updater: Part = Field(
        default=Part(name="active"), description="Rule that decides when to plan."
    )
    episodes: int = Field(ge=1, le=MAX_INT32, description="Expected number of episodes.")
    stages: Text = "each"
    late: Literal["everything", "rewards"] = Field(
        default="everything", description="Part of the feedback that is delayed."
    )
    reward_bonus: Text = "hoeffding"
    seed: Index = 0
    reward_range: list[float] | None = Field(
        default=None,
        min_length=2,
        max_length=2,
        description="Smallest and largest possible reward, [low, high]. Known rewards, rewards in "
        "feedback and returns in the history are in these units. Omitted for [0, 1].",
    )
    terminal: list[Text] | None = Field(
        default=None,
        description="States in which an episode ends. Their value is 0; feedback may end there.",
    )
    allowed: dict[Text, list[Text]] | list[dict[Text, list[Text]]] | None = Field(
        default=None,
        description="Actions that may be played, by state, or a list with such an object for each "
        "step. In states that are not named, all actions are allowed.",
    )
    state_factors: list[StateFactor] | None = Field(
        default=None,
        description="Factors of the states, in order. It is set if `states` is an object.",
    )
    model_config = with_example(CLINIC, SHOP)


class Problem(NewProblem):
    """Definition of a problem, with default values for the fields that were omitted.

    Fields after `seed` are present only if they were given.
    """

    archived: bool = Field(
        default=False, description="Whether the problem is archived; only in lists."
    )
    model_config = with_example(
        CLINIC | {"stages": "each", "late": "everything", "reward_bonus": "hoeffding", "seed": 0}
    )


class Problems(Model):
    """Definitions of all problems, oldest first."""

    problems: list[Problem]
    model_config = with_example({"problems": [CLINIC]})
