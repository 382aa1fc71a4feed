"""Bodies of responses, as typed dictionaries: for the routes, and for the OpenAPI document."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired

from pydantic import with_config
from typing_extensions import TypedDict  # Pydantic needs it before Python 3.12

from belated.client.wire import LineResult, Policy

__all__ = ["LineResult", "Policy"]


@with_config(use_attribute_docstrings=True, extra="forbid")
class Message(TypedDict):
    """Base class of the bodies of responses."""


class Error(Message):
    """Body of an error response, with the reason why a request failed."""

    error: str
    """Error code; one for each HTTP status."""
    message: str
    """Explanation."""
    field: str | None
    """Path of the field that is wrong, such as steps[2].reward."""


class Receipt(Message):
    """Confirmation that the data is on disk, recorded by this request or by an earlier one."""

    result: Literal["recorded", "already recorded"]
    seq: int
    """Sequence number in the ledger."""


class Withdrawal(Message):
    """Confirmation that a withdrawal is on disk, or that no data of the subject is stored.

    The response is the same for an unknown subject and for a subject withdrawn earlier, because the
    service does not store which subjects were withdrawn.
    """

    result: Literal["recorded", "nothing kept"]
    seq: int | None
    """Sequence number in the ledger, if recorded."""


class Episode(Message):
    """Episode that was opened, and the policy to follow in this episode."""

    episode: str
    version: int
    policy: Policy


class Decision(Message):
    """Action to take, and the version of the policy that chose this action."""

    action: str
    version: int


class VersionInfo(Message):
    """Metadata of a published version of a policy, without the policy."""

    version: int
    seq: int
    tick: int | None
    """Sequence number of the `tick` after which it was planned."""
    sha: str


class Versions(Message):
    """All published versions of the policy of a problem, oldest first."""

    versions: Sequence[VersionInfo]


class Change(Message):
    """Step and state in which two versions of a policy differ, and the actions of both versions."""

    step: int
    state: str
    before: Sequence[str]
    """Actions of the old version, equally likely."""
    after: Sequence[str]
    """Actions of the new version, equally likely."""


class Diff(Message):
    """Differences between two versions of a policy. `epsilon` has the values of both versions."""

    old: int
    new: int
    epsilon: tuple[float, float]
    changes: Sequence[Change]


class ServingState(Message):
    """Served version of a problem, and the modes that determine this version."""

    version: int
    newest: int
    frozen: bool
    """Whether the served version is frozen or rolled back."""
    shadow: bool
    """Whether shadow mode is on."""


class Ages(Message):
    """Ages of the episodes in flight, in seconds."""

    oldest: float | None
    """Null if no episodes are in flight."""
    median: float | None
    """Null if no episodes are in flight."""
    counts: Mapping[str, int]
    """Number of episodes younger than each limit, in seconds. The numbers are cumulative: each
    includes those of all smaller limits, and `inf` counts all episodes."""


class InFlight(Message):
    """Fraction of the visits to a (stage, state, action) that belong to episodes in flight."""

    most: float
    """Maximum over all (stage, state, action)."""
    mean: float
    """Mean over all (stage, state, action)."""
    exact: bool
    """False if the numbers are upper bounds."""


class DelayEstimate(Message):
    """Kaplan-Meier estimate of the delay, with 95 % intervals.

    Episodes in flight and lost episodes count as not back at their age. Numbers are null if the
    data do not tell them.
    """

    episodes: int
    """Number of episodes, back or not."""
    returned: int
    """Number of episodes that are back."""
    median: float | None
    """Delay by which half is back; null if not reached."""
    median_low: float | None
    median_high: float | None
    """Null if the data set no limit."""
    followed: float
    """Largest age at which at least ten episodes are not back; 0 if there is none."""
    not_back: float | None
    """Share that is not back at this age; null if there are fewer than ten episodes."""
    not_back_low: float | None
    not_back_high: float | None
    never: float | None
    """Share that never returns; null if it cannot be told yet."""
    never_low: float
    never_high: float
    """Upper bound, also if the share cannot be told yet."""
    complete_age: float | None
    """Age by which 99 % of what returns at all is back; null if it cannot be told yet."""
    summary: str
    """One sentence."""


class Lateness(Message):
    """Estimated delays, in episodes and in seconds."""

    episodes: DelayEstimate
    seconds: DelayEstimate
    """By `event_time` where it was given."""


class Status(Message):
    """Status of a problem.

    If the problem's state cannot be computed from its events, `failure` is the reason, and all
    fields other than `problem`, `serving` and `failure` are null.
    """

    problem: str
    serving: ServingState
    failure: str | None
    """Reason why the problem cannot be folded."""
    seq: int | None
    """Sequence number of the last event that was folded."""
    waiting: int | None
    """Pieces of feedback that wait for the next batch."""
    begun: int | None
    """Episodes that were opened."""
    observed: int | None
    """Episodes whose feedback is complete."""
    missing: int | None
    """Episodes in flight, without lost ones."""
    lost: int | None
    """Episodes whose feedback is no longer expected; they are in no other number than `begun`."""
    mean_delay: float | None
    """Observed mean delay, in episodes. An episode in flight counts as late as it is so far, so
    that the mean is too low; see `lateness`."""
    psi: float | None
    """Upper bound on `missing` with high probability."""
    lateness: Lateness | None
    """Estimate of the delay that allows for the episodes in flight."""
    ages: Ages | None
    """Time since the episodes were opened, by `event_time` where it was given."""
    recorded_ages: Ages | None
    """Time since their openings were recorded."""
    in_flight: InFlight | None
    updates: int | None
    """Number of plans, without the first one."""
    epochs: int | None
    """Number of plans, with the first one."""
    alpha: float | None
    """Parameter of lazy updating in the current epoch; null for other updaters."""


class TimeBin(Message):
    """Statistics of one interval of time: numbers of episodes opened and returned, and delays.

    An episode returns when its feedback is complete. The delays are those of the returned episodes,
    and null if no episode returned. A delay in episodes is the number of episodes whose openings
    arrived after the opening of the episode and before its last feedback.
    """

    start: str
    """Time in ISO 8601."""
    opened: int
    returned: int
    """Episodes whose last feedback is in the interval."""
    delay: float | None
    """Mean of their delays, in seconds."""
    longest: float | None
    """Maximum of their delays, in seconds."""
    episodes: float | None
    """Mean of their delays, in episodes."""


class Outside(Message):
    """Number of episodes opened, and number returned, at times outside all intervals."""

    opened: int
    returned: int


class TimeBins(Message):
    """Statistics of at most 256 consecutive intervals of time of equal width."""

    width: float
    """Width in seconds. It doubles when 256 bins are full."""
    bins: Sequence[TimeBin]
    outside: NotRequired[Outside]
    """Episodes whose times are far from all others, such as those of a wrong clock. They are in no
    bin. Present only if there are any."""


class VersionBin(Message):
    """Statistics of the episodes that follow the versions from `first` to `last` of the policy.

    The return of an episode is the sum of its rewards, in the units of the problem's rewards.
    """

    first: int
    last: int
    opened: int
    returned: int
    """Episodes whose feedback is complete."""
    mean_return: float | None
    """Mean return of these episodes; null if none."""
    error: float | None
    """Standard error of the mean; null for < 2."""


class VersionBins(Message):
    """Statistics of at most 256 consecutive ranges of versions of equal width."""

    width: int
    """Versions in each bin. Doubles when 256 bins are full."""
    bins: Sequence[VersionBin]


class History(Message):
    """History of a problem up to the event with sequence number `seq`.

    The history is empty if the problem's state cannot be computed from its events.
    """

    problem: str
    seq: int | None
    """Sequence number of the last event that was folded."""
    times: TimeBins
    """By the time at which openings and feedback happened: `event_time`, or the time of recording
    if it is omitted or earlier than `event_time`."""
    arrivals: TimeBins
    """By the time of recording."""
    versions: VersionBins


class Health(Message):
    """Response of a service that is running."""

    status: Literal["ok"]


class Readiness(Message):
    """Whether the service is ready to handle requests, with details."""

    ready: bool
    reasons: Sequence[str]
    """Reasons why the service is not ready."""
    store: bool
    """Whether the store can be written to."""
    caught_up: bool
    """Whether all events are folded, or another process plans."""
    plans: bool
    """Whether this process holds the planner lock."""
    failed: int
    """Number of problems that cannot be folded."""


class LedgerEvent(Message):
    """Event of the ledger. `body` is null if the data of the event has been withdrawn."""

    seq: int
    episode: str | None
    kind: str
    at: int
    """Time of recording, in microseconds since 1970 (UTC)."""
    event_time: int | None
    body: Any
    sha: str
    redacted: bool


class RejectedRequest(Message):
    """Rejected request in the quarantine. Identical requests are stored once and counted."""

    id: int
    """Id of the entry; later entries have larger ids."""
    at: int
    """Time of the last rejection, in microseconds since 1970 (UTC)."""
    problem: str | None
    """Name of the problem; null if unknown."""
    episode: str | None
    """Id of the episode; null if unknown."""
    outcome: Literal["conflict", "unknown", "gone", "refused"]
    reason: str
    body: Any
    """Body of the request: a string if it was not JSON or was truncated, its number of bytes if it
    was too large, null if it must not be kept."""
    times: int
    """Number of times that the request was rejected."""
