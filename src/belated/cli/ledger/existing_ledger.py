"""Ledger that shows progress while its events are read."""

from collections.abc import Collection, Iterator

import sqlalchemy as sa

from belated.cli.support.stores import check_file
from belated.ledger import migrations, schema
from belated.ledger.events import Event, Kind
from belated.ledger.ledger import Ledger
from belated.ledger.store import Store, parse_url
from belated.progress import Progress


class ExistingLedger(Ledger):
    """Ledger that advances the progress bar `progress` by one for each event that is read.

    If `progress` is None, nothing is displayed. Progress is not advanced if only some kinds of
    events are read.
    """

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
        # Progress is not advanced if only some kinds of events are read.
        found = super().events(problem, after=after, upto=upto, limit=limit, kinds=kinds)
        return found if self.progress is None or kinds is not None else self.progress.track(found)

    def names(self) -> dict[int, str]:
        """Return a dict from the id of each problem to its name.

        Problems whose events cannot be processed are included.
        """
        of = schema.problems.c
        with self.store.reading() as connection:
            rows = connection.execute(sa.select(of.id, of.name).order_by(of.id)).all()
        return {row.id: row.name for row in rows}

    def count_rows(self, table: sa.Table, problem: int | None = None) -> int:
        """Return the number of rows of `table` that belong to the problem with the id `problem`.

        If `problem` is None, count all rows.
        """
        query = sa.select(sa.func.count()).select_from(table)
        if problem is not None:
            query = query.where(table.c.problem == problem)
        with self.store.reading() as connection:
            return connection.scalar(query) or 0


def open_existing_ledger(url: str) -> ExistingLedger:
    """Return the ledger at the database address `url`. Raise ValueError if there is no ledger."""
    check_file(url)
    address = parse_url(url)
    store = Store.open(url)
    try:
        with store.reading() as connection:
            if migrations.current(connection) is None:
                raise ValueError(f"{address} has no ledger; check the address.")
    finally:
        store.close()
    return ExistingLedger.open(url)
