"""Audit of a ledger: compares events with their digests, and derived tables with the events.

A derived table holds data that can be computed from the events. Such a table and the events are
read side by side, in the same order and in one read transaction. Events recorded during the audit
are therefore not seen, and are not reported as faults.
"""

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from belated.check import check_text
from belated.ledger import canonical, schema
from belated.ledger.episodes import (
    EPISODE_COLUMNS,
    EXCLUDING_KINDS,
    EpisodeRecord,
    Exclusions,
    feedback_seqs,
)
from belated.ledger.events import Event
from belated.ledger.problems import Problem, ProblemSpec
from belated.ledger.recording.content import parse_content
from belated.ledger.recording.deduplication import encode_parts
from belated.ledger.recording.values import ContentError
from belated.ledger.store import Store, UnreadableRowError

MAX_FAULTS: Final = 100
"""Maximum number of messages that a check returns."""

ROWS_PER_FETCH: Final = 500

L = TypeVar("L")
R = TypeVar("R")

PartDigests = dict[tuple[str | None, str], str]
"""Map from a pair, the id of an episode and the name of a part of its feedback, to the digest of
this part. The id is None for an event without an episode."""


def digest_events(events: Iterable[Event]) -> str:
    """Return one SHA-256 digest of all `events`. Redacting an event does not change the digest.

    Raises UnreadableRowError if a value of an event has a wrong type.
    """
    total = sha256()
    for event in events:
        facts = (event.seq, event.problem, event.episode, event.kind, event.at, event.sha)
        try:
            total.update(canonical.canonical(facts).encode())
        except TypeError:  # SQLite does not enforce the types of columns
            raise UnreadableRowError(
                f"Row {event.seq} of the table events is damaged: a value has a wrong type."
            ) from None
    return total.hexdigest()


def find_event_fault(event: Event) -> str | None:
    """Return a message if the stored `event` is faulty, else None.

    An event is faulty if its content does not match its digest, or if it is redacted but some of
    its content is still stored.
    """
    if event.redacted:
        if (event.text, event.salt, event.event_time) != (None, None, None):
            return f"Event {event.seq} is redacted, but not all of its content is deleted."
    elif not _matches_digest(event):
        return f"Event {event.seq} has been changed: digest mismatch."
    return None


def _matches_digest(event: Event) -> bool:
    text, salt = event.text, event.salt or b""
    # SQLite does not enforce the types of columns
    if not isinstance(text, str) or not isinstance(salt, bytes):
        return False
    return canonical.digest(text, salt) == event.sha


def find_content_fault(event: Event, spec: ProblemSpec) -> str | None:
    """Return a message if the content of `event` is not valid for its problem, else None.

    Feedback, corrections, and the reasons for which episodes are declared lost are checked; the
    content of other events is not. `spec` is the specification of the problem.
    """
    if event.text is None:
        return None
    try:
        if event.kind in ("feedback", "corrected"):
            parse_content(event.body, spec)
        elif event.kind == "lost":
            check_text("reason", event.body["reason"])
    except Exception as error:  # content that is not JSON, or malformed in any other way
        return f"Event {event.seq} has invalid content. {error}"
    return None


def check_events(events: Iterable[Event]) -> list[str]:
    """Return a message for each event that is missing, changed or redacted incompletely.

    `events` must be all events of a ledger, in order of their sequence numbers. The check stops
    after `MAX_FAULTS` messages.
    """
    faults = []
    expected = 1
    for event in events:
        if event.seq != expected:
            faults.append(f"Event {expected} is missing.")
        expected = event.seq + 1
        fault = find_event_fault(event)
        if fault is not None:
            faults.append(fault)
        if len(faults) >= MAX_FAULTS:
            break
    return faults


def check_tables(store: Store, problem: Problem) -> list[str]:
    """Return a message for each difference between the derived tables of `problem` and its events.

    The compared tables in `store` are those of problems, episodes, claims and replaced events. At
    most `MAX_FAULTS` messages are returned.
    """
    with store.consistent_reading() as connection:
        try:
            return list(islice(_compare_tables(connection, problem), MAX_FAULTS))
        except (ValueError, KeyError, TypeError) as error:
            reason = f"{type(error).__name__}: {error}"
            return [f"The tables cannot be compared with the events: {reason}"]


