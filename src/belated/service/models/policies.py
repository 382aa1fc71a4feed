"""Models of policies, their versions, and the choice of the version to serve."""

from typing import Any, Final

from pydantic import Field

from belated.service.models.common import (
    MAX_INT32,
    Model,
    RequestModel,
    optional_field,
    with_example,
)

EXAMPLE_POLICY: Final[dict[str, Any]] = {
    "problem": "clinic",
    "version": 1,
    "horizon": 3,
    "actions": ["wait", "treat"],
    "plan": [{"ill": "treat", "well": "wait"}] * 3,
    "explore": [{}, {"ill": ["wait", "treat"]}, {}],
    "epsilon": 0.0,
    "sha": "0f3c" * 16,
}


class Policy(Model):
    """A published version of a policy.

    The action at step h (from 0) in a state is chosen as follows. If `explore[h][state]` is
    present, draw one of its actions with equal probabilities. Otherwise, with probability
    `epsilon`, draw one of all actions with equal probabilities, or of `allowed[h][state]` if it is
    present. Otherwise take `plan[h][state]`. The entry `plan[h][state]` is null for a terminal
    state, in which the episode has ended. The fields after `sha` are present only if the problem
    has terminal states, forbidden actions or factors, respectively.
    """

    problem: str
    version: int
    horizon: int
    actions: list[str]
    plan: list[dict[str, str | None]]
    explore: list[dict[str, list[str]]]
    epsilon: float
    sha: str = Field(description="Digest of the policy.")
    terminal: list[str] = optional_field(description="Terminal states.")
    allowed: list[dict[str, list[str]]] = optional_field(
        description="For each step, the allowed actions of the states that do not allow all."
    )
    factors: list[str] = optional_field(description="Names of the factors of the states.")
    model_config = with_example(EXAMPLE_POLICY)


class VersionInfo(Model):
    """Metadata of a published version of a policy, without the policy."""

    version: int
    seq: int
    tick: int | None = Field(
        description="Sequence number of the `tick` after which it was planned."
    )
    sha: str


class Versions(Model):
    """All published versions of the policy of a problem, oldest first."""

    versions: list[VersionInfo]
    model_config = with_example(
        {"versions": [{"version": 1, "seq": 2, "tick": None, "sha": "0f3c" * 16}]}
    )


class Change(Model):
    """Step and state in which two versions of a policy differ, and the actions of both versions."""

    step: int
    state: str
    before: list[str] = Field(description="Actions of the old version, equally likely.")
    after: list[str] = Field(description="Actions of the new version, equally likely.")


class Diff(Model):
    """Differences between two versions of a policy. `epsilon` has the values of both versions."""

    old: int
    new: int
    epsilon: tuple[float, float]
    changes: list[Change]
    model_config = with_example(
        {
            "old": 3,
            "new": 4,
            "epsilon": [0, 0],
            "changes": [{"step": 0, "state": "ill", "before": ["wait"], "after": ["treat"]}],
        }
    )


class ServingState(Model):
    """Served version of a problem, and the modes that determine this version."""

    version: int
    newest: int
    frozen: bool = Field(description="Whether the served version is frozen or rolled back.")
    shadow: bool = Field(description="Whether shadow mode is on.")
    model_config = with_example({"version": 3, "newest": 5, "frozen": True, "shadow": False})


class RollBack(RequestModel):
    """Version to serve after a rollback."""

    version: int = Field(ge=1, le=MAX_INT32)
    model_config = with_example({"version": 1})


class Shadow(RequestModel):
    """Request to turn shadow mode on or off."""

    on: bool
    model_config = with_example({"on": True})
