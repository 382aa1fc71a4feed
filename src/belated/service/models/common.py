"""What models share: kinds of values, and errors."""

from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

MOST = 2**31 - 1


ID = "q3Jx0b8mT5yVf1sKz9WcRA"


Text = Annotated[str, Field(min_length=1, max_length=200)]


Number = Annotated[int, Field(ge=0, le=MOST)]


Reward = Annotated[float, Field(ge=0, le=1)]


State = Annotated[Text | Number, Field(description="A state: its name, or its index as a number.")]


Action = Annotated[
    Text | Number, Field(description="An action: its name, or its index as a number.")
]


Time = Annotated[
    str | None,
    Field(
        description="When it happened, in ISO 8601 with its zone.",
        json_schema_extra={"format": "date-time"},
    ),
]


ProblemName = Annotated[str, Path(description="The name of a problem.", examples=["clinic"])]


EpisodeId = Annotated[str, Path(description="The id of an episode.", examples=[ID])]


Subject = Annotated[str, Path(description="Whose data it is.", examples=["patient-17"])]


Version = Annotated[int, Path(description="A version of the policy.", ge=1, le=MOST, examples=[1])]


QueryVersion = Annotated[int, Query(ge=1, le=MOST, examples=[1])]


class Model(BaseModel):
    """Takes no field that it does not know."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Sent(Model):
    """What is sent here: true is no number, and neither is "1"; 1 is one wherever 1.0 is."""

    model_config = ConfigDict(strict=True)


def left_out(**given: Any) -> Any:
    """A field that may be left out, and is never null."""

    def without_default(schema: dict[str, Any]) -> None:
        del schema["default"]

    return Field(default=None, json_schema_extra=without_default, **given)


def example(given: dict[str, Any]) -> ConfigDict:
    """Settings of a model with an example."""
    return ConfigDict(extra="forbid", allow_inf_nan=False, json_schema_extra={"examples": [given]})


def example_of(model: type[BaseModel]) -> Any:
    """The example of a model."""
    extra: Any = model.model_config["json_schema_extra"]
    return extra["examples"][0]


class Error(Model):
    """Why something was refused."""

    error: str = Field(description="In a word or two; there is one for each status.")
    message: str = Field(description="In a sentence.")
    field: str | None = Field(description="Where, such as rewards[3].")
    model_config = example(
        {
            "error": "refused",
            "message": "states[1] is 'wel'; allowed are ill, well, or 0 .. 1.",
            "field": "states[1]",
        }
    )
