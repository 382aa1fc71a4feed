"""Watched: a ledger that is there already, and counts what is read from it."""

from collections.abc import Collection, Iterator
from pathlib import Path

import sqlalchemy as sa

from belated.cli.count import Count
from belated.ledger import migrations, schema
from belated.ledger.events import Event, Kind
from belated.ledger.ledger import Ledger
from belated.ledger.store import Store, is_uri, parse_url


class Watched(Ledger):
    """A ledger that tells `count` of the events that are read, whatever their kind."""

    count: Count | None = None

    def events(
        self,
        problem: int | None = None,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        kinds: Collection[Kind] | None = None,
    ) -> Iterator[Event]:
        found = super().events(problem, after=after, upto=upto, limit=limit, kinds=kinds)
        return found if self.count is None or kinds is not None else self.count.over(found)

    def names(self) -> dict[int, str]:
        """The name of each problem by its id, whether it can be folded or not."""
        of = schema.problems.c
        with self.store.reading() as connection:
            rows = connection.execute(sa.select(of.id, of.name).order_by(of.id)).all()
        return {row.id: row.name for row in rows}

    def size(self, table: sa.Table, problem: int | None = None) -> int:
        """How many rows there are, of one problem or of all."""
        query = sa.select(sa.func.count()).select_from(table)
        with self.store.reading() as connection:
            return (
                connection.scalar(
                    query if problem is None else query.where(table.c.problem == problem)
                )
                or 0
            )


def open_existing(url: str) -> Watched:
    """The ledger in a database; none is made where there is none."""
    address = parse_url(url)
    file = address.database
    if address.get_backend_name() == "sqlite" and not is_uri(address):
        if file in (None, "", ":memory:"):
            raise ValueError(f"{address} is in memory, and there is nothing in it.")
        if not Path(str(file)).is_file():
            raise ValueError(f"There is no file {file}.")
    store = Store.open(url)
    try:
        with store.reading() as connection:
            if migrations.current(connection) is None:
                raise ValueError(f"{address} holds no ledger.")
    finally:
        store.close()
    return Watched.open(url)
