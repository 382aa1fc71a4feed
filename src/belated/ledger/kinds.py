"""Kinds of events: the fields of each kind, how it is recorded, and what follows in the tables.

To add a kind of event, add its name to `belated.ledger.events.Kind`, its class to this module, and
a row to the table `belated.online.fold.APPLY`, which says what a learner does with it.
"""

import secrets
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, get_args

import sqlalchemy as sa

from belated.episode import Policy
from belated.ledger import schema
from belated.ledger.content import is_complete
from belated.ledger.events import (
    AlreadyRecorded,
    Conflict,
    DataWithdrawn,
    EpisodeRecord,
    Event,
    Invalid,
    Kind,
    NewEvent,
    NotFound,
    Outcome,
    Recorded,
)
from belated.ledger.feedback import (
    compare_correction,
    compare_feedback,
    read_feedback,
    record_feedback,
)
from belated.ledger.policies import EncodedPolicy, check_policy, encode_policy
from belated.ledger.problems import Problem, ProblemSpec
from belated.ledger.schema import SALT_BYTES, canonical
from belated.ledger.transaction import Transaction
from belated.ledger.withdrawal import follow_withdrawal, record_withdrawal

Action = Literal[
    "freeze", "unfreeze", "roll_back", "shadow_on", "shadow_off", "archive", "unarchive"
]
ACTIONS: Final = get_args(Action)


@dataclass(frozen=True)
class Defined(NewEvent):
    """New event: definition of a problem."""

    spec: ProblemSpec
    kind: ClassVar[Kind] = "defined"

    def __post_init__(self) -> None:
        if not isinstance(self.spec, ProblemSpec):
            raise TypeError(f"spec must be a ProblemSpec, got {self.spec!r}.")
        super().__post_init__()

    def record(self, transaction: Transaction) -> Outcome:
        """Record the definition, unless a problem with the same name exists.

        If one exists, the outcome is AlreadyRecorded if the specifications are equal, else
        Conflict.
        """
        spec = self.spec
        known = transaction.find_problem(spec.name)
        if known is None:
            recorded = transaction.add_event(self, spec.body)
            transaction.add_problem(Problem(recorded.seq, spec))
            return recorded
        if known.spec == spec:
            return AlreadyRecorded(known.id)
        old, new = known.spec.body, spec.body
        differing = [
            name for name in {**old, **new} if canonical(old.get(name)) != canonical(new.get(name))
        ]
        return Conflict(
            f"Problem {spec.name!r} is already defined with different {', '.join(differing)}; a "
            "definition cannot be changed, so choose another name.",
            known.id,
        )

    @staticmethod
    def follow(transaction: Transaction, event: Event) -> None:
        """Add the problem."""
        transaction.add_row(schema.problems, id=event.seq, name=event.body["name"], archived=None)


@dataclass(frozen=True)
class Opened(NewEvent):
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

    def record(self, transaction: Transaction) -> Outcome:
        """Record the opening.

        The outcome is NotFound if the problem does not exist, Conflict if it is archived, and
        Invalid if the version has not been published.

        If an episode with the same id exists, nothing is recorded. In this case the outcome is
        DataWithdrawn if the existing episode has been withdrawn, Conflict if it has another problem
        or subject, and otherwise AlreadyRecorded with the existing episode.
        """
        problem = transaction.problem(self.problem)
        if problem is None:
            return _problem_not_found(self.problem)
        known = None if self.id is None else transaction.episode(self.id)
        if known is not None:  # an episode keeps its version, so that of this event is ignored
            if known.withdrawn is not None:
                return DataWithdrawn(f"Episode {known.id} has been withdrawn.", known.withdrawn)
            if (known.problem, known.subject) == (self.problem, self.subject):
                return AlreadyRecorded(known.seq, known)
            return Conflict(
                f"Episode {known.id} is already open with a different problem or subject; draw "
                "another id.",
                known.seq,
            )
        archived = transaction.archived(self.problem)
        if archived is not None:
            return Conflict(
                f"Problem {problem.name!r} is archived; unarchive it to open episodes.", archived
            )
        newest = transaction.max_value(schema.policies.c.version, self.problem)
        if self.version > newest:
            return Invalid(
                f"version must be at most {newest}, the newest of the problem, got {self.version}.",
                "version",
            )
        id = self.id or secrets.token_urlsafe(SALT_BYTES)
        number = transaction.max_value(schema.episodes.c.number, self.problem) + 1
        body = {"number": number, "version": self.version}
        opened = transaction.add_event(self, body, problem=self.problem, episode=id)
        if self.subject is not None:  # it is not part of the event, so that it can be deleted
            transaction.add_subject(id, self.subject)
        return Recorded(opened.seq, transaction.episode(id))

    @staticmethod
    def follow(transaction: Transaction, event: Event) -> None:
        """Add the episode."""
        body = event.body
        assert event.episode is not None
        transaction.add_episode(
            EpisodeRecord(event.episode, event.problem, body["number"], body["version"], event.seq)
        )


