"""Reading rows in order, a page at a time, so that memory stays flat and no lock is held."""

from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa

from belated.online.store import Store

PAGE: Final = 1000


def paged(
    store: Store,
    query: sa.Select[Any],
    key: sa.ColumnElement[int],
    *,
    after: int = 0,
    limit: int | None = None,
    order: sa.ColumnElement[int] | None = None,
) -> Iterator[sa.Row[Any]]:
    """The rows of a query whose first column is `key`, in its order, after one of its values.

    `order` is the same order, written in another way.
    """
    order, left = key if order is None else order, limit
    while left is None or left > 0:
        size = PAGE if left is None else min(PAGE, left)
        page = query.where(key > after).order_by(order).limit(size)
        with store.reading() as connection:
            rows = connection.execute(page).all()
        yield from rows
        if len(rows) < size:
            return
        after = rows[-1][0]
        left = None if left is None else left - len(rows)
