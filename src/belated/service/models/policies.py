"""Versions of a policy, and what a person decides about them."""

from pydantic import Field

from belated.service.models.common import MOST, Model, Sent, example


class VersionInfo(Model):
    """A version of a policy, but for what it plays."""

    version: int
    seq: int
    tick: int | None = Field(description="The batch that it came from.")
    sha: str


class Versions(Model):
    """All versions, oldest first."""

    versions: list[VersionInfo]
    model_config = example(
        {"versions": [{"version": 1, "seq": 2, "tick": None, "sha": "0f3c" * 16}]}
    )


class Change(Model):
    """A step and state in which two versions differ."""

    step: int
    state: str
    before: list[str] = Field(description="One of these was played.")
    after: list[str] = Field(description="One of these is.")


class Diff(Model):
    """Where two versions differ."""

    old: int
    new: int
    epsilon: tuple[float, float]
    changes: list[Change]
    model_config = example(
        {
            "old": 3,
            "new": 4,
            "epsilon": [0, 0],
            "changes": [{"step": 0, "state": "ill", "before": ["wait"], "after": ["treat"]}],
        }
    )


class Choice(Model):
    """Which version is served, and why."""

    version: int
    newest: int
    frozen: bool = Field(description="Whether a person froze or rolled back.")
    shadow: bool = Field(description="Whether what is learned is kept from being served.")
    model_config = example({"version": 3, "newest": 5, "frozen": True, "shadow": False})


class RollBack(Sent):
    """Where to go back to."""

    version: int = Field(ge=1, le=MOST)
    model_config = example({"version": 1})


class Shadow(Sent):
    """Whether to learn without serving it."""

    on: bool
    model_config = example({"on": True})
