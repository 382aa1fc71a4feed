"""Whether a ledger holds what it recorded."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby, islice
from operator import attrgetter
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from belated.ledger import canonical, schema
from belated.ledger.episodes import UNDOING, EpisodeRecord, Omissions
from belated.ledger.events import Event, Kind
from belated.ledger.problems import Problem, Spec
from belated.ledger.recording.content import ContentError, parse
from belated.ledger.recording.deduplication import written
from belated.ledger.store import Store

MOST: Final = 100
"""How many faults to tell of."""


@dataclass(frozen=True)
class Counts:
    """How much a ledger holds."""

    events: dict[Kind, int]
    """By kind; a kind that never happened is left out."""
    redacted: int
    episodes: int
    answered: int
    """Episodes of which something has come back, and not been withdrawn."""
    withdrawn: int
    refusals: int


def count(connection: sa.Connection, problem: int | None = None) -> Counts:
    """Count, of one problem or of all; this reads every row."""
    events, episodes, claims = schema.events.c, schema.episodes.c, schema.claims.c
    refusals = schema.quarantine.c

    def number(query: sa.Select[int], of: sa.Column[int]) -> int:
        return connection.scalar(query if problem is None else query.where(of == problem)) or 0

    kinds = sa.select(events.kind, sa.func.count()).group_by(events.kind).order_by(events.kind)
    if problem is not None:
        kinds = kinds.where(events.problem == problem)
    some = sa.select(sa.func.count())
    answered = sa.select(claims.episode).where(claims.episode == episodes.seq).exists()
    return Counts(
        events={row[0]: row[1] for row in connection.execute(kinds)},
        redacted=number(some.where(events.redacted), events.problem),
        episodes=number(some.select_from(schema.episodes), episodes.problem),
        answered=number(some.select_from(schema.episodes).where(answered), episodes.problem),
        withdrawn=number(some.where(episodes.withdrawn.is_not(None)), episodes.problem),
        refusals=number(some.select_from(schema.quarantine), refusals.problem),
    )


def digest(events: Iterable[Event]) -> str:
    """One digest of all of these events; redaction leaves it as it is."""
    total = sha256()
    for event in events:
        facts = (event.seq, event.problem, event.episode, event.kind, event.at, event.sha)
        total.update(canonical.canonical(facts).encode())
    return total.hexdigest()


def faults(events: Iterable[Event]) -> list[str]:
    """Sentences about what is wrong with a whole ledger, the first ones; none if it is sound."""
    found = []
    expected = 1
    for event in events:
        if event.seq != expected:
            found.append(f"Event {expected} is missing.")
        expected = event.seq + 1
        if event.redacted:
            if (event.text, event.salt, event.event_time) != (None, None, None):
                found.append(f"Event {event.seq} is redacted, but something of it is left.")
        elif event.text is None or canonical.digest(event.text, event.salt or b"") != event.sha:
            found.append(f"Event {event.seq} has been changed: its digest is another.")
        if len(found) >= MOST:
            break
    return found


AT_ONCE: Final = 500

L = TypeVar("L")
R = TypeVar("R")


def problem_faults(store: Store, problem: Problem) -> list[str]:
    """Sentences about what is missing, too much or different of a problem, the first ones."""
    with store.steady() as connection:
        try:
            return list(islice(_faults(connection, problem), MOST))
        except (ValueError, KeyError, TypeError) as error:
            why = f"{type(error).__name__}: {error}"
            return [f"The tables cannot be compared with the events: {why}"]


def strays(store: Store) -> list[str]:
    """Sentences about what belongs to no problem, and problems that are not in their table."""
    with store.steady() as connection:
        return list(islice(_strays(connection), MOST))


def _faults(connection: sa.Connection, problem: Problem) -> Iterator[str]:
    undone = list(_events(connection, problem.id, *UNDOING))
    yield from _wrong_name(connection, problem)
    yield from _wrong_episodes(connection, problem.id, undone)
    yield from _wrong_claims(connection, problem, undone)
    yield from _wrong_replaced(connection, problem.id, undone)


def _events(connection: sa.Connection, problem: int, *kinds: str) -> Iterator[Event]:
    of = schema.events.c
    query = sa.select(schema.events).where(of.problem == problem, of.kind.in_(kinds))
    if not {"opened", "feedback"} & set(kinds):
        query = query.where(sa.text(schema.RARE))
    return (Event._make(row) for row in _streamed(connection, query.order_by(of.seq)))


def _streamed(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[Any]:
    return iter(connection.execute(query, execution_options={"yield_per": AT_ONCE}))


def _side_by_side(
    ours: Iterator[tuple[int, L]], theirs: Iterator[tuple[int, R]]
) -> Iterator[tuple[L | None, R | None]]:
    """What has the same key, in order of keys; None where one side has nothing."""
    one, other = next(ours, None), next(theirs, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one[0] < other[0]):
            yield one[1] if one is not None else None, None
            one = next(ours, None)
        elif one is None or other[0] < one[0]:
            yield None, other[1]
            other = next(theirs, None)
        else:
            yield one[1], other[1]
            one, other = next(ours, None), next(theirs, None)


def _wrong_name(connection: sa.Connection, problem: Problem) -> Iterator[str]:
    of = schema.problems.c
    name = connection.scalar(sa.select(of.name).where(of.id == problem.id))
    if name != problem.name:
        yield _misnamed(problem.id, name, problem.name)


def _misnamed(id: int, name: str | None, defined: str) -> str:
    if name is None:
        return f"Problem {defined!r} was defined at {id}, but is not in the table of problems."
    return f"Problem {id} is {name!r} in the table of problems; it was defined as {defined!r}."


def _wrong_episodes(connection: sa.Connection, problem: int, undone: list[Event]) -> Iterator[str]:
    """Episodes are numbered in order of seq, and found by their number in that order."""
    withdrawn = _withdrawn(undone)
    of = schema.episodes
    rows = _streamed(connection, sa.select(of).where(of.c.problem == problem).order_by(of.c.number))
    opened = _events(connection, problem, "opened")
    stored = (EpisodeRecord(**row._mapping) for row in rows)
    for made, found in _side_by_side(
        ((one.number, one) for one in (_episode(event, withdrawn) for event in opened)),
        ((one.number, one) for one in stored),
    ):
        if made is not None and found is not None and made.id == found.id:
            yield from _differences(made, found)
            continue
        if made is not None:
            yield f"Episode {made.id} was opened at {made.seq}, but is not among the episodes."
        if found is not None:
            yield (
                f"Episode {found.id} is number {found.number} among the episodes, "
                "but was not opened as that."
            )


def _withdrawn(undone: list[Event]) -> dict[str, int]:
    """When episodes were withdrawn."""
    return {
        id: event.seq
        for event in undone
        if event.kind == "withdrawn"
        for id in event.body["episodes"]
    }


def _episode(event: Event, withdrawn: dict[str, int]) -> EpisodeRecord:
    """What an opening comes to, but for the subject, which it does not tell."""
    id, body = str(event.episode), event.body
    return EpisodeRecord(
        id,
        event.problem,
        body["number"],
        body["version"],
        event.seq,
        withdrawn=withdrawn.get(id),
    )


def _differences(made: EpisodeRecord, found: EpisodeRecord) -> Iterator[str]:
    for name in ("version", "seq", "withdrawn"):
        ours, theirs = getattr(made, name), getattr(found, name)
        if ours != theirs:
            yield f"Episode {made.id} has {name} {theirs}; by the events it is {ours}."
    if made.withdrawn is not None and found.subject is not None:
        yield f"Episode {made.id} has been withdrawn, but its subject is still there."


def _wrong_claims(
    connection: sa.Connection, problem: Problem, undone: list[Event]
) -> Iterator[str]:
    """Claims stand where the feedback does that made them, as long as it counts."""
    omissions, withdrawn = Omissions(undone), _withdrawn(undone)
    rows = _streamed(connection, _of_problem(schema.claims, problem.id))
    for event, claims in _side_by_side(
        ((event.seq, event) for event in _events(connection, problem.id, "feedback", "corrected")),
        ((seq, list(some)) for seq, some in groupby(rows, attrgetter("seq"))),
    ):
        found = {(row.id, row.part): row.sha for row in claims or ()}
        if event is None:
            yield from _disputed({}, found, claims[0].seq if claims else 0)
            continue
        if event.redacted != (event.episode in withdrawn):
            yield _misredacted(event)
        made = _claims(event, omissions, problem.spec)
        if made is not None and made != found:
            yield from _disputed(made, found, event.seq)


def _of_problem(table: sa.Table, problem: int) -> sa.Select[Any]:
    """Rows that know an episode by its opening, with its id, in order of seq."""
    opening = schema.events.alias()
    rows = sa.select(table, opening.c.episode.label("id"))
    joined = rows.join_from(table, opening, opening.c.seq == table.c.episode)
    return joined.where(opening.c.problem == problem).order_by(table.c.seq)


def _wrong_replaced(connection: sa.Connection, problem: int, undone: list[Event]) -> Iterator[str]:
    """What a correction replaced is no more among the claims, but is still found."""
    last = {event.episode: event.seq for event in undone if event.kind == "corrected"}
    made = {
        (event.episode, event.seq)
        for event in _events(connection, problem, "feedback", "corrected")
        if event.seq < last.get(event.episode, 0)
    }
    rows = connection.execute(_of_problem(schema.replaced, problem))
    found = {(row.id, row.seq) for row in rows}
    for episode, seq in sorted(made - found, key=str):
        yield f"Event {seq} of episode {episode} was corrected, but is not among the replaced."
    for episode, seq in sorted(found - made, key=str):
        yield f"Event {seq} of episode {episode} is among the replaced, but was not corrected."


def _misredacted(event: Event) -> str:
    if event.redacted:
        return f"Event {event.seq} is redacted, but its episode was not withdrawn."
    return f"Event {event.seq} is of an episode that was withdrawn, but is not redacted."


Parts = dict[tuple[str | None, str], str]
"""Digests by episode and part."""


def _claims(event: Event, omissions: Omissions, spec: Spec) -> Parts | None:
    """What feedback claims; None if that cannot be told, which the fold complains of."""
    if event in omissions:
        return {}
    try:
        _, parts = written(parse(event.body, spec))
    except ContentError:
        return None
    return {(event.episode, part): sha for part, sha in parts.items()}


def _disputed(made: Parts, found: Parts, seq: int) -> Iterator[str]:
    for episode, part in sorted(made.keys() | found.keys(), key=str):
        what = f"Part {part!r} of episode {episode}"
        if (episode, part) not in found:
            yield f"{what} came at {seq}, but is not among the claims."
        elif (episode, part) not in made:
            yield f"{what} is among the claims at {seq}, but nothing that counts came there."
        elif made[episode, part] != found[episode, part]:
            yield f"{what} came at {seq} with other content than the claims say."


def _strays(connection: sa.Connection) -> Iterator[str]:
    events, problems, episodes = schema.events.c, schema.problems.c, schema.episodes.c
    names = {row.id: row.name for row in connection.execute(sa.select(schema.problems))}
    defined = {
        row.seq: _name_in(row.body)
        for row in connection.execute(
            sa.select(events.seq, events.body).where(events.kind == "defined", sa.text(schema.RARE))
        )
    }
    for id, name in defined.items():
        if name is not None and names.get(id) != name:
            yield _misnamed(id, names.get(id), name)
    for id in sorted(names.keys() - defined.keys()):
        yield f"Problem {names[id]!r} is in the table of problems, but no event {id} defined it."
    lost = sa.select(episodes.id).where(episodes.problem.not_in(sa.select(problems.id)))
    for id in _streamed(connection, lost):
        yield f"Episode {id[0]} is of no problem in the table of problems."
    for table in (schema.claims, schema.replaced):
        opened = sa.select(events.seq).where(events.seq == table.c.episode, events.kind == "opened")
        for row in _streamed(connection, sa.select(table).where(~opened.exists())):
            yield (
                f"Event {row.seq} is among the {table.name} as of an episode opened at "
                f"{row.episode}, where none was."
            )


def _name_in(text: str | None) -> str | None:
    """The name in a definition; None if that has been changed beyond reading."""
    try:
        return str(json.loads(text or "")["name"])
    except (ValueError, KeyError, TypeError):
        return None
