"""Models of the definitions of problems."""

import json
import reprlib
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from belated.service.models.common import (
    FIELDS_ERROR,
    MAX_INT32,
    Index,
    Model,
    RequestModel,
    Reward,
    Text,
    with_example,
)

MAX_QUOTED_CHARS: Final = 100
"""Maximum length of an example in an error message, in characters."""


class DefinitionModel(RequestModel):
    """Base class of the models of a definition.

    Validation reports all unknown and missing fields in one error; see `fields_error`.
    """

    @model_validator(mode="before")
    @classmethod
    def _check_fields(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        known = cls.model_fields
        unknown = [name for name in given if name not in known]
        missing = [name for name in known if known[name].is_required() and name not in given]
        said = []
        if unknown:
            said.append(cls._describe_unknown(unknown[0], given))
        if missing:
            said.append(f"needs the field{'s' * (len(missing) > 1)} {', '.join(missing)}")
        if said:
            raise fields_error((unknown or missing)[0], " and ".join(said))
        return given

    @classmethod
    def _describe_unknown(cls, name: str, given: dict[str, Any]) -> str:
        """Return the predicate of an error message: "has no field ...", with the valid fields.

        `name` is the name of the unknown field of the object `given`.
        """
        return f"has no field {reprlib.repr(name)} (its fields are {', '.join(cls.model_fields)})"


def fields_error(field: str | None, message: str) -> PydanticCustomError:
    """Return a validation error about the fields of an object.

    `field` is the name of the invalid field; None if the object itself is invalid. `message` is
    the predicate of a sentence about the object, such as "needs the field name".
    """
    return PydanticCustomError(FIELDS_ERROR, "{message}", {"message": message, "field": field})


class Part(DefinitionModel):
    """Name and options of a base or an updater."""

    name: Text = Field(
        description="Name of the base or updater, such as ucrl2 or lazy; the error for an unknown "
        "name lists all."
    )
    options: dict[str, Any] = Field(
        default_factory=dict,
        description="Options by name, such as scale of ucrl2. Values are numbers, strings, "
        "booleans, null, or lists of these.",
    )
    model_config = with_example({"name": "ucrl2", "options": {"delta": 0.05}})

    @model_validator(mode="before")
    @classmethod
    def _check_object(cls, given: Any) -> Any:
        if isinstance(given, str):
            example = json.dumps({"name": given})[:MAX_QUOTED_CHARS]
            raise fields_error(None, f"must be an object such as {example}, got a string")
        return given

    @classmethod
    def _describe_unknown(cls, name: str, given: dict[str, Any]) -> str:
        part, value = given.get("name"), given[name]
        example = {
            "name": part if isinstance(part, str) else "ucrl2",
            "options": {name: value if isinstance(value, int | float) else "..."},
        }
        return (
            f"has no field {reprlib.repr(name)} (its fields are name, options); options go into "
            f'"options", such as {json.dumps(example)[:MAX_QUOTED_CHARS]}'
        )


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


class StateFactor(DefinitionModel):
    """Factor of the states, with its possible values. A state has one value of each factor."""

    name: Text = Field(description="Name of the factor.")
    values: list[Text] = Field(min_length=1, description="Values of the factor.")
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
"""Example of a problem with terminal states, allowed actions and rewards outside [0, 1]."""


class NewProblem(DefinitionModel):
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
        description="Base algorithm, which computes the policy. Its option scale multiplies the "
        "bonuses: a smaller one explores less."
    )
    updater: Part = Field(
        default=Part(name="active"),
        description="Rule that decides when to plan: active, after every batch of feedback; lazy, "
        "when counts have grown by a share that its option alpha determines; batched, when enough "
        "episodes of the current policy are back; scheduled, every so often; matured, as another "
        "updater, from episodes of a given age only.",
    )
    episodes: int = Field(
        ge=1,
        le=MAX_INT32,
        description="Expected number of episodes, with whose logarithm bonuses grow. More may "
        "follow.",
    )
    stages: Text = Field(
        default="each",
        description="Counts: `each` keeps one table for each step; `pooled` sums over all steps, "
        "for problems in which an action has the same effect at every step.",
    )
    late: Literal["everything", "rewards"] = Field(
        default="everything",
        description="Part of the feedback that is delayed: `everything`; or `rewards`, if states "
        "and actions are sent when the episode ends.",
    )
    reward_bonus: Text = Field(
        default="hoeffding",
        description="Formula of the bonus for unknown rewards: hoeffding, paper, jaksch, filippi, "
        "bernstein or ubev.",
    )
    seed: Index = Field(default=0, description="Seed of all random numbers of the learner.")
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

    Fields that follow `seed` are present only if they were given.
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
