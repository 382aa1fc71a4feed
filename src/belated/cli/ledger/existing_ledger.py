"""Existing ledger that shows progress while its events are read."""

from collections.abc import Collection, Iterator
from pathlib import Path

import sqlalchemy as sa

from belated.ledger import migrations, schema
from belated.ledger.events import Event, Kind
from belated.ledger.ledger import Ledger
from belated.ledger.store import Store, is_uri, parse_url
from belated.progress import Progress


class ExistingLedger(Ledger):
    """Ledger that advances `progress` by one for each event that is read."""

    progress: Progress | None = None

    def events(
        self,
        problem: int | None = None,
        *,
        after: int = 0,
        upto: int | None = None,
        limit: int | None = None,
        kinds: Collection[Kind] | None = None,
    ) -> Iterator[Event]:
        # Reading some kinds only advances no progress.
        found = super().events(problem, after=after, upto=upto, limit=limit, kinds=kinds)
        return found if self.progress is None or kinds is not None else self.progress.track(found)

    def names(self) -> dict[int, str]:
        """Return the name of each problem by its id, even of problems that cannot be folded."""
        of = schema.problems.c
        with self.store.reading() as connection:
            rows = connection.execute(sa.select(of.id, of.name).order_by(of.id)).all()
        return {row.id: row.name for row in rows}

    def count_rows(self, table: sa.Table, problem: int | None = None) -> int:
        """Return the number of rows of `table`, of one `problem` or, if None, of all."""
        query = sa.select(sa.func.count()).select_from(table)
        if problem is not None:
            query = query.where(table.c.problem == problem)
        with self.store.reading() as connection:
            return connection.scalar(query) or 0


def open_existing_ledger(url: str) -> ExistingLedger:
    """Return the ledger at the address `url`; raise ValueError if there is none."""
    address = parse_url(url)
    file = address.database
    if address.get_backend_name() == "sqlite" and not is_uri(address):
        if file in (None, "", ":memory:"):
            raise ValueError(f"{address} is a new database in memory, which has no ledger.")
        if not Path(str(file)).is_file():
            raise ValueError(f"There is no file {file}.")
    store = Store.open(url)
    try:
        with store.reading() as connection:
            if migrations.current(connection) is None:
                raise ValueError(f"{address} has no ledger.")
    finally:
        store.close()
    return ExistingLedger.open(url)