def check_database(store: Store) -> list[str]:
    """Return a message for each inconsistency between a table and an index, in SQLite.

    Queries may read a value from an index, so that a damaged copy in the table would go unnoticed.
    The list is empty if `store` is a PostgreSQL database. At most `MAX_FAULTS` messages are
    returned.
    """
    if store.on_postgres:
        return []
    with store.reading() as connection:
        rows = connection.exec_driver_sql(f"PRAGMA integrity_check({MAX_FAULTS})").scalars()
        return [f"The database is damaged: {row}." for row in rows if row != "ok"]


def check_orphans(store: Store) -> list[str]:
    """Return a message for each orphan row in `store`.

    An orphan row refers to a problem or an episode that does not exist. A problem is also reported
    if its name in the table of problems differs from the name in its definition. At most
    `MAX_FAULTS` messages are returned.
    """
    with store.consistent_reading() as connection:
        return list(islice(_find_orphans(connection), MAX_FAULTS))


def _compare_tables(connection: sa.Connection, problem: Problem) -> Iterator[str]:
    excluding = list(_read_events(connection, problem.id, *EXCLUDING_KINDS))
    yield from _compare_problem(connection, problem)
    yield from _compare_episodes(connection, problem.id, excluding)
    yield from _compare_claims(connection, problem, excluding)
    yield from _compare_replaced(connection, problem.id, excluding)


def _read_events(connection: sa.Connection, problem: int, *kinds: str) -> Iterator[Event]:
    columns = schema.events.c
    query = sa.select(schema.events).where(columns.problem == problem, columns.kind.in_(kinds))
    if not {"opened", "feedback"} & set(kinds):
        query = query.where(sa.text(schema.RARE))
    return (Event._make(row) for row in _stream(connection, query.order_by(columns.seq)))


