"""Problems: what has been defined."""

import json
from dataclasses import dataclass

import sqlalchemy as sa

from belated.online import schema
from belated.online.spec import Spec


@dataclass(frozen=True)
class Problem:
    """A problem; its id is the seq of the event that defined it."""

    id: int
    spec: Spec

    @property
    def name(self) -> str:
        """What people call it."""
        return self.spec.name


class Problems:
    """Problems by id, read once each: they never change."""

    def __init__(self) -> None:
        self._known: dict[int, Problem] = {}

    def get(self, connection: sa.Connection, id: int) -> Problem | None:
        """The problem of this id, if there is one."""
        if id not in self._known:
            of = schema.events.c
            text = connection.scalar(sa.select(of.body).where(of.seq == id, of.kind == "defined"))
            if text is None:
                return None
            self._known[id] = Problem(id, Spec.of(json.loads(text)))
        return self._known[id]

    def named(self, connection: sa.Connection, name: str) -> Problem | None:
        """The problem of this name, if there is one."""
        of = schema.problems.c
        id = connection.scalar(sa.select(of.id).where(of.name == name))
        return None if id is None else self.get(connection, id)

    def ids(self, connection: sa.Connection) -> list[int]:
        """The id of every problem, oldest first."""
        of = schema.problems.c
        return list(connection.scalars(sa.select(of.id).order_by(of.id)))
