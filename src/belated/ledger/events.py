"""Events: their types as they are passed to a ledger, and the stored form in which they are read.

Times are microseconds since 1970 (UTC). `event_time` is the time at which something happened, if
the caller knows it; the ledger adds the time of recording.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, get_args

from belated.episode import Policy
from belated.ledger.problems import ProblemSpec
from belated.ledger.validation import check_episode_id, check_seq, check_text, check_time

Kind = Literal[
    "defined", "opened", "feedback", "corrected", "withdrawn", "tick", "published", "control"
]
Action = Literal["freeze", "unfreeze", "roll_back", "shadow_on", "shadow_off"]
ACTIONS: Final = get_args(Action)


class Event(NamedTuple):
    """Event as stored in the ledger."""

    seq: int
    """Sequence number, from 1."""
    problem: int
    """Id of the problem."""
    episode: str | None
    """Id of the episode, if the event belongs to one."""
    kind: Kind
    at: int
    """Time of recording."""
    event_time: int | None
    text: str | None
    """Body as canonical JSON; None if the event is redacted."""
    salt: bytes | None
    """Random bytes before the text in its digest, for events that can be redacted."""
    sha: str
    """Digest of salt and text; kept when the event is redacted."""
    redacted: bool

    @property
    def body(self) -> Any:
        """The parsed body (parsed at each access); None if the event is redacted."""
        return None if self.text is None else json.loads(self.text)


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
    "id": check_episode_id,
    "episode": _check_episode,
    "event_time": check_time,
}
"""Check of a field by its name."""


class _Checked:
    """Base class of new events, which checks their fields."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name in CHECKS and (value is not None or not hasattr(type(self), name)):
                CHECKS[name](name, value)


@dataclass(frozen=True)
class Defined(_Checked):
    """Definition of a problem."""

    spec: ProblemSpec
    event_time: int | None = None
    kind: ClassVar[Kind] = "defined"

    def __post_init__(self) -> None:
        if not isinstance(self.spec, ProblemSpec):
            raise TypeError(f"spec must be a ProblemSpec, got {self.spec!r}.")
        super().__post_init__()


@dataclass(frozen=True)
class Opened(_Checked):
    """Opening of an episode with a version of the problem's policy."""

    problem: int
    version: int
    subject: str | None = None
    """Pseudonym by which the data can be withdrawn."""
    id: str | None = None
    """Id of the episode, such as secrets.token_urlsafe(16), so that the caller can safely retry;
    None to let the ledger draw one."""
    event_time: int | None = None
    kind: ClassVar[Kind] = "opened"


@dataclass(frozen=True)
class Feedback:
    """Feedback of an episode, or of a part of it."""

    episode: str
    content: Any
    """See `belated.ledger.recording.content` for the format."""
    event_time: int | None = None
    problem: int | None = None
    """Problem to which the episode must belong; None for any."""
    kind: ClassVar[Kind] = "feedback"

    def __post_init__(self) -> None:  # explicit, since most events are feedback
        _check_episode("episode", self.episode)
        check_time("event_time", self.event_time)


@dataclass(frozen=True)
class Corrected(Feedback):
    """Correction: a whole episode that replaces all earlier feedback of the episode."""

    kind: ClassVar[Kind] = "corrected"


@dataclass(frozen=True)
class Withdrawn(_Checked):
    """Withdrawal of the data of one episode, or of all episodes of a subject in a problem."""

    episode: str | None = None
    problem: int | None = None
    subject: str | None = None
    event_time: int | None = None
    kind: ClassVar[Kind] = "withdrawn"

    def __post_init__(self) -> None:
        given = tuple(x is not None for x in (self.episode, self.problem, self.subject))
        if given not in ((True, False, False), (False, True, True)):
            raise ValueError("Withdrawn takes an episode, or a problem and a subject.")
        super().__post_init__()


@dataclass(frozen=True)
class Tick(_Checked):
    """End of a batch: the learner takes all earlier feedback at once."""

    problem: int
    upto: int | None = None
    """Seq of the last event of the batch; None for the last event of the ledger."""
    event_time: int | None = None
    kind: ClassVar[Kind] = "tick"


@dataclass(frozen=True, eq=False)
class Published(_Checked):
    """Publication of a version of the policy."""

    problem: int
    version: int
    """1, 2, ... within the problem."""
    policy: Policy
    tick: int | None = None
    """Seq of the tick after which the policy was computed; None before the first tick."""
    event_time: int | None = None
    kind: ClassVar[Kind] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy, Policy):
            raise TypeError(f"policy must be a Policy, got {self.policy!r}.")


@dataclass(frozen=True)
class Control(_Checked):
    """Decision of an operator about the served version."""

    problem: int
    action: Action
    version: int | None = None
    """Version to serve; for "roll_back" only."""
    by: str | None = None
    """Name of the operator."""
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
    Defined | Opened | Feedback | Corrected | Withdrawn | Tick | Published | Control
)
"""Event to be recorded."""
