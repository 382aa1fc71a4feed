"""What can happen: the kinds of events, as they are handed to a ledger and as they are read.

Times are microseconds since 1970, UTC. `event_time` is when it happened, if the caller knows; when
it was recorded, the ledger adds.
"""

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

from belated.episode import Policy
from belated.ledger.problems import Spec
from belated.ledger.validation import check_episode_id, check_seq, check_text, check_time

Kind = Literal[
    "defined", "opened", "feedback", "corrected", "withdrawn", "tick", "published", "control"
]
Action = Literal["freeze", "unfreeze", "roll_back", "shadow_on", "shadow_off"]
ACTIONS: Final = ("freeze", "unfreeze", "roll_back", "shadow_on", "shadow_off")


class Event(NamedTuple):
    """One event, as it stands in the ledger."""

    seq: int
    problem: int
    episode: str | None
    kind: Kind
    at: int
    event_time: int | None
    text: str | None
    """The body in canonical JSON; None once it is redacted."""
    salt: bytes | None
    sha: str
    """The digest of salt and text; it outlives them."""
    redacted: bool

    @property
    def body(self) -> Any:
        """The body, parsed anew each time; None once it is redacted."""
        return None if self.text is None else json.loads(self.text)


@dataclass(frozen=True)
class Defined:
    """A problem."""

    spec: Spec
    event_time: int | None = None
    kind: ClassVar[Kind] = "defined"

    def __post_init__(self) -> None:
        if not isinstance(self.spec, Spec):
            raise TypeError(f"spec is {self.spec!r}; it must be a Spec.")
        check_time("event_time", self.event_time)


@dataclass(frozen=True)
class Opened:
    """An episode of `problem`, to be played with a version of its policy.

    The ledger draws an id; a caller that may have to try again gives one, from
    secrets.token_urlsafe(16). By `subject` its data can be withdrawn.
    """

    problem: int
    version: int
    subject: str | None = None
    id: str | None = None
    event_time: int | None = None
    kind: ClassVar[Kind] = "opened"

    def __post_init__(self) -> None:
        check_seq("problem", self.problem)
        check_seq("version", self.version)
        if self.subject is not None:
            check_text("subject", self.subject)
        if self.id is not None:
            check_episode_id("id", self.id)
        check_time("event_time", self.event_time)


@dataclass(frozen=True)
class Feedback:
    """What came back of an episode; `belated.ledger.recording.content` tells what `content` may be.

    With `problem`, an episode of another one is unknown.
    """

    episode: str
    content: Any
    event_time: int | None = None
    problem: int | None = None
    kind: ClassVar[Kind] = "feedback"

    def __post_init__(self) -> None:
        if not isinstance(self.episode, str):
            raise TypeError(f"episode must be a text, not {self.episode!r}.")
        check_time("event_time", self.event_time)


@dataclass(frozen=True)
class Corrected(Feedback):
    """A whole episode, instead of all that came back of it before."""

    kind: ClassVar[Kind] = "corrected"


@dataclass(frozen=True)
class Withdrawn:
    """The data of one episode, or of all that a subject played in a problem."""

    episode: str | None = None
    problem: int | None = None
    subject: str | None = None
    event_time: int | None = None
    kind: ClassVar[Kind] = "withdrawn"

    def __post_init__(self) -> None:
        given = tuple(x is not None for x in (self.episode, self.problem, self.subject))
        if given not in ((True, False, False), (False, True, True)):
            raise ValueError("Withdrawn takes an episode, or a problem and a subject.")
        if self.problem is not None:
            check_seq("problem", self.problem)
        if self.subject is not None:
            check_text("subject", self.subject)
        if not isinstance(self.episode, str | None):
            raise TypeError(f"episode must be a text, not {self.episode!r}.")
        check_time("event_time", self.event_time)


@dataclass(frozen=True)
class Tick:
    """The end of a batch: the learner takes what came up to and including seq `upto` at once.

    Without `upto`, whatever the ledger holds when the tick is recorded.
    """

    problem: int
    upto: int | None = None
    event_time: int | None = None
    kind: ClassVar[Kind] = "tick"

    def __post_init__(self) -> None:
        check_seq("problem", self.problem)
        if self.upto is not None:
            check_seq("upto", self.upto)
        check_time("event_time", self.event_time)


@dataclass(frozen=True, eq=False)
class Published:
    """A version of the policy, 1, 2, ...; `tick` is the seq of the tick that it came from."""

    problem: int
    version: int
    policy: Policy
    tick: int | None = None
    event_time: int | None = None
    kind: ClassVar[Kind] = "published"

    def __post_init__(self) -> None:
        check_seq("problem", self.problem)
        check_seq("version", self.version)
        if not isinstance(self.policy, Policy):
            raise TypeError(f"policy is {self.policy!r}; it must be a Policy.")
        if self.tick is not None:
            check_seq("tick", self.tick)
        check_time("event_time", self.event_time)


@dataclass(frozen=True)
class Control:
    """What a person decided: freeze, unfreeze, roll back to a version, shadow on or off."""

    problem: int
    action: Action
    version: int | None = None
    by: str | None = None
    event_time: int | None = None
    kind: ClassVar[Kind] = "control"

    def __post_init__(self) -> None:
        check_seq("problem", self.problem)
        if self.action not in ACTIONS:
            raise ValueError(f"action is {self.action!r}; allowed are {', '.join(ACTIONS)}.")
        if (self.action == "roll_back") is (self.version is None):
            raise ValueError(
                f"version is {self.version}; roll_back needs one, and the others take none."
            )
        if self.version is not None:
            check_seq("version", self.version)
        if self.by is not None:
            check_text("by", self.by)
        check_time("event_time", self.event_time)


Happening: TypeAlias = (
    Defined | Opened | Feedback | Corrected | Withdrawn | Tick | Published | Control
)