@dataclass(frozen=True)
class Feedback(NewEvent):
    """New event: feedback of a whole episode, or of a part of an episode."""

    episode: str
    content: Any
    """Content of the feedback, in the format that `belated.ledger.content` describes. An
    instance of `UnusableContent` is rejected with the reason that it contains."""
    event_time: int | None = None
    problem: int | None = None
    """Id of the problem to which the episode must belong; None if it may belong to any problem."""
    kind: ClassVar[Kind] = "feedback"
    is_personal: ClassVar[bool] = True

    def record(self, transaction: Transaction) -> Outcome:
        """Record the parts of the feedback that have not been recorded yet."""
        return record_feedback(transaction, self, compare_feedback)

    @staticmethod
    def follow(transaction: Transaction, event: Event) -> None:
        """Add the event to the feedback of its episode, which is no longer lost."""
        episode = transaction.get_episode(event)
        transaction.set_feedback(episode, (*episode.feedback, event.seq), episode.replaced)


@dataclass(frozen=True)
class Corrected(Feedback):
    """New event: correction of an episode.

    Its content is a whole episode, which replaces all earlier feedback of this episode.
    """

    kind: ClassVar[Kind] = "corrected"

    def record(self, transaction: Transaction) -> Outcome:
        """Record the correction, unless it equals the feedback that is currently valid."""
        return record_feedback(transaction, self, compare_correction)

    @staticmethod
    def follow(transaction: Transaction, event: Event) -> None:
        """Replace the feedback of the episode, which is no longer lost."""
        episode = transaction.get_episode(event)
        transaction.set_feedback(episode, (event.seq,), (*episode.replaced, *episode.feedback))


@dataclass(frozen=True)
class Lost(NewEvent):
    """New event: declaration that the feedback of an episode is no longer expected.

    The episode no longer counts as missing. Nothing is learnt from it, in particular no reward of
    zero. Feedback that arrives later is used as usual, and revokes the declaration.
    """

    episode: str
    reason: str
    """Explanation for people; it is deleted when the episode is withdrawn."""
    event_time: int | None = None
    kind: ClassVar[Kind] = "lost"
    is_personal: ClassVar[bool] = True

    def record(self, transaction: Transaction) -> Outcome:
        """Record that the episode is lost.

        The outcome is Conflict if the feedback of the episode is complete, or if the episode was
        declared lost for another reason. It is AlreadyRecorded if the episode was declared lost for
        the same reason.
        """
        episode = transaction.find_episode(self.episode)
        if not isinstance(episode, EpisodeRecord):
            return episode
        if episode.lost is not None:
            [lost] = transaction.read_events([episode.lost])
            if lost.body["reason"] == self.reason:
                return AlreadyRecorded(lost.seq)
            return Conflict(
                f"Episode {episode.id} is already declared lost for a different reason.", lost.seq
            )
        spec = transaction.spec(episode)
        recorded = read_feedback(transaction, episode.feedback, spec)
        if is_complete([columns for _, columns in recorded], spec):
            last = episode.feedback[-1]
            return Conflict(f"The feedback of episode {episode.id} is complete.", last)
        body = {"reason": self.reason}
        return transaction.add_event(self, body, problem=episode.problem, episode=episode.id)

    @staticmethod
    def follow(transaction: Transaction, event: Event) -> None:
        """Mark the episode as lost."""
        transaction.set_lost(transaction.get_episode(event), event.seq)


