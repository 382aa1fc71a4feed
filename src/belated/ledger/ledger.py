"""Class `Ledger`, the append-only record of events in a database."""

from collections.abc import Collection, Iterable, Iterator, Sized
from itertools import islice
from typing import Final, Self, get_args

import sqlalchemy as sa

from belated.check import check_seq, check_text, is_id, is_name
from belated.episode import Policy
from belated.ledger import audit, migrations, schema
from belated.ledger.clients import IdempotencyKeys, Quarantine, Tokens, rewrite_quarantine
from belated.ledger.events import EpisodeRecord, Event, Kind, NewEvent, Outcome, read_episodes
from belated.ledger.kinds import Action, Control, Defined, Opened, Published, Tick, Withdrawn
from belated.ledger.policies import Policies, Snapshots
from belated.ledger.problems import Problem, ProblemSpec
from belated.ledger.store import Clock, Store, now, read_pages
from belated.ledger.transaction import ProblemCache, Transaction

_LAST_SEQ: Final = sa.select(sa.func.max(schema.events.c.seq))


class Ledger:
    """Append-only record of events in a database.

    Events have the sequence numbers 1, 2, ... without gaps, in order of commit. A reader that has
    read an event can therefore rely on having seen all events with smaller numbers. Several threads
    may share a ledger.

    Attributes
    ----------
    store : Store
        Database of the ledger.
    policies : Policies
        Published policies.
    snapshots : Snapshots
        Stored learner states, from which a learner is restored without reading all events.
    quarantine : Quarantine
        Rejected requests.
    tokens : Tokens
        Tokens of clients.
    idempotency_keys : IdempotencyKeys
        Stored responses to requests that may be repeated.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._problems = ProblemCache()
        self.policies = Policies(store, self._problems)
        self.snapshots = Snapshots(store)
        self.quarantine = Quarantine(store)
        self.tokens = Tokens(store)
        self.idempotency_keys = IdempotencyKeys(store)

    @classmethod
    def open(cls, url: str, *, clock: Clock = now) -> Self:
        """Open the ledger in a database; its tables are created or migrated if necessary.

        Parameters
        ----------
        url : str
            URL of the database: sqlite:///path/to/file, sqlite:// for a ledger in memory, or
            postgresql://...
        clock : callable
            Function that returns the current time in microseconds since 1970 (UTC).

        Returns
        -------
        Ledger
            The open ledger.
        """
        store = Store.open(url, clock)
        try:
            with store.reading() as connection:
                version = migrations.current(connection)
            if version != migrations.newest():
                with store.writing(limited=False) as connection:
                    migrations.upgrade(connection)
                if version is not None:  # a migration may have deleted personal data
                    store.scrub(wait=True)
        except BaseException:
            store.close()
            raise
        return cls(store)

    def close(self) -> None:
        """Close all connections to the database."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def append(self, events: Iterable[NewEvent]) -> list[Outcome]:
        """Record `events` in one transaction, in the given order.

        Returns one outcome for each event, in the same order. A rejected event does not affect the
        other events; rejected feedback is put in the quarantine. When the method returns, all
        recorded events are on disk. If the method raises an exception, no event has been recorded.

        If `events` is an iterator, it is iterated only after this method has acquired the lock that
        serializes writers; it may therefore also yield events that arrive while the method waits.
        """
        if isinstance(events, Sized) and not events:
            return []
        with self.store.writing() as connection:
            given = list(events)
            if not given:
                return []
            for event in given:
                if not isinstance(event, NewEvent):
                    raise TypeError(
                        f"An event must be one of belated.ledger's kinds, got {event!r}."
                    )
            last = connection.scalar(_LAST_SEQ) or 0
            transaction = Transaction(connection, self._problems, last=last, at=self.store.now())
            transaction.load_episodes(given)
            outcomes = [event.record(transaction) for event in given]
            if transaction.redacted:
                rewrite_quarantine(connection)
            transaction.commit()
        self.store.scrub(wait=transaction.redacted)
        return outcomes

    def define(self, spec: ProblemSpec) -> Outcome:
        """Record the definition of a problem with the specification `spec`; return the outcome."""
        return self.append([Defined(spec)])[0]

    def open_episodes(
        self, problem: int, count: int = 1, *, version: int, subject: str | None = None
    ) -> list[Outcome]:
        """Record the opening of episodes.

        Parameters
        ----------
        problem : int
            Id of the problem.
        count : int
            Number of episodes.
        version : int
            Version of the policy that the episodes follow.
        subject : str, optional
            Pseudonym of the person to whom the episodes belong.

        Returns
        -------
        list of Outcome
            One outcome for each episode.
        """
        return self.append([Opened(problem, version, subject)] * check_seq("count", count))

    def tick(self, problem: int, upto: int | None = None) -> Outcome:
        """Record a tick, the end of a batch of feedback for the problem with id `problem`.

        `upto` is the sequence number of the last event of the batch, by default that of the last
        event of the ledger. Returns the outcome of recording the tick.
        """
        return self.append([Tick(problem, upto)])[0]

    def publish(
        self, problem: int, policy: Policy, *, version: int, tick: int | None = None
    ) -> Outcome:
        """Record a new version of a policy.

        Parameters
        ----------
        problem : int
            Id of the problem.
        policy : Policy
            The policy.
        version : int
            Number of the new version, one more than the number of the last version.
        tick : int, optional
            Sequence number of the last tick before the policy was computed; None if the policy was
            computed before the first tick.

        Returns
        -------
        Outcome
            Outcome of recording the version.
        """
        return self.append([Published(problem, version, policy, tick)])[0]

    def control(
        self, problem: int, action: Action, *, version: int | None = None, by: str | None = None
    ) -> Outcome:
        """Record a decision of an operator about the version to serve, or about archiving.

        Parameters
        ----------
        problem : int
            Id of the problem.
        action : str
            "freeze", "unfreeze", "roll_back", "shadow_on", "shadow_off", "archive" or
            "unarchive". Episodes cannot be opened while a problem is archived.
        version : int, optional
            Version to serve; required for "roll_back", and not allowed otherwise.
        by : str, optional
            Name of the operator.

        Returns
        -------
        Outcome
            Outcome of recording the decision.
        """
        return self.append([Control(problem, action, version, by)])[0]

    def withdraw(self, *, episode: str | None = None, subject: str | None = None) -> list[Outcome]:
        """Withdraw the data of an episode, or the data of a subject in all problems.

        `episode` is the id of the episode, and `subject` the pseudonym of a person. Exactly one of
        the two arguments must be given. With `episode`, the returned list has one outcome. With
        `subject`, it has one outcome for each problem in which the subject has episodes.
        """
        if subject is None or episode is not None:
            return self.append([Withdrawn(episode, None, subject)])
        check_text("subject", subject)
        events, subjects = schema.events.c, schema.subjects.c
        opened = sa.select(subjects.episode).where(subjects.subject == subject)
        # sorted here, since SQLite would read all events in the order of their problem
        query = sa.select(events.problem).where(events.seq.in_(opened))
        problems = sorted({id for (id,) in self.store.read(query)})
        return self.append([Withdrawn(problem=id, subject=subject) for id in problems])

    @property
    def last(self) -> int:
        """Sequence number of the last event; 0 if the ledger is empty."""
        return self.store.read(_LAST_SEQ)[0][0] or 0

    def problem_ids(self) -> list[int]:
        """Return the ids of all problems, beginning with the problem that has the latest event."""
        problems, events = schema.problems.c, schema.events.c
        last = sa.select(sa.func.max(events.seq)).where(events.problem == problems.id)
        query = sa.select(problems.id).order_by(last.scalar_subquery().desc())
        return [id for (id,) in self.store.read(query)]

    def changed_problems(self, *, after: int, upto: int) -> list[int]:
        """Return the ids of all problems that have events with `after` < seq <= `upto`.

        Here seq is the sequence number of an event.
        """
        columns = schema.events.c
        query = sa.select(columns.problem).where(columns.seq > after, columns.seq <= upto)
        return [id for (id,) in self.store.read(query.distinct())]

    def events(
        self,
        problem: int | None = None,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        kinds: Collection[Kind] | None = None,
    ) -> Iterator[Event]:
        """Return an iterator over events in order of their sequence number, seq.

        The events are read page by page during the iteration.

        Parameters
        ----------
        problem : int, optional
            Id of the problem; None for the events of all problems.
        after, upto : int
            Read only events with `after` < seq <= `upto`. If `upto` is None, there is no upper
            limit.
        limit : int, optional
            Maximum number of events; None for no maximum.
        kinds : collection of str, optional
            Kinds of events to read; None for all kinds.

        Returns
        -------
        iterator of Event
            The events. An event recorded during the iteration is included if it is recorded before
            the last page is read.
        """
        columns = schema.events.c
        query = sa.select(schema.events)
        order: sa.ColumnElement[int] = columns.seq
        if problem is not None:
            query = query.where(columns.problem == check_seq("problem", problem))
        if upto is not None:
            query = query.where(columns.seq <= check_seq("upto", upto, 0))
        if kinds is not None:
            query = query.where(columns.kind.in_(_check_kinds(kinds)))
            if not {"opened", "feedback"} & set(kinds):
                query = query.where(sa.text(schema.RARE))
                order = columns.seq + 0  # keeps SQLite from scanning by seq instead of the index
        after = check_seq("after", after, 0)
        limit = None if limit is None else check_seq("limit", limit, 0)
        rows = read_pages(self.store, query, columns.seq, order=order, after=after, limit=limit)
        return map(Event._make, rows)

    def problem(self, which: str | int) -> Problem | None:
        """Return the problem whose name or id is `which`; None if there is no such problem.

        Raises ValueError if the stored definition of the problem is damaged.
        """
        with self.store.reading() as connection:
            if isinstance(which, int):
                return self._problems.get(connection, which)
            return self._problems.find(connection, which) if is_name(which) else None

    def problems(self) -> list[Problem]:
        """Return all problems, oldest first, except those with a damaged definition."""
        with self.store.reading() as connection:
            return self._problems.all(connection)

    @property
    def damaged_problems(self) -> dict[int, str]:
        """Map from the id of each problem whose definition was found damaged to an error message.

        A definition is checked when it is read for the first time.
        """
        return dict(self._problems.damaged)

    def archived(self) -> set[int]:
        """Return the ids of the archived problems."""
        columns = schema.problems.c
        query = sa.select(columns.id).where(columns.archived.is_not(None))
        return {id for (id,) in self.store.read(query)}

    def episode(self, id: str) -> EpisodeRecord | None:
        """Return the record of the episode `id`; None if there is no such episode."""
        return self.episodes([id]).get(id)

    def episodes(self, ids: Iterable[str]) -> dict[str, EpisodeRecord]:
        """Return a dict that maps each of `ids` to the record of the episode with this id.

        Ids for which there is no episode are omitted.
        """
        wanted = sorted({id for id in ids if is_id(id)})
        if not wanted:
            return {}
        with self.store.reading() as connection:
            return read_episodes(connection, wanted)

    def digest(self, problem: int | None = None, *, upto: int | None = None) -> str:
        """Return one SHA-256 digest of many events.

        If `problem` is given, only events of the problem with this id are included. If `upto` is
        given, only events with a sequence number up to `upto` are included. Redacting an event does
        not change the digest.
        """
        return audit.digest_events(self.events(problem, upto=upto))

    def faults(self) -> list[str]:
        """Return a message for each event that is missing or changed, and if a table is faulty.

        The derived tables are compared with the events; see `audit.check_tables`. In SQLite,
        indexes that do not match their tables are reported too. The list is empty if no fault is
        found.
        """
        return [
            *audit.check_database(self.store),
            *islice(audit.check_events(self.events()), audit.MAX_FAULTS),
            *audit.check_tables(self.store),
        ]


def _check_kinds(kinds: Collection[Kind]) -> list[Kind]:
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if isinstance(kinds, str) or kind not in get_args(Kind):
            raise ValueError(f"kinds must be a list of {', '.join(get_args(Kind))}, got {kind!r}.")
    return list(kinds)
