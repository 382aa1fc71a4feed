"""Where a problem stands, and the service."""

from typing import Any, Literal

from pydantic import Field

from belated.service.models.common import Model, example
from belated.service.models.policies import Choice


class Ages(Model):
    """How long ago the missing episodes were opened, in seconds."""

    oldest: float | None
    median: float | None
    counts: dict[str, int] = Field(description="How many are younger than so many seconds.")


class InFlight(Model):
    """The share of the visits to a state and action that is not back yet."""

    most: float
    mean: float
    exact: bool = Field(description="False where it is the most that it can be.")


STATUS: dict[str, Any] = {
    "problem": "clinic",
    "serving": {"version": 3, "newest": 3, "frozen": False, "shadow": False},
    "failure": None,
    "seq": 120,
    "waiting": 0,
    "begun": 40,
    "observed": 31,
    "missing": 9,
    "mean_delay": 8.5,
    "psi": 31.4,
    "ages": {"oldest": 86000.0, "median": 3600.0, "counts": {"60": 1, "inf": 9}},
    "in_flight": {"most": 0.4, "mean": 0.1, "exact": False},
    "updates": 12,
    "epochs": 13,
    "alpha": 10.0,
}


class Status(Model):
    """Where a problem stands; numbers are null where it cannot be folded."""

    problem: str
    serving: Choice
    failure: str | None = Field(description="Why it cannot be folded.")
    seq: int | None = Field(description="The last event that was folded.")
    waiting: int | None = Field(description="Feedback that waits for the next batch.")
    begun: int | None
    observed: int | None = Field(description="Episodes that came back whole.")
    missing: int | None = Field(description="Episodes that did not.")
    mean_delay: float | None = Field(description="In episodes.")
    psi: float | None = Field(description="What `missing` stays below with high probability.")
    ages: Ages | None
    in_flight: InFlight | None
    updates: int | None
    epochs: int | None
    alpha: float | None
    model_config = example(STATUS)


class Health(Model):
    """Whether it is there."""

    status: Literal["ok"] = "ok"
    model_config = example({"status": "ok"})


class Readiness(Model):
    """Whether it can do its work."""

    ready: bool
    store: bool = Field(description="Whether the store can be reached.")
    caught_up: bool = Field(description="Whether all that is in it has been folded once.")
    plans: bool = Field(description="Whether this process is the one that plans.")
    failed: int = Field(description="How many problems cannot be folded.")
    model_config = example(
        {"ready": True, "store": True, "caught_up": True, "plans": True, "failed": 0}
    )
