"""The ledger: everything that ever happened, in the order in which it was recorded."""

from collections.abc import Collection, Iterable, Iterator
from types import TracebackType
from typing import Self, get_args

import sqlalchemy as sa

from belated.episode import Policy
from belated.ledger import audit, migrations, schema
from belated.ledger.episodes import EpisodeRecord
from belated.ledger.events import (
    Action,
    Control,
    Defined,
    Event,
    Happening,
    Kind,
    Opened,
    Published,
    Tick,
    Withdrawn,
)
from belated.ledger.outcomes import Outcome
from belated.ledger.policies import Policies
from belated.ledger.problems import Problem, Problems, Spec
from belated.ledger.quarantine import Quarantine
from belated.ledger.recording import RECORDERS
from belated.ledger.recording.transaction import Batch, pieces
from belated.ledger.snapshots import Snapshots
from belated.ledger.store import Clock, Store, now, paged
from belated.ledger.tokens import Tokens
from belated.ledger.validation import check_seq, check_text, is_id, is_name


class Ledger:
    """An append-only record of events in a database; several threads may share one.

    Events are numbered 1, 2, ... without gaps, in the order in which they are committed: who has
    read up to some number has missed nothing before it. What `append` reports as recorded is on
    disk.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._problems = Problems()
        self.policies = Policies(store, self._problems)
        self.snapshots = Snapshots(store)
        self.quarantine = Quarantine(store)
        self.tokens = Tokens(store)

    @classmethod
    def open(cls, url: str, *, clock: Clock = now) -> Self:
        """The ledger in a database, which is made or brought up to date if need be.

        - `url`: sqlite:///path/to/file, sqlite:// for one in memory, or postgresql://...
        - `clock`: tells microseconds since 1970, UTC.
        """
        store = Store.open(url, clock)
        try:
            with store.reading() as connection:
                version = migrations.current(connection)
            if version != migrations.newest():
                with store.writing() as connection:
                    migrations.upgrade(connection)
        except BaseException:
            store.close()
            raise
        return cls(store)

    def close(self) -> None:
        """Let go of the database."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def append(self, events: Iterable[Happening]) -> list[Outcome]:
        """Record events in one transaction, in this order; returns what became of each.

        One that is refused leaves no trace, but for feedback in the quarantine, and does not hold
        up the others.
        When this returns, what was recorded is on disk; if it raises, nothing was recorded.
        """
        given = list(events)
        for one in given:
            if type(one) not in RECORDERS:
                raise TypeError(f"An event is {one!r}; it must be one of belated.ledger's kinds.")
        if not given:
            return []
        with self.store.writing() as connection:
            batch = Batch(connection, self._problems, self.store.now())
            batch.expect(given)
            outcomes = [RECORDERS[type(one)](batch, one) for one in given]
            batch.flush()
        self.store.scrub(patient=batch.redacts)
        return outcomes

    def define(self, spec: Spec) -> Outcome:
        """Record a problem."""
        return self.append([Defined(spec)])[0]

    def open_episodes(
        self, problem: int, count: int = 1, *, version: int, subject: str | None = None
    ) -> list[Outcome]:
        """Record that episodes begin."""
        return self.append([Opened(problem, version, subject)] * check_seq("count", count))

    def tick(self, problem: int, upto: int | None = None) -> Outcome:
        """Record the end of a batch."""
        return self.append([Tick(problem, upto)])[0]

    def publish(
        self, problem: int, policy: Policy, *, version: int, tick: int | None = None
    ) -> Outcome:
        """Record a version of the policy."""
        return self.append([Published(problem, version, policy, tick)])[0]

    def control(
        self, problem: int, action: Action, *, version: int | None = None, by: str | None = None
    ) -> Outcome:
        """Record what a person decided."""
        return self.append([Control(problem, action, version, by)])[0]

    def withdraw(self, *, episode: str | None = None, subject: str | None = None) -> list[Outcome]:
        """Redact the data of an episode, or of a subject in every problem it has played in."""
        if subject is None or episode is not None:
            return self.append([Withdrawn(episode, None, subject)])
        of = schema.episodes.c
        check_text("subject", subject)
        query = sa.select(of.problem).where(of.subject == subject).distinct().order_by(of.problem)
        with self.store.reading() as connection:
            problems = list(connection.scalars(query))
        return self.append([Withdrawn(problem=id, subject=subject) for id in problems])

    @property
    def last(self) -> int:
        """The seq of the last event; 0 if there is none."""
        with self.store.reading() as connection:
            return connection.scalar(sa.select(sa.func.max(schema.events.c.seq))) or 0

    def events(
        self,
        problem: int | None = None,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        kinds: Collection[Kind] | None = None,
    ) -> Iterator[Event]:
        """The events of a problem, or of all, in order of seq, a page of them in memory at a time.

        It ends where the ledger does at that moment; to go on, ask for those `after` the last.
        """
        of = schema.events.c
        query = sa.select(schema.events)
        order: sa.ColumnElement[int] = of.seq
        if problem is not None:
            query = query.where(of.problem == check_seq("problem", problem))
        if upto is not None:
            query = query.where(of.seq <= check_seq("upto", upto, 0))
        if kinds is not None:
            query = query.where(of.kind.in_(_check_kinds(kinds)))
            if not {"opened", "feedback"} & set(kinds):
                query = query.where(sa.text(schema.RARE))
                order = of.seq + 0  # or SQLite walks all events by seq instead of the few by kind
        after = check_seq("after", after, 0)
        limit = None if limit is None else check_seq("limit", limit, 0)
        rows = paged(self.store, query, of.seq, order=order, after=after, limit=limit)
        return map(Event._make, rows)

    def problem(self, which: str | int) -> Problem | None:
        """The problem of this name or id, if there is one."""
        with self.store.reading() as connection:
            if isinstance(which, int):
                return self._problems.get(connection, which)
            return self._problems.named(connection, which) if is_name(which) else None

    def problems(self) -> list[Problem]:
        """Every problem, oldest first."""
        with self.store.reading() as connection:
            found = [self._problems.get(connection, id) for id in self._problems.ids(connection)]
        return [problem for problem in found if problem is not None]

    def episode(self, id: str) -> EpisodeRecord | None:
        """The episode of this id, if there is one."""
        if not is_id(id):
            return None
        with self.store.reading() as connection:
            row = connection.execute(
                sa.select(schema.episodes).where(schema.episodes.c.id == id)
            ).first()
        return None if row is None else EpisodeRecord(**row._mapping)

    def episodes(self, ids: Iterable[str]) -> dict[str, EpisodeRecord]:
        """The episodes of these ids, by id; those that are unknown are left out."""
        of, wanted = schema.episodes, sorted({id for id in ids if is_id(id)})
        with self.store.reading() as connection:
            found = [
                EpisodeRecord(**row._mapping)
                for some in pieces(wanted)
                for row in connection.execute(sa.select(of).where(of.c.id.in_(some)))
            ]
        return {record.id: record for record in found}

    def counts(self, problem: int | None = None) -> audit.Counts:
        """How much there is, of one problem or of all."""
        with self.store.reading() as connection:
            return audit.count(connection, problem)

    def digest(self, problem: int | None = None, *, upto: int | None = None) -> str:
        """One digest of all that was recorded; redaction leaves it as it is."""
        return audit.digest(self.events(problem, upto=upto))

    def faults(self) -> list[str]:
        """Sentences about what is missing or was changed behind the ledger's back."""
        return audit.faults(self.events()) + audit.strays(self.store)


def _check_kinds(kinds: Collection[Kind]) -> list[Kind]:
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if isinstance(kinds, str) or kind not in get_args(Kind):
            raise ValueError(
                f"kinds has {kind!r}; it must be a list of {', '.join(get_args(Kind))}."
            )
    return list(kinds)