def _stream(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[Any]:
    return iter(connection.execute(query, execution_options={"yield_per": ROWS_PER_FETCH}))


def _merge(
    left: Iterator[tuple[int, L]], right: Iterator[tuple[int, R]]
) -> Iterator[tuple[L | None, R | None]]:
    """Merge two iterators of (key, value) pairs, each sorted by key.

    Yields a pair (left value, right value) for each key, in increasing order of the keys. A value
    is None if its iterator does not contain the key.
    """
    one, other = next(left, None), next(right, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one[0] < other[0]):
            yield one[1] if one is not None else None, None
            one = next(left, None)
        elif one is None or other[0] < one[0]:
            yield None, other[1]
            other = next(right, None)
        else:
            yield one[1], other[1]
            one, other = next(left, None), next(right, None)


def _compare_problem(connection: sa.Connection, problem: Problem) -> Iterator[str]:
    columns = schema.problems.c
    row = connection.execute(sa.select(schema.problems).where(columns.id == problem.id)).first()
    name = None if row is None else row.name
    if name != problem.name:
        yield _wrong_name(problem.id, name, problem.name)
    archived = None
    for event in _read_events(connection, problem.id, "control"):
        if event.body["action"] in ("archive", "unarchive"):
            archived = event.seq if event.body["action"] == "archive" else None
    if row is not None and row.archived != archived:
        yield (
            f"Problem {problem.name!r} has archived {row.archived} in the table of problems, "
            f"but {archived} according to the events."
        )


def _wrong_name(id: int, name: str | None, defined: str) -> str:
    if name is None:
        return f"Event {id} defines problem {defined!r}, which is not in the table of problems."
    return f"Problem {id} is {name!r} in the table of problems; it was defined as {defined!r}."


def _compare_episodes(
    connection: sa.Connection, problem: int, excluding: list[Event]
) -> Iterator[str]:
    """Yield a message for each difference between the table of episodes and the events.

    The rows of the table and the events that opened the episodes are read in order of the episode
    number, which is also the order of seq. `excluding` are the corrections and withdrawals of the
    problem with id `problem`.
    """
    withdrawn, lost = _withdrawal_seqs(excluding), {}
    for event in _read_events(connection, problem, "lost"):
        if event.episode in withdrawn and not event.redacted:
            yield f"Event {event.seq} belongs to a withdrawn episode, but is not redacted."
        lost[str(event.episode)] = event.seq
    for id, seq in [*lost.items()]:
        later = connection.scalar(sa.select(sa.func.max(feedback_seqs([id]).subquery().c.seq))) or 0
        if later > seq or id in withdrawn:
            del lost[id]
    table = schema.episodes
    query = sa.select(*EPISODE_COLUMNS).where(table.c.problem == problem).order_by(table.c.number)
    stored = (EpisodeRecord(**row._mapping) for row in _stream(connection, query))
    opened = (
        _expected_episode(event, withdrawn, lost)
        for event in _read_events(connection, problem, "opened")
    )
    for expected, found in _merge(
        ((episode.number, episode) for episode in opened),
        ((episode.number, episode) for episode in stored),
    ):
        if expected is not None and found is not None and expected.id == found.id:
            yield from _compare_episode(expected, found)
            continue
        if expected is not None:
            yield (
                f"Event {expected.seq} opens episode {expected.id}, "
                "which is not in the table of episodes."
            )
        if found is not None:
            yield (
                f"Episode {found.id} has number {found.number} in the table of episodes, "
                "but was not opened with that number."
            )


def _withdrawal_seqs(excluding: list[Event]) -> dict[str, int]:
    """Return a dict that maps the id of each withdrawn episode to the seq of its withdrawal.

    `excluding` contains all withdrawals of a problem; other events in it are ignored.
    """
    return {
        id: event.seq
        for event in excluding
        if event.kind == "withdrawn"
        for id in event.body["episodes"]
    }


def _expected_episode(
    event: Event, withdrawn: dict[str, int], lost: dict[str, int]
) -> EpisodeRecord:
    """Return the record that the table should hold for the episode that `event` opened.

    `withdrawn` and `lost` map the ids of withdrawn and lost episodes to the seqs of the events that
    withdrew them or declared them lost. The subject of the record is None, since an event does not
    contain the subject.
    """
    id, body = str(event.episode), event.body
    return EpisodeRecord(
        id,
        event.problem,
        body["number"],
        body["version"],
        event.seq,
        withdrawn=withdrawn.get(id),
        lost=lost.get(id),
    )


def _compare_episode(expected: EpisodeRecord, found: EpisodeRecord) -> Iterator[str]:
    for name in ("version", "seq", "withdrawn", "lost"):
        ours, theirs = getattr(expected, name), getattr(found, name)
        if ours != theirs:
            yield (
                f"Episode {expected.id} has {name} {theirs} in the table of episodes, "
                f"but {ours} according to the events."
            )
    if expected.withdrawn is not None and found.subject is not None:
        yield f"Episode {expected.id} has been withdrawn, but its subject is still stored."


def _compare_claims(
    connection: sa.Connection, problem: Problem, excluding: list[Event]
) -> Iterator[str]:
    """Yield a message for each difference between the claims table and the feedback of `problem`.

    The table lists each recorded part of an episode with its digest and the seq of its event.
    Feedback that the events in `excluding` correct or withdraw must have no rows in the table.
    """
    exclusions, withdrawn = Exclusions(excluding), _withdrawal_seqs(excluding)
    events = _read_events(connection, problem.id, "feedback", "corrected")
    rows = _stream(connection, _rows_of_problem(schema.claims, problem.id))
    for event, claims in _merge(
        ((event.seq, event) for event in events),
        ((seq, list(group)) for seq, group in groupby(rows, attrgetter("seq"))),
    ):
        found = {(row.id, row.part): row.sha for row in claims or ()}
        if event is None:
            yield from _compare_parts({}, found, claims[0].seq if claims else 0)
            continue
        if event.redacted and event.episode not in withdrawn:
            yield f"Event {event.seq} is redacted, but its episode was not withdrawn."
        elif event.episode in withdrawn and not event.redacted:
            yield f"Event {event.seq} belongs to a withdrawn episode, but is not redacted."
        expected = _expected_claims(event, exclusions, problem.spec)
        if expected is not None and expected != found:
            yield from _compare_parts(expected, found, event.seq)


def _rows_of_problem(table: sa.Table, problem: int) -> sa.Select[Any]:
    """Return a query for the rows of `table` that belong to `problem`, in order of seq.

    The rows refer to an episode by the seq of its opening. The query adds the episode id as the
    column `id`.
    """
    opening = schema.events.alias()
    rows = sa.select(table, opening.c.episode.label("id"))
    joined = rows.join_from(table, opening, opening.c.seq == table.c.episode)
    return joined.where(opening.c.problem == problem).order_by(table.c.seq)


def _compare_replaced(
    connection: sa.Connection, problem: int, excluding: list[Event]
) -> Iterator[str]:
    """Yield a message for each difference between the table of replaced events and the events.

    The table must list all feedback of an episode that was recorded before its last correction.
    `excluding` are the corrections and withdrawals of the problem with id `problem`.
    """
    last = {event.episode: event.seq for event in excluding if event.kind == "corrected"}
    expected = {
        (event.episode, event.seq)
        for event in _read_events(connection, problem, "feedback", "corrected")
        if event.seq < last.get(event.episode, 0)
    }
    rows = connection.execute(_rows_of_problem(schema.replaced, problem))
    found = {(row.id, row.seq) for row in rows}
    for episode, seq in sorted(expected - found, key=str):
        yield (
            f"Event {seq} of episode {episode} was corrected, but is not in the table `replaced`."
        )
    for episode, seq in sorted(found - expected, key=str):
        yield (
            f"Event {seq} of episode {episode} is in the table `replaced`, but was not corrected."
        )


def _expected_claims(event: Event, exclusions: Exclusions, spec: ProblemSpec) -> PartDigests | None:
    """Return the digests that the claims table should hold for the parts in the feedback `event`.

    The result is empty if `event` is in `exclusions`. It is None if the content of `event` is not
    valid for the problem `spec`.
    """
    if event in exclusions:
        return {}
    try:
        _, digests = encode_parts(parse_content(event.body, spec))
    except ContentError:
        return None
    return {(event.episode, part): sha for part, sha in digests.items()}


def _compare_parts(expected: PartDigests, found: PartDigests, seq: int) -> Iterator[str]:
    for episode, part in sorted(expected.keys() | found.keys(), key=str):
        name = f"Part {part!r} of episode {episode}"
        if (episode, part) not in found:
            yield f"{name} arrived with event {seq}, but is not in the claims table."
        elif (episode, part) not in expected:
            yield f"{name} is in the claims table with event {seq}, which does not contain it."
        elif expected[episode, part] != found[episode, part]:
            yield f"{name} has different content in event {seq} and in the claims table."


def _find_orphans(connection: sa.Connection) -> Iterator[str]:
    events, problems, episodes = schema.events.c, schema.problems.c, schema.episodes.c
    names = {row.id: row.name for row in connection.execute(sa.select(schema.problems))}
    query = sa.select(events.seq, events.body)
    query = query.where(events.kind == "defined", sa.text(schema.RARE))
    defined = {row.seq: _read_name(row.body) for row in connection.execute(query)}
    for id, name in defined.items():
        if name is not None and names.get(id) != name:
            yield _wrong_name(id, names.get(id), name)
    for id in sorted(names.keys() - defined.keys()):
        yield f"Problem {names[id]!r} is in the table of problems, but no event {id} defined it."
    lost = sa.select(episodes.id).where(episodes.problem.not_in(sa.select(problems.id)))
    for row in _stream(connection, lost):
        yield f"Episode {row.id} belongs to no problem in the table of problems."
    for table in (schema.claims, schema.replaced, schema.subjects):
        opened = sa.select(events.seq).where(events.seq == table.c.episode, events.kind == "opened")
        for row in _stream(connection, sa.select(table).where(~opened.exists())):
            what = "A subject" if table is schema.subjects else f"Event {row.seq}"
            yield (
                f"{what} in the table {table.name} refers to the episode opened by event "
                f"{row.episode}, but that event opens no episode."
            )


def _read_name(text: str | None) -> str | None:
    """Return the problem name in `text`, the body of a definition; None if parsing fails."""
    try:
        return str(json.loads(text or "")["name"])
    except (ValueError, KeyError, TypeError):
        return None