@dataclass(frozen=True)
class Withdrawn(NewEvent):
    """New event: withdrawal of one episode, or of all episodes of a subject in a problem.

    Either `episode` alone must be given, or both `problem` and `subject`.
    """

    episode: str | None = None
    problem: int | None = None
    subject: str | None = None
    kind: ClassVar[Kind] = "withdrawn"
    follow = staticmethod(follow_withdrawal)

    def __post_init__(self) -> None:
        given = tuple(x is not None for x in (self.episode, self.problem, self.subject))
        if given not in ((True, False, False), (False, True, True)):
            raise ValueError(
                "Withdrawn takes either an episode, or a problem and a subject; "
                f"got episode={self.episode!r}, problem={self.problem!r} and "
                f"{'a' if self.subject is not None else 'no'} subject."
            )
        super().__post_init__()

    def record(self, transaction: Transaction) -> Outcome:
        """Record the withdrawal, and redact the data of its episodes."""
        return record_withdrawal(transaction, self)


@dataclass(frozen=True)
class Tick(NewEvent):
    """New event: end of a batch.

    The learner absorbs at once all feedback recorded between the end of the previous batch and the
    end of this batch.
    """

    problem: int
    upto: int | None = None
    """Sequence number of the last event of the batch; None for the last event in the ledger."""
    kind: ClassVar[Kind] = "tick"

    def record(self, transaction: Transaction) -> Outcome:
        """Record the tick.

        The outcome is AlreadyRecorded if the previous batch ends at the same seq. It is Invalid if
        the new batch would end before the previous batch, or after the last event of the ledger.
        """
        if transaction.problem(self.problem) is None:
            return _problem_not_found(self.problem)
        newest = transaction.seq
        upto = newest if self.upto is None else self.upto
        if upto > newest:
            return Invalid(f"upto must be at most {newest}, the last seq, got {upto}.", "upto")
        last, done = transaction.last_tick(self.problem)
        if last and upto == done:
            return AlreadyRecorded(last)
        if upto < done:
            return Invalid(
                f"upto must be at least {done}, the end of the last batch, got {upto}.", "upto"
            )
        return transaction.add_event(self, {"upto": upto}, problem=self.problem)

    @staticmethod
    def follow(transaction: Transaction, event: Event) -> None:
        """Store the end of the batch."""
        transaction.last_ticks[event.problem] = event.seq, event.body["upto"]


