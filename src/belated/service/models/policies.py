"""Policies, their versions, and which version is served."""

from typing import Any, Final

from pydantic import Field

from belated.service.models.common import MAX_INT32, Model, RequestModel, with_example

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
    """A version of a policy.

    At step h (from 0) in a state: draw one of `explore[h][state]` with equal probabilities, if
    present. Otherwise, with probability `epsilon`, draw one of all actions. Otherwise take
    `plan[h][state]`.
    """

    problem: str
    version: int
    horizon: int
    actions: list[str]
    plan: list[dict[str, str]]
    explore: list[dict[str, list[str]]]
    epsilon: float
    sha: str = Field(description="Digest of the policy.")
    model_config = with_example(EXAMPLE_POLICY)


class VersionInfo(Model):
    """A version of a policy, without its content."""

    version: int
    seq: int
    tick: int | None = Field(description="Sequence number of the batch after which it was planned.")
    sha: str


class Versions(Model):
    """All versions, oldest first."""

    versions: list[VersionInfo]
    model_config = with_example(
        {"versions": [{"version": 1, "seq": 2, "tick": None, "sha": "0f3c" * 16}]}
    )


class Change(Model):
    """A step and state in which two versions differ."""

    step: int
    state: str
    before: list[str] = Field(description="Actions of the old version, equally likely.")
    after: list[str] = Field(description="Actions of the new version, equally likely.")


class Diff(Model):
    """Differences between two versions."""

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
    """Served version, and why it is served."""

    version: int
    newest: int
    frozen: bool = Field(description="Whether the version was frozen or rolled back.")
    shadow: bool = Field(description="Whether shadow mode is on.")
    model_config = with_example({"version": 3, "newest": 5, "frozen": True, "shadow": False})


class RollBack(RequestModel):
    """Version to serve."""

    version: int = Field(ge=1, le=MAX_INT32)
    model_config = with_example({"version": 1})


class Shadow(RequestModel):
    """Whether to turn shadow mode on or off."""

    on: bool
    model_config = with_example({"on": True})
