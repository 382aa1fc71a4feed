"""Models of the status of a problem, and of the health and readiness of the service."""

from typing import Literal

from pydantic import Field

from belated.service.models.common import Model, with_example
from belated.service.models.policies import ServingState


class Ages(Model):
    """Ages of the episodes in flight, in seconds.

    `oldest` and `median` are null if no episodes are in flight.
    """

    oldest: float | None
    median: float | None
    counts: dict[str, int] = Field(
        description="Number of episodes younger than each limit, in seconds. The numbers are "
        "cumulative: each includes those of all smaller limits, and `inf` counts all episodes."
    )


class InFlight(Model):
    """Fraction of the visits to a (stage, state, action) that belong to episodes in flight."""

    most: float = Field(description="Maximum over all (stage, state, action).")
    mean: float = Field(description="Mean over all (stage, state, action).")
    exact: bool = Field(description="False if the numbers are upper bounds.")


class Status(Model):
    """Status of a problem.

    If the problem's state cannot be computed from its events, `failure` is the reason, and all
    fields other than `problem`, `serving` and `failure` are null.
    """

    problem: str
    serving: ServingState
    failure: str | None = Field(description="Reason why the problem cannot be folded.")
    seq: int | None = Field(description="Sequence number of the last event that was folded.")
    waiting: int | None = Field(description="Pieces of feedback that wait for the next batch.")
    begun: int | None = Field(description="Episodes that were opened.")
    observed: int | None = Field(description="Episodes whose feedback is complete.")
    missing: int | None = Field(description="Episodes in flight, without lost ones.")
    lost: int | None = Field(
        description="Episodes whose feedback is no longer expected; they are in no other number "
        "than `begun`."
    )
    mean_delay: float | None = Field(description="Observed mean delay, in episodes.")
    psi: float | None = Field(description="Upper bound on `missing` with high probability.")
    ages: Ages | None = Field(
        description="Time since the episodes were opened, by `event_time` where it was given."
    )
    recorded_ages: Ages | None = Field(description="Time since their openings were recorded.")
    in_flight: InFlight | None
    updates: int | None = Field(description="Number of plans, without the first one.")
    epochs: int | None = Field(description="Number of plans, with the first one.")
    alpha: float | None = Field(
        description="Parameter of lazy updating in the current epoch; null for other updaters."
    )
    model_config = with_example(
        {
            "problem": "clinic",
            "serving": {"version": 3, "newest": 3, "frozen": False, "shadow": False},
            "failure": None,
            "seq": 120,
            "waiting": 0,
            "begun": 40,
            "observed": 31,
            "missing": 8,
            "lost": 1,
            "mean_delay": 8.5,
            "psi": 31.4,
            "ages": {"oldest": 86000.0, "median": 3600.0, "counts": {"60": 1, "inf": 9}},
            "recorded_ages": {"oldest": 600.0, "median": 90.0, "counts": {"60": 4, "inf": 9}},
            "in_flight": {"most": 0.4, "mean": 0.1, "exact": False},
            "updates": 12,
            "epochs": 13,
            "alpha": 10.0,
        }
    )


class Health(Model):
    """Response of a service that is running."""

    status: Literal["ok"] = "ok"
    model_config = with_example({"status": "ok"})


class Readiness(Model):
    """Whether the service is ready to handle requests, with details."""

    ready: bool
    reasons: list[str] = Field(description="Reasons why the service is not ready.")
    store: bool = Field(description="Whether the store can be written to.")
    caught_up: bool = Field(description="Whether all events are folded, or another process plans.")
    plans: bool = Field(description="Whether this process holds the planner lock.")
    failed: int = Field(description="Number of problems that cannot be folded.")
    model_config = with_example(
        {
            "ready": True,
            "reasons": [],
            "store": True,
            "caught_up": True,
            "plans": True,
            "failed": 0,
        }
    )