@dataclass(frozen=True, eq=False)
class Published(NewEvent):
    """New event: publication of a new version of a problem's policy."""

    problem: int
    version: int
    """Version number: 1, 2, ... within the problem."""
    policy: Policy
    tick: int | None = None
    """Sequence number of the last tick before the policy was computed; None if the policy was
    computed before the first tick."""
    kind: ClassVar[Kind] = "published"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy, Policy):
            raise TypeError(f"policy must be a Policy, got {self.policy!r}.")

    def record(self, transaction: Transaction) -> Outcome:
        """Record the publication.

        The outcome is Invalid if the policy does not fit the problem, if a new version does not
        have the next version number, or if its tick is given and is not the last tick of the
        problem. If the version is published already, the outcome is AlreadyRecorded if the policies
        are equal, else Conflict.
        """
        problem = transaction.problem(self.problem)
        if problem is None:
            return _problem_not_found(self.problem)
        try:
            check_policy(self.policy, problem.spec)
        except ValueError as error:
            return Invalid(str(error), "policy")
        encoded = encode_policy(self.policy)
        next = transaction.max_value(schema.policies.c.version, self.problem) + 1
        if self.version < next:
            return self._compare(transaction, encoded.sha)
        if self.version > next:
            return Invalid(f"version must be {next}, the next one, got {self.version}.", "version")
        tick, newest = self.tick, transaction.last_tick(self.problem)[0]
        if tick not in (None, newest):  # the slower of two hosts must not publish last
            return Invalid(f"tick must be {newest or None}, the last one, got {tick}.", "tick")
        transaction.policy = encoded
        body = {"version": self.version, "sha": encoded.sha, "tick": tick}
        return transaction.add_event(self, body, problem=self.problem)

    def _compare(self, transaction: Transaction, sha: str) -> Outcome:
        """Return the outcome if the version exists; `sha` is the digest of the new policy."""
        columns = schema.policies.c
        query = sa.select(columns.seq, columns.sha)
        known = transaction.execute(
            query.where(columns.problem == self.problem, columns.version == self.version)
        ).one()
        if known.sha == sha:
            return AlreadyRecorded(known.seq)
        return Conflict(
            f"Version {self.version} is already published with different content.", known.seq
        )

    @staticmethod
    def follow(transaction: Transaction, event: Event) -> None:
        """Add the version, with its policy if it is at hand."""
        body = event.body
        policy = transaction.policy or EncodedPolicy(b"", None, 0.0, body["sha"])
        times = {"seq": event.seq, "tick": body["tick"]}
        transaction.add_version(event.problem, body["version"], **times, **policy._asdict())
        transaction.policy = None


@dataclass(frozen=True)
class Control(NewEvent):
    """New event: decision of an operator about the version to serve, or about archiving."""

    problem: int
    action: Action
    version: int | None = None
    """Version to serve; required for the action "roll_back", and None for all others."""
    by: str | None = None
    """Name of the operator; None if it is not recorded."""
    kind: ClassVar[Kind] = "control"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action not in ACTIONS:
            raise ValueError(f"action must be one of {', '.join(ACTIONS)}, got {self.action!r}.")
        if (self.action == "roll_back") is (self.version is None):
            raise ValueError(
                f"version must be given for roll_back and for no other action, got {self.version}."
            )

    def record(self, transaction: Transaction) -> Outcome:
        """Record the decision.

        The outcome is Invalid if the decision refers to a version that has not been published. It
        is AlreadyRecorded if the decision is to archive a problem that is archived, or to unarchive
        a problem that is not archived.
        """
        problem = transaction.problem(self.problem)
        if problem is None:
            return _problem_not_found(self.problem)
        last = transaction.max_value(schema.policies.c.version, self.problem)
        if self.version is not None and self.version > last:
            return Invalid(
                f"version must be at most {last}, the newest of problem {problem.name!r}, "
                f"got {self.version}.",
                "version",
            )
        if self.action in ("archive", "unarchive"):
            archived = transaction.archived(self.problem)
            if (archived is not None) is (self.action == "archive"):
                return AlreadyRecorded(problem.id if archived is None else archived)
        body = {"action": self.action, "version": self.version, "by": self.by}
        return transaction.add_event(self, body, problem=self.problem)

    @staticmethod
    def follow(transaction: Transaction, event: Event) -> None:
        """Archive the problem, or unarchive it."""
        action = event.body["action"]
        if action in ("archive", "unarchive"):
            transaction.set_archived(event.problem, event.seq if action == "archive" else None)


KINDS: Final[dict[Kind, type[NewEvent]]] = {
    kind.kind: kind
    for kind in (
        *(Defined, Opened, Feedback, Corrected, Lost, Withdrawn),
        *(Tick, Published, Control),
    )
}
"""Map from the name of each kind of event to its class."""


def _problem_not_found(problem: int) -> NotFound:
    return NotFound(f"There is no problem {problem}.")
