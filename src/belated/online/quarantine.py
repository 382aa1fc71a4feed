"""Quarantine: what was refused, with the reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from belated.online import schema
from belated.online.canonical import canonical, digest, legible
from belated.online.checking import check_seq, is_id
from belated.online.reading import paged
from belated.online.store import Store


@dataclass(frozen=True)
class Refusal:
    """Something that was refused; the same again counts up `times`."""

    id: int
    at: int
    """When it was refused last."""
    problem: int | None
    episode: str | None
    outcome: str
    """conflict, unknown, gone or refused."""
    reason: str
    text: str | None
    """What was refused, as JSON; None if that must not be kept."""
    times: int


def keep(
    connection: sa.Connection,
    *,
    at: int,
    problem: int | None,
    episode: str | None,
    outcome: str,
    reason: str,
    body: Any,
) -> None:
    """Put something in quarantine, or note that it is there once more."""
    of = schema.quarantine
    row = {
        "problem": problem,
        "episode": episode if is_id(episode) else None,
        "outcome": outcome,
        "reason": reason,
        "body": None if body is None else legible(body),
    }
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(of).values(
        **row,
        id=sa.select(sa.func.coalesce(sa.func.max(of.c.id), 0) + 1).scalar_subquery(),
        at=at,
        sha=digest(canonical(row)),
        times=1,
    )
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=[of.c.sha], set_={"times": of.c.times + 1, "at": at}
        )
    )


class Quarantine:
    """The refusals of a ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __iter__(self) -> Iterator[Refusal]:
        """Every refusal, oldest first."""
        of = schema.quarantine.c
        columns = (of.id, of.at, of.problem, of.episode, of.outcome, of.reason, of.body, of.times)
        return (Refusal(*tuple(row)) for row in paged(self._store, sa.select(*columns), of.id))

    def add(
        self, reason: str, body: Any, *, problem: int | None = None, episode: str | None = None
    ) -> None:
        """Keep what was refused before it came to the ledger."""
        with self._store.writing() as connection:
            keep(
                connection,
                at=self._store.now(),
                problem=problem,
                episode=episode,
                outcome="refused",
                reason=reason,
                body=body,
            )

    def forget(self, *, before: int) -> int:
        """Drop what was refused last before this time; returns how many."""
        check_seq("before", before, 0)
        of = schema.quarantine
        with self._store.writing() as connection:
            return connection.execute(sa.delete(of).where(of.c.at < before)).rowcount
