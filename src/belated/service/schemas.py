"""Bodies of requests, as Pydantic models: for parsing, and for the OpenAPI document.

A field that is checked where it is used, by the ledger or by a learner, is only described here
(`SkipValidation`), so that a value is checked once.
"""

from typing import Annotated, Any, Final, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, SkipValidation

MAX_INT32: Final = 2**31 - 1
EXAMPLE_ID: Final = "q3Jx0b8mT5yVf1sKz9WcRA"

# Fields of bodies
Text = Annotated[str, Field(min_length=1, max_length=200)]
Index = Annotated[int, Field(ge=0, le=MAX_INT32)]
Count = Annotated[int, Field(ge=1, le=MAX_INT32)]
Reward = Annotated[
    float, Field(description="Reward, in [0, 1] or in the `reward_range` of the problem.")
]
State = Annotated[
    Text | Index | dict[Text, Text | int],
    Field(description="State, by name or by index, or by the value of each factor of the states."),
]
Action = Annotated[Text | Index, Field(description="Action, by name or by index.")]
Time = Annotated[
    SkipValidation[str | None],
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


class Body(BaseModel):
    """Base class of the bodies of requests.

    Unknown fields are rejected. Booleans and strings are not coerced to numbers.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Part(Body):
    """Name and options of a base or an updater."""

    name: Text
    """Name of the base or updater, such as ucrl2 or lazy; the error for an unknown name lists
    all."""
    options: dict[str, Any] = {}
    """Options by name, such as scale of ucrl2. Values are numbers, strings, booleans, null, or
    lists of these."""


class StateFactor(Body):
    """Factor of the states, with its possible values. A state has one value of each factor."""

    name: Text
    """Name of the factor."""
    values: Annotated[list[Text], Field(min_length=1)]
    """Values of the factor."""


class NewProblem(Body):
    """Definition of a new problem. A definition cannot be changed later."""

    name: SkipValidation[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]]
    """Name of the problem, part of its URLs."""
    states: SkipValidation[list[Text] | dict[Text, list[Text | int]]]
    """Names of the states; or the values of each factor, by name of the factor. The states are then
    all combinations, with names such as new/mild in which the values are joined by a slash; the
    last factor varies fastest."""
    actions: SkipValidation[Annotated[list[Text], Field(min_length=1)]]
    """Names of the actions."""
    horizon: Count
    """Number of steps in an episode."""
    rewards: SkipValidation[list[list[Reward]] | list[list[list[Reward]]] | None] = None
    """Known mean rewards by state and action, or by step, state and action; null if they are
    unknown and part of the feedback. They are in [0, 1] or in `reward_range`."""
    base: SkipValidation[Part]
    """Base algorithm, which computes the policy. Its option scale multiplies the bonuses: a smaller
    one explores less."""
    updater: SkipValidation[Part] = {"name": "active"}  # type: ignore[assignment]  # as in a body
    """Rule that decides when to plan: active, after every batch of feedback; lazy, when counts have
    grown by a share that its option alpha determines; batched, when enough episodes of the current
    policy are back; scheduled, every so often; matured, as another updater, from episodes of a
    given age only."""
    episodes: Count
    """Expected number of episodes, with whose logarithm bonuses grow. More may follow."""
    stages: SkipValidation[Text] = "each"
    """Counts: `each` keeps one table for each step; `pooled` sums over all steps, for problems in
    which an action has the same effect at every step."""
    late: SkipValidation[Literal["everything", "rewards"]] = "everything"
    """Part of the feedback that is delayed: `everything`; or `rewards`, if states and actions are
    sent when the episode ends."""
    reward_bonus: SkipValidation[Text] = "hoeffding"
    """Formula of the bonus for unknown rewards: hoeffding, paper, jaksch, filippi, bernstein or
    ubev."""
    seed: Index = 0
    """Seed of all random numbers of the learner."""
    reward_range: SkipValidation[
        Annotated[list[float], Field(min_length=2, max_length=2)] | None
    ] = None
    """Smallest and largest possible reward, [low, high]. Known rewards, rewards in feedback and
    returns in the history are in these units. Omitted for [0, 1]."""
    terminal: SkipValidation[list[Text] | None] = None
    """States in which an episode ends. Their value is 0; feedback may end there."""
    allowed: SkipValidation[dict[Text, list[Text]] | list[dict[Text, list[Text]]] | None] = None
    """Actions that may be played, by state, or a list with such an object for each step. In states
    that are not named, all actions are allowed."""
    state_factors: SkipValidation[list[StateFactor] | None] = None
    """Factors of the states, in order. It is set if `states` is an object."""


class Problem(NewProblem):
    """Definition of a problem, with default values for the fields that were omitted.

    Fields that follow `seed` are present only if they were given.
    """

    archived: bool = False
    """Whether the problem is archived; only in lists."""


class Problems(Body):
    """Definitions of all problems, oldest first."""

    problems: list[Problem]


class NewEpisode(Body):
    """Episode to be opened. Every field may be omitted."""

    id: SkipValidation[Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{22,64}$")] | None] = None
    """Id of the episode: 22 to 64 characters of A-Z, a-z, 0-9, _ and -, with at least 128 random
    bits. An id makes it safe to repeat the request; drawn if omitted."""
    subject: SkipValidation[Text | None] = None
    """Pseudonym by which the data can be withdrawn."""
    event_time: Time = None


class DecisionRequest(Body):
    """State and step for which an action is requested."""

    state: SkipValidation[State]
    step: Index
    """Step, from 0."""
    episode: str | None = None
    """Id of an open episode. The action follows the version that the episode received, and
    repeating the request returns the same action."""


class RollBack(Body):
    """Version to serve after a rollback."""

    version: Count


class Shadow(Body):
    """Request to turn shadow mode on or off."""

    on: bool


class LostEpisode(Body):
    """Declaration that the feedback of an episode is no longer expected."""

    reason: SkipValidation[Text]
    """Explanation for people. Withdrawing the episode deletes it."""
    event_time: Time = None


# Feedback, which only the ledger parses


class Step(Body):
    """One step of an episode: state, action, next state, and the reward if rewards are unknown."""

    step: Index
    """Step, from 0."""
    state: State
    action: Action
    next_state: State
    reward: Reward | None = None


class WholeEpisode(Body):
    """A whole episode: H + 1 states, H actions, and H rewards if rewards are unknown."""

    states: list[State]
    actions: list[Action]
    rewards: list[Reward] | None = None
    event_time: Time = None


class Steps(Body):
    """Some steps of an episode."""

    steps: Annotated[list[Step], Field(min_length=1)]
    event_time: Time = None


class EpisodePath(Body):
    """States and actions of an episode, without its rewards."""

    states: list[State]
    actions: list[Action]


class LateRewards(Body):
    """Feedback if only rewards are delayed: the path, a map from steps to rewards, or both."""

    path: EpisodePath = Field(default_factory=dict)  # type: ignore[assignment]  # only described
    """States and actions."""
    rewards: dict[str, Reward] = Field(default_factory=dict, min_length=1)
    """Map from the number of a step to its reward."""
    event_time: Time = None
