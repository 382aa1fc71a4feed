"""Events: one class for each kind of new event, and `Event` for an event stored in the ledger.

Times are in microseconds since 1970 (UTC). `event_time` is the time at which the event happened; it
is set by the caller, and None if unknown. The ledger adds the time of recording. Learners use
events in order of the sequence number, which is the order of arrival; ages and delays in seconds
are computed from `Event.happened_at`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, get_args

from belated.check import check_episode_id, check_seq, check_text, check_time
from belated.episode import Policy
from belated.ledger.clients.idempotency import StoredResponse
from belated.ledger.problems import ProblemSpec

Kind = Literal[
    "defined",
    "opened",
    "feedback",
    "corrected",
    "lost",
    "withdrawn",
    "tick",
    "published",
    "control",
]
Action = Literal[
    "freeze", "unfreeze", "roll_back", "shadow_on", "shadow_off", "archive", "unarchive"
]
ACTIONS: Final = get_args(Action)

_DECODER: Final = json.JSONDecoder()


class Event(NamedTuple):
    """Event as stored in the ledger."""

    seq: int
    """Sequence number, from 1."""
    problem: int
    """Id of the problem."""
    episode: str | None
    """Id of the episode; None if the event does not belong to a single episode."""
    kind: Kind
    at: int
    """Time of recording, in microseconds since 1970 (UTC)."""
    event_time: int | None
    text: str | None
    """Body as canonical JSON; None if the event is redacted."""
    salt: bytes | None
    """Random bytes that are hashed before the text. None if the event is redacted, or if it is of a
    kind that is never redacted."""
    sha: str
    """SHA-256 digest of the salt followed by the text; it is kept when the event is redacted."""
    redacted: bool

    @property
    def body(self) -> Any:
        """Body of the event, parsed from its JSON text at each access; None if it is redacted."""
        if self.text is None:
            return None
        # `decode` also searches for spaces around the value, which canonical JSON does not have
        value, end = _DECODER.raw_decode(self.text)
        return value if end == len(self.text) else _DECODER.decode(self.text)

    @property
    def happened_at(self) -> int:
        """Time at which the event happened, in microseconds since 1970 (UTC).

        This is `event_time`, or the time of recording if `event_time` is None. An event cannot
        happen after it is recorded, so a later `event_time` is replaced by the time of recording.
        """
        return self.at if self.event_time is None else min(self.event_time, self.at)


def _check_episode(name: str, value: object) -> None:
    # only a text: an id with an invalid format is not found rather than malformed
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {value!r}.")


CHECKS: Final[dict[str, Callable[[str, object], object]]] = {
    "problem": check_seq,
    "version": check_seq,
    "upto": check_seq,
    "tick": check_seq,
    "subject": check_text,
    "by": check_text,
    "reason": check_text,
    "id": check_episode_id,
    "episode": _check_episode,
    "event_time": check_time,
}
"""Map from the name of a field of a new event to the function that checks the field's value."""


class _Checked:
    """Base class of new events; checks the fields of an event when it is created."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name in CHECKS and (value is not None or not hasattr(type(self), name)):
                CHECKS[name](name, value)


@dataclass(frozen=True)
class Defined(_Checked):
    """New event: definition of a problem."""

    spec: ProblemSpec
    event_time: int | None = None
    kind: ClassVar[Kind] = "defined"

    def __post_init__(self) -> None:
        if not isinstance(self.spec, ProblemSpec):
            raise TypeError(f"spec must be a ProblemSpec, got {self.spec!r}.")
        super().__post_init__()


@dataclass(frozen=True)
class Opened(_Checked):
    """New event: opening of an episode that follows a given version of the problem's policy."""

    problem: int
    version: int
    subject: str | None = None
    """Pseudonym of the person to whom the episode belongs; used to withdraw that person's data."""
    id: str | None = None
    """Id of the episode, such as secrets.token_urlsafe(16). With an id, a retry of the request does
    not open a second episode. If None, the ledger draws a random id."""
    event_time: int | None = None
    kind: ClassVar[Kind] = "opened"


