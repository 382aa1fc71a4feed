"""Base classes and field types of the models, and the model of an error response."""

from typing import Annotated, Any, Final

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

MAX_INT32: Final = 2**31 - 1
EXAMPLE_ID: Final = "q3Jx0b8mT5yVf1sKz9WcRA"
FIELDS_ERROR: Final = "fields"
"""Name of the error type in a validation error about unknown or missing fields of an object."""

# Fields of bodies
Text = Annotated[str, Field(min_length=1, max_length=200)]
Index = Annotated[int, Field(ge=0, le=MAX_INT32)]
Reward = Annotated[
    float, Field(description="Reward, in [0, 1] or in the `reward_range` of the problem.")
]
State = Annotated[
    Text | Index | dict[Text, Text | int],
    Field(description="State, by name or by index, or by the value of each factor of the states."),
]
Action = Annotated[Text | Index, Field(description="Action, by name or by index.")]
Time = Annotated[
    str | None,
    Field(
        description="Time at which the event happened, in ISO 8601 with a time zone, not before "
        "1970; null for the time of recording. If a request is repeated with another time, the "
        "first one is kept. Ages, delays in seconds and the history are computed from it. A time "
        "in the future counts as the time of recording.",
        json_schema_extra={"format": "date-time"},
    ),
]

# Parameters of routes
ProblemName = Annotated[str, Path(description="Name of the problem.", examples=["clinic"])]
EpisodeId = Annotated[str, Path(description="Id of the episode.", examples=[EXAMPLE_ID])]
Subject = Annotated[str, Path(description="Subject of the episodes.", examples=["patient-17"])]
Version = Annotated[
    int, Path(description="Version of the policy.", ge=1, le=MAX_INT32, examples=[1])
]
QueryVersion = Annotated[int, Query(ge=1, le=MAX_INT32, examples=[1])]


class Model(BaseModel):
    """Base class of all models. Unknown fields, infinity and NaN are rejected."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RequestModel(Model):
    """Base class of the models of requests. Booleans and strings are not coerced to numbers."""

    model_config = ConfigDict(strict=True)


def optional_field(**options: Any) -> Any:
    """Return a pydantic field that may be omitted but must not be null.

    `options` are passed to `pydantic.Field`.
    """

    def without_default(schema: dict[str, Any]) -> None:
        del schema["default"]

    return Field(default=None, json_schema_extra=without_default, **options)


def with_example(*values: Any) -> ConfigDict:
    """Return the `model_config` of a model that has `values` as its examples in OpenAPI."""
    return ConfigDict(
        extra="forbid", allow_inf_nan=False, json_schema_extra={"examples": list(values)}
    )


def example_of(model: type[BaseModel]) -> Any:
    """Return the first example in the configuration of `model`."""
    extra: Any = model.model_config["json_schema_extra"]
    return extra["examples"][0]


class Error(Model):
    """Body of an error response, with the reason why a request failed."""

    error: str = Field(description="Error code; one for each HTTP status.")
    message: str = Field(description="Explanation.")
    field: str | None = Field(
        description="Path of the field that is wrong, such as steps[2].reward."
    )
    model_config = with_example(
        {
            "error": "refused",
            "message": "states[1] must be one of ill, well, or in 0 .. 1, got 'wel'.",
            "field": "states[1]",
        }
    )
