"""Models of the status of a problem, and of the health and readiness of the service."""

from typing import Final, Literal

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


class DelayEstimate(Model):
    """Kaplan-Meier estimate of the delay, with 95 % intervals.

    Episodes in flight and lost episodes count as not back at their age. Numbers are null if the
    data do not tell them.
    """

    episodes: int = Field(description="Number of episodes, back or not.")
    returned: int = Field(description="Number of episodes that are back.")
    median: float | None = Field(description="Delay by which half is back; null if not reached.")
    median_low: float | None
    median_high: float | None = Field(description="Null if the data set no limit.")
    followed: float = Field(
        description="Largest age at which at least ten episodes are not back; 0 if there is none."
    )
    not_back: float | None = Field(
        description="Share that is not back at this age; null if there are fewer than ten episodes."
    )
    not_back_low: float | None
    not_back_high: float | None
    never: float | None = Field(
        description="Share that never returns; null if it cannot be told yet."
    )
    never_low: float
    never_high: float = Field(description="Upper bound, also if the share cannot be told yet.")
    complete_age: float | None = Field(
        description="Age by which 99 % of what returns at all is back; null if it cannot be told "
        "yet."
    )
    summary: str = Field(description="One sentence.")


class Lateness(Model):
    """Estimated delays, in episodes and in seconds."""

    episodes: DelayEstimate
    seconds: DelayEstimate = Field(description="By `event_time` where it was given.")


EXAMPLE_DELAYS: Final = {
    "episodes": 40,
    "returned": 31,
    "median": 6.0,
    "median_low": 4.0,
    "median_high": 9.0,
    "followed": 11.0,
    "not_back": 0.27,
    "not_back_low": 0.14,
    "not_back_high": 0.42,
    "never": None,
    "never_low": 0.0,
    "never_high": 0.42,
    "complete_age": None,
    "summary": "Half of the feedback is back after 6 episodes (95 % interval: 4 episodes to 9 "
    "episodes); which share never returns cannot be told yet, but it is at most 42 %.",
}


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
    mean_delay: float | None = Field(
        description="Observed mean delay, in episodes. An episode in flight counts as late as it "
        "is so far, so that the mean is too low; see `lateness`."
    )
    psi: float | None = Field(description="Upper bound on `missing` with high probability.")
    lateness: Lateness | None = Field(
        description="Estimate of the delay that allows for the episodes in flight."
    )
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
            "lateness": {"episodes": EXAMPLE_DELAYS, "seconds": EXAMPLE_DELAYS},
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
