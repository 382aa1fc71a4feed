"""History of a problem: its episodes by time and by version of the policy."""

from pydantic import Field

from belated.service.models.common import Model, with_example


class TimeBin(Model):
    """Episodes opened and returned in one interval. Delays are null if none returned."""

    start: str = Field(json_schema_extra={"format": "date-time"})
    opened: int
    returned: int = Field(description="Episodes whose last feedback arrived in the interval.")
    delay: float | None = Field(description="Mean of their delays, in seconds.")
    longest: float | None = Field(description="Maximum of their delays, in seconds.")
    episodes: float | None = Field(description="Mean of their delays, in episodes.")


class TimeBins(Model):
    """Consecutive intervals of equal width, at most 256."""

    width: float = Field(description="Width in seconds. It doubles as time goes on.")
    bins: list[TimeBin]


class VersionBin(Model):
    """Episodes opened with the versions `first` to `last`."""

    first: int
    last: int
    opened: int
    returned: int = Field(description="Episodes whose feedback is complete.")
    mean_return: float | None = Field(description="Mean return of these; null if there are none.")
    error: float | None = Field(description="Standard error of the mean; null for fewer than 2.")


class VersionBins(Model):
    """Consecutive ranges of versions, at most 256."""

    width: int = Field(description="Versions in each. It doubles as versions are published.")
    bins: list[VersionBin]


class History(Model):
    """History up to the last batch. Empty if the problem cannot be folded."""

    problem: str
    seq: int | None = Field(description="Sequence number of the last event that was folded.")
    times: TimeBins
    versions: VersionBins
    model_config = with_example(
        {
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
    )