@dataclass(frozen=True)
class Feedback:
    """New event: feedback of a whole episode, or of a part of an episode."""

    episode: str
    content: Any
    """Content of the feedback, in the format that `belated.ledger.recording.content` describes. An
    instance of `UnusableContent` is rejected with the reason that it contains."""
    event_time: int | None = None
    problem: int | None = None
    """Id of the problem to which the episode must belong; None if it may belong to any problem."""
    kind: ClassVar[Kind] = "feedback"

    def __post_init__(self) -> None:  # explicit, since most events are feedback
        _check_episode("episode", self.episode)
        check_time("event_time", self.event_time)


@dataclass(frozen=True)
class Corrected(Feedback):
    """New event: correction of an episode.

    Its content is a whole episode, which replaces all earlier feedback of this episode.
    """

    kind: ClassVar[Kind] = "corrected"


@dataclass(frozen=True)
class Lost(_Checked):
    """New event: declaration that the feedback of an episode is no longer expected.

    The episode no longer counts as missing. Nothing is learnt from it, in particular no reward of
    zero. Feedback that arrives later is used as usual, and revokes the declaration.
    """

    episode: str
    reason: str
    """Explanation for people; it is deleted when the episode is withdrawn."""
    event_time: int | None = None
    kind: ClassVar[Kind] = "lost"


@dataclass(frozen=True)
class Withdrawn(_Checked):
    """New event: withdrawal of one episode, or of all episodes of a subject in a problem.

    Either `episode` alone must be given, or both `problem` and `subject`.
    """

    episode: str | None = None
    problem: int | None = None
    subject: str | None = None
    event_time: int | None = None
    kind: ClassVar[Kind] = "withdrawn"

    def __post_init__(self) -> None:
        given = tuple(x is not None for x in (self.episode, self.problem, self.subject))
        if given not in ((True, False, False), (False, True, True)):
            raise ValueError(
                "Withdrawn takes either an episode, or a problem and a subject; "
                f"got episode={self.episode!r}, problem={self.problem!r} and "
                f"{'a' if self.subject is not None else 'no'} subject."
            )
        super().__post_init__()


@dataclass(frozen=True)
class Tick(_Checked):
    """New event: end of a batch.

    The learner absorbs at once all feedback recorded between the end of the previous batch and the
    end of this batch.
    """

    problem: int
    upto: int | None = None
    """Sequence number of the last event of the batch; None for the last event in the ledger."""
    event_time: int | None = None
    kind: ClassVar[Kind] = "tick"


@dataclass(frozen=True, eq=False)
class Published(_Checked):
    """New event: publication of a new version of a problem's policy."""

    problem: int
    version: int
    """Version number: 1, 2, ... within the problem."""
    policy: Policy
    tick: int | None = None
    """Sequence number of the last tick before the policy was computed; None if the policy was
    computed before the first tick."""
    event_time: int | None = None
    kind: ClassVar[Kind] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy, Policy):
            raise TypeError(f"policy must be a Policy, got {self.policy!r}.")


@dataclass(frozen=True)
class Control(_Checked):
    """New event: decision of an operator about the version to serve, or about archiving."""

    problem: int
    action: Action
    version: int | None = None
    """Version to serve; required for the action "roll_back", and None for all others."""
    by: str | None = None
    """Name of the operator; None if it is not recorded."""
    event_time: int | None = None
    kind: ClassVar[Kind] = "control"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action not in ACTIONS:
            raise ValueError(f"action must be one of {', '.join(ACTIONS)}, got {self.action!r}.")
        if (self.action == "roll_back") is (self.version is None):
            raise ValueError(
                f"version must be given for roll_back and for no other action, got {self.version}."
            )


NewEvent: TypeAlias = (
    Defined
    | Opened
    | Feedback
    | Corrected
    | Lost
    | Withdrawn
    | Tick
    | Published
    | Control
    | StoredResponse
)
"""Object that `Ledger.append` records: a new event, or a response to be stored with new events."""
