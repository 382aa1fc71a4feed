"""Results: read back what a sweep has kept."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from belated.sweep.store import TABLES, Columns, Store


class Results:
    """The finished cells of a folder.

    `runs()` and `curves(setting)` give columns as arrays, `frame()` a data frame, and `sql` takes
    any query over the tables `runs` and `curves`.
    """

    def __init__(self, folder: Path | str) -> None:
        self.store = Store(folder)
        if not self.store.folder.is_dir():
            raise ValueError(f"folder is {str(folder)!r}, which is not there.")
        for sentence in (strangers := self.store.strangers())[:3]:
            warnings.warn(sentence, stacklevel=2)
        if len(strangers) > 3:
            warnings.warn(f"{len(strangers) - 3} more files are torn or foreign.", stacklevel=2)
        self.provenance: dict[str, dict[str, Any]] = {}
        for id in self.store.ids():
            facts = self.store.provenance(id)
            if facts is not None and self.store.whole(id, facts):
                self.provenance[id] = facts
        if not self.provenance:
            raise ValueError(f"folder {str(folder)!r} holds no finished cell.")
        self._connection = duckdb.connect()
        for table in TABLES:
            files = [str(self.store.path(table, id)) for id in self.provenance]
            self._connection.read_parquet(files, union_by_name=True).create_view(table)
        self._by_setting: dict[str, Columns] | None = None

    def runs(self) -> Columns:
        """One entry for each run, sorted by setting and seed."""
        return self.sql("SELECT * FROM runs ORDER BY setting, seed")

    def curves(self, setting: str) -> Columns:
        """Seed, episode and regret of one setting, sorted by seed and episode."""
        if self._by_setting is None:
            self._by_setting = self._split()
        if setting not in self._by_setting:
            raise ValueError(f"setting {setting!r} is not among the results.")
        return self._by_setting[setting]

    def _split(self) -> dict[str, Columns]:
        every = self.sql("SELECT * FROM curves ORDER BY setting, seed, episode")
        names, starts = np.unique(every.pop("setting").astype(str), return_index=True)
        ends = np.append(starts[1:], every["seed"].size)
        return {
            str(name): {column: values[lo:hi] for column, values in every.items()}
            for name, lo, hi in zip(names, starts, ends, strict=True)
        }

    def sql(self, query: str, values: Sequence[object] = ()) -> Columns:
        """The columns of a DuckDB query over `runs` and `curves`."""
        found = self._connection.execute(query, list(values)).fetchnumpy()
        return {name: unmasked(column) for name, column in found.items()}

    def frame(self, table: str = "runs") -> Any:
        """A pandas or Polars frame of `runs` or `curves`, whichever library is installed."""
        if table not in TABLES:
            raise ValueError(f"table is {table!r}; it must be 'runs' or 'curves'.")
        found = self._connection.table(table)
        for library, convert in (("pandas", "df"), ("polars", "pl")):
            try:
                __import__(library)
            except ImportError:
                continue
            return getattr(found, convert)()
        raise ImportError("frame() needs pandas or polars; runs() and curves() need neither.")

    def __repr__(self) -> str:
        runs = self._connection.execute("SELECT count(*), sum(episodes) FROM runs").fetchone()
        assert runs is not None
        return (
            f"Results({str(self.store.folder)!r}, {len(self.provenance):,} cells, "
            f"{runs[0]:,} runs, {runs[1]:,} episodes)"
        )


def unmasked(column: Any) -> np.ndarray:
    """A column as an array; where there is nothing, numbers are nan and words None."""
    if not np.ma.is_masked(column):
        return np.asarray(column)
    number = column.dtype.kind in "biuf"
    plain = np.array(column.data, np.float64 if number else object)
    plain[column.mask] = np.nan if number else None
    return plain


def results(folder: Path | str) -> Results:
    """Read back what a sweep has kept in `folder`."""
    return Results(folder)
