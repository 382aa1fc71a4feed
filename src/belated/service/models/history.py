"""Models of the history of a problem: statistics of its episodes by time and by policy version."""

from typing import Final

from pydantic import Field

from belated.service.models.common import Model, optional_field, with_example

EXAMPLE_BIN: Final = {
    "start": "2026-11-15T13:50:02Z",
    "opened": 12,
    "returned": 9,
    "delay": 34.5,
    "longest": 120.0,
    "episodes": 8.2,
}


class TimeBin(Model):
    """Statistics of one interval of time: numbers of episodes opened and returned, and delays.

    An episode returns when its feedback is complete. The delays are those of the returned episodes,
    and null if no episode returned. A delay in episodes is the number of episodes whose openings
    arrived after the opening of the episode and before its last feedback.
    """

    start: str = Field(json_schema_extra={"format": "date-time"})
    opened: int
    returned: int = Field(description="Episodes whose last feedback is in the interval.")
    delay: float | None = Field(description="Mean of their delays, in seconds.")
    longest: float | None = Field(description="Maximum of their delays, in seconds.")
    episodes: float | None = Field(description="Mean of their delays, in episodes.")


class Outside(Model):
    """Number of episodes opened, and number returned, at times outside all intervals."""

    opened: int
    returned: int


class TimeBins(Model):
    """Statistics of at most 256 consecutive intervals of time of equal width."""

    width: float = Field(description="Width in seconds. It doubles when 256 bins are full.")
    bins: list[TimeBin]
    outside: Outside = optional_field(
        description="Episodes whose times are far from all others, such as those of a wrong clock. "
        "They are in no bin. Present only if there are any."
    )


class VersionBin(Model):
    """Statistics of the episodes that follow the versions from `first` to `last` of the policy.

    The return of an episode is the sum of its rewards, in the units of the problem's rewards.
    """

    first: int
    last: int
    opened: int
    returned: int = Field(description="Episodes whose feedback is complete.")
    mean_return: float | None = Field(description="Mean return of these episodes; null if none.")
    error: float | None = Field(description="Standard error of the mean; null for < 2.")


class VersionBins(Model):
    """Statistics of at most 256 consecutive ranges of versions of equal width."""

    width: int = Field(description="Versions in each bin. Doubles when 256 bins are full.")
    bins: list[VersionBin]


class History(Model):
    """History of a problem up to the event with sequence number `seq`.

    The history is empty if the problem's state cannot be computed from its events.
    """

    problem: str
    seq: int | None = Field(description="Sequence number of the last event that was folded.")
    times: TimeBins = Field(
        description="By the time at which openings and feedback happened: `event_time`, or the "
        "time of recording if it is omitted or earlier than `event_time`."
    )
    arrivals: TimeBins = Field(description="By the time of recording.")
    versions: VersionBins
    model_config = with_example(
        {
            "problem": "clinic",
            "seq": 120,
            "times": {"width": 2.0, "bins": [EXAMPLE_BIN]},
            "arrivals": {"width": 2.0, "bins": [EXAMPLE_BIN]},
            "versions": {
                "width": 1,
                "bins": [
                    {
                        "first": 1,
                        "last": 1,
                        "opened": 40,
                        "returned": 31,
                        "mean_return": 1.25,
                        "error": 0.08,
                    }
                ],
            },
        }
    )
