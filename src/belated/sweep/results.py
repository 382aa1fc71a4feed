"""Access to the stored results of a sweep."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from belated.sweep.store import TABLES, Columns, Store

MAX_WARNINGS = 3
"""Maximum number of warnings about single invalid files.

If there are more invalid files, one further warning gives the number of the others.
"""


class Results:
    """Results of the finished cells in a folder.

    The table `runs` has one row per run; the table `curves` has one row per run and checkpoint. The
    methods `runs` and `curves` return columns of these tables, `frame` returns a table as a data
    frame, and `sql` evaluates a query.

    Files that are damaged or have no provenance are skipped with a warning. ValueError is raised if
    the folder does not exist or has no finished cell.
    """

    def __init__(self, folder: Path | str) -> None:
        self.store = Store(folder)
        if not self.store.folder.is_dir():
            raise ValueError(f"folder {str(folder)!r} does not exist.")
        self.provenance, messages = self.store.read_provenance()
        for message in messages[:MAX_WARNINGS]:
            warnings.warn(message, stacklevel=2)
        if (more := len(messages) - MAX_WARNINGS) > 0:
            warnings.warn(f"{more} more files are damaged or foreign.", stacklevel=2)
        if not self.provenance:
            raise ValueError(f"folder {str(folder)!r} holds no finished cell.")
        self._connection = duckdb.connect()
        for table in TABLES:
            files = [str(self.store.path(table, id)) for id in self.provenance]
            self._connection.read_parquet(files, union_by_name=True).create_view(table)
        self._by_setting: dict[str, Columns] | None = None

    def runs(self) -> Columns:
        """Return the columns of the table `runs`, sorted by setting and seed."""
        return self.sql("SELECT * FROM runs ORDER BY setting, seed")

    def curves(self, setting: str) -> Columns:
        """Return the columns seed, episode and regret of the setting with the id `setting`.

        The rows are sorted by seed and episode. Raise ValueError if there are no results of
        `setting`.
        """
        if self._by_setting is None:
            self._by_setting = self._split_curves()
        if setting not in self._by_setting:
            raise ValueError(f"setting {setting!r} is not among the results.")
        return self._by_setting[setting]

    def _split_curves(self) -> dict[str, Columns]:
        """Return the table `curves` split by setting: the columns of each setting by its id."""
        table = self.sql("SELECT * FROM curves ORDER BY setting, seed, episode")
        names, starts = np.unique(table.pop("setting").astype(str), return_index=True)
        ends = np.append(starts[1:], table["seed"].size)
        return {
            str(name): {column: values[start:end] for column, values in table.items()}
            for name, start, end in zip(names, starts, ends, strict=True)
        }

    def sql(self, query: str, values: Sequence[object] = ()) -> Columns:
        """Return the columns of the result of `query`, in the SQL of DuckDB.

        The query can use the tables `runs` and `curves`. `values` replace the placeholders `?` in
        the query.
        """
        columns = self._connection.execute(query, list(values)).fetchnumpy()
        return {name: fill_masked(column) for name, column in columns.items()}

    def frame(self, table: str = "runs") -> Any:
        """Return the table named `table`, "runs" or "curves", as a pandas data frame.

        If pandas is not installed, return a Polars data frame. Raise ImportError if neither is
        installed.
        """
        if table not in TABLES:
            raise ValueError(f"table must be 'runs' or 'curves', got {table!r}.")
        relation = self._connection.table(table)
        for library, convert in (("pandas", "df"), ("polars", "pl")):
            try:
                __import__(library)
            except ImportError:
                continue
            return getattr(relation, convert)()
        raise ImportError("frame() needs pandas or polars; runs() and curves() need neither.")

    def __repr__(self) -> str:
        # read in full: DuckDB 2 rejects further queries while a result is partly read
        found = self.sql("SELECT count(*) AS runs, sum(episodes)::BIGINT AS episodes FROM runs")
        return (
            f"Results({str(self.store.folder)!r}, {len(self.provenance):,} cells, "
            f"{found['runs'][0]:,} runs, {found['episodes'][0]:,} episodes)"
        )


def fill_masked(column: Any) -> np.ndarray:
    """Return the masked array `column` as a plain array.

    Masked numbers become NaN, and other masked values become None.
    """
    if not np.ma.is_masked(column):
        return np.asarray(column)
    is_number = column.dtype.kind in "biuf"
    filled = np.array(column.data, np.float64 if is_number else object)
    filled[column.mask] = np.nan if is_number else None
    return filled


def results(folder: Path | str) -> Results:
    """Return the results that a sweep stored in `folder`; see `Results`."""
    return Results(folder)
