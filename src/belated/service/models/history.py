"""What became of the episodes of a problem, by time and by version of the policy."""

from typing import Any

from pydantic import Field

from belated.service.models.common import Model, example

HISTORY: dict[str, Any] = {
    "problem": "clinic",
    "seq": 120,
    "times": {
        "width": 2.0,
        "bins": [
            {
                "start": "2026-11-15T13:50:02Z",
                "opened": 12,
                "returned": 9,
                "delay": 34.5,
                "longest": 120.0,
                "episodes": 8.2,
            }
        ],
    },
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


class TimeBin(Model):
    """What was opened in a stretch of time, and what returned in it; null where nothing did."""

    start: str = Field(json_schema_extra={"format": "date-time"})
    opened: int
    returned: int = Field(description="Episodes of which the last piece arrived.")
    delay: float | None = Field(description="The mean of their delays, in seconds.")
    longest: float | None = Field(description="The longest of them, in seconds.")
    episodes: float | None = Field(description="The mean, in episodes opened meanwhile.")


class TimeBins(Model):
    """Stretches of time without gaps, 256 at most."""

    width: float = Field(description="Seconds of each; it doubles as time goes on.")
    bins: list[TimeBin]


class VersionBin(Model):
    """What became of the episodes opened with some versions."""

    first: int
    last: int
    opened: int
    returned: int = Field(description="Episodes that are back whole.")
    mean_return: float | None = Field(description="Of these; null if there are none.")
    error: float | None = Field(description="The standard error of that; null below 2.")


class VersionBins(Model):
    """Versions in order, in 256 bins at most."""

    width: int = Field(description="Versions of each; it doubles as they become more.")
    bins: list[VersionBin]


class History(Model):
    """What was opened and came back whole by the last batch; nothing if it cannot be folded."""

    problem: str
    seq: int | None = Field(description="The last event that was folded.")
    times: TimeBins
    versions: VersionBins
    model_config = example(HISTORY)
