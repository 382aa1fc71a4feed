"""Access to the stored results of a sweep."""

import reprlib
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from belated.check import check_choice
from belated.extras import missing_extra
from belated.html import describe, format_table
from belated.sweep.bands import Columns
from belated.sweep.store import TABLES, Store

try:
    import duckdb
except ImportError:
    raise ImportError(missing_extra("Access to results", "DuckDB", "sweep")) from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from belated.figures.plots import X

MAX_WARNINGS = 3
"""Maximum number of warnings about single invalid files.

If there are more invalid files, one further warning gives the number of the others.
"""

Library = Literal["pandas", "polars"]
LIBRARIES: Final[tuple[Library, ...]] = ("pandas", "polars")
"""Names of the packages whose data frames `Results.frame` can return."""

PARTS: Final = ("world", "base", "delay", "updater", "stages", "rewards", "late", "delay_per")
"""Names of the columns of results whose values distinguish settings."""

MAX_LISTED_SETTINGS: Final = 20
"""Maximum number of settings in the table that notebooks display."""

FOLDER_HINT: Final = (
    "Give the folder that `belated sweep` or `belated reproduce` has written, such as results/NAME."
)
"""Advice in the error messages for folders without results."""

ROW_ORDER: Final = {"runs": "setting, seed", "curves": "setting, seed, episode"}
"""Map from the name of a table to the columns by which its rows are sorted, as text of SQL."""

CURVES_VIEW: Final = """
    CREATE VIEW curves AS
    SELECT setting, world, base, updater, delay, seed, episode, regret
    FROM stored_curves JOIN (
        SELECT setting, any_value(world) AS world, any_value(base) AS base,
               any_value(updater) AS updater, any_value(delay) AS delay
        FROM runs GROUP BY setting
    ) USING (setting)
"""
"""SQL statement that defines the view `curves`: the stored curves, with the world, base, updater
and delay of their setting."""


class Results:
    """Results of the finished cells in a folder.

    The table `runs` has one row per run; the table `curves` has one row per run and checkpoint,
    with the columns setting, world, base, updater, delay, seed, episode and regret. The methods
    `runs` and `curves` return columns of these tables, `frame` returns a table as a data frame,
    `sql` evaluates a query, and `plot` draws regret.

    Files that are damaged or have no provenance are skipped with a warning. ValueError is raised if
    the folder does not exist or has no finished cell.
    """

    def __init__(self, folder: Path | str) -> None:
        self.store = Store(folder)
        if not self.store.folder.is_dir():
            raise ValueError(f"folder {str(folder)!r} does not exist. {FOLDER_HINT}")
        self.provenance, messages = self.store.read_provenance()
        if (more := len(messages) - MAX_WARNINGS) > 0:
            summary = f"{more} more files are damaged, or are not results of this sweep."
            messages[MAX_WARNINGS:] = [summary]
        for message in messages:
            warnings.warn(message, stacklevel=2)
        if not self.provenance:
            raise ValueError(f"folder {str(folder)!r} holds no results. {FOLDER_HINT}")
        self._connection = duckdb.connect()
        for table, view in zip(TABLES, ("runs", "stored_curves"), strict=True):
            files = [str(self.store.path(table, id)) for id in self.provenance]
            self._connection.read_parquet(files, union_by_name=True).create_view(view)
        self._connection.execute(CURVES_VIEW)

    def runs(self) -> Columns:
        """Return the columns of the table `runs`, sorted by setting and seed."""
        return self.sql(f"SELECT * FROM runs ORDER BY {ROW_ORDER['runs']}")

    def base_names(self) -> dict[str, str]:
        """Return a map from values of the column `base` to the names that imported bases declare.

        The key of a base that is imported from a module begins with the name of its class, such as
        "MyBase-0.1". The value begins with the attribute `name` of the class instead, such as
        "my-base-0.1".
        """
        names = {}
        for facts in self.provenance.values():
            cell = facts["cell"]
            module, _, name = cell["base"].partition(":")
            label = cell["label"] or name
            if module and name and label.startswith(name) and "base_name" in facts:
                names[label] = facts["base_name"] + label.removeprefix(name)
        return names

    def curves(self, setting: str | None = None) -> Columns:
        """Return the columns seed, episode and regret of the setting with the id `setting`.

        The rows are sorted by seed and episode. Without `setting`, return all columns of the table
        `curves`, sorted by setting, seed and episode. Raise ValueError if there are no results of
        `setting`.
        """
        if setting is None:
            return self.sql(f"SELECT * FROM curves ORDER BY {ROW_ORDER['curves']}")
        if setting not in self._by_setting:
            raise ValueError(
                f"setting must be one of {reprlib.repr(sorted(self._by_setting))}, got {setting!r}."
            )
        return self._by_setting[setting]

    @cached_property
    def _by_setting(self) -> dict[str, Columns]:
        """Map from the id of each setting to its columns seed, episode and regret."""
        table = self.sql(f"SELECT * FROM stored_curves ORDER BY {ROW_ORDER['curves']}")
        names, starts = np.unique(table.pop("setting").astype(str), return_index=True)
        ends = np.append(starts[1:], table["seed"].size)
        return {
            str(name): {column: values[start:end] for column, values in table.items()}
            for name, start, end in zip(names, starts, ends, strict=True)
        }

    def sql(self, query: str, values: Sequence[object] = ()) -> Columns:
        """Return the columns of the result of `query`, which is written in the SQL of DuckDB.

        The query can use the tables `runs` and `curves`. `values` replace the placeholders `?` in
        the query.
        """
        columns = self._connection.execute(query, list(values)).fetchnumpy()
        return {name: fill_masked(column) for name, column in columns.items()}

    def frame(
        self, table: Literal["runs", "curves"] | Library = "runs", library: Library = "pandas"
    ) -> Any:
        """Return a table as a data frame.

        The rows are sorted by setting and seed; those of "curves" are then sorted by episode.

        Parameters
        ----------
        table : {"runs", "curves"}
            Name of the table. The name of a library is accepted too: `frame("polars")` is short for
            `frame("runs", "polars")`.
        library : {"pandas", "polars"}
            Library of the data frame, which must be installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The table.

        Raises
        ------
        ImportError
            If the library is not installed.
        """
        name: str = table
        if table == "pandas" or table == "polars":
            name, library = "runs", table
        check_choice("table", name, TABLES)
        check_choice("library", library, LIBRARIES)
        try:
            package = import_module(library)
        except ImportError:
            raise ImportError(
                f"A {library} data frame needs {library}: pip install {library}. "
                "runs() and curves() return arrays and need no other package."
            ) from None
        columns = self.sql(f"SELECT * FROM {name} ORDER BY {ROW_ORDER[name]}")
        # Polars reads texts from lists, not from arrays of objects.
        return package.DataFrame(
            {name: x.tolist() if x.dtype == object else x for name, x in columns.items()}
        )

    def plot(
        self,
        x: "X" = "episode",
        *,
        color: str | None = None,
        facet: str | Sequence[str] | None = None,
        ax: "Axes | None" = None,
        **where: Any,
    ) -> Any:
        """Draw regret over episodes, or final regret against the expected delay or another number.

        Lines are means over seeds, and bands contain the central 95 % of the runs. Every setting
        has a line of its own; settings are never averaged.

        Parameters
        ----------
        x : {"episode", "mean_delay", "states", "horizon"}
            Column on the x axis.
        color : str, optional
            Column whose values have different colours, such as "base". Other columns that vary are
            distinguished by dashes. By default it is the first column that varies.
        facet : str or sequence of str, optional
            Column whose values have different panels, such as "world".
        ax : Axes, optional
            Axes of Matplotlib to draw on, only without `facet`; by default those of a new figure.
        **where
            Values of columns to select, such as updater="lazy:10" or world=["chain-5", "chain-10"].

        Returns
        -------
        Axes or NDArray
            Axes, or an array of axes if `facet` is given.
        """
        import belated

        return belated.plot(self, ax=ax, x=x, color=color, facet=facet, **where)

    def summary(self) -> Columns:
        """Return the columns of a table with one row per setting.

        The columns are the id of the setting, the columns in `PARTS`, the numbers of episodes and
        runs, the mean and the central 95 % of the final regret (mean_regret, low, high), the mean
        number of updates, and the number of runs in which optimism held in every episode
        (optimism_held).
        """
        known = [row[0] for row in self._connection.execute("DESCRIBE runs").fetchall()]
        parts = ", ".join(f"any_value({name}) AS {name}" for name in PARTS if name in known)
        return self.sql(
            f"""
            SELECT setting, {parts}, any_value(episodes) AS episodes, count(*) AS runs,
                   avg(total_regret) AS mean_regret,
                   quantile_cont(total_regret, 0.025) AS low,
                   quantile_cont(total_regret, 0.975) AS high,
                   avg(updates) AS updates,
                   count_if(optimism_broken = 0)::BIGINT AS optimism_held
            FROM runs GROUP BY setting ORDER BY min(world), min(base), min(mean_delay), setting
            """
        )

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: facts about the results, and a table of settings."""
        rows = self.summary()
        settings = rows["setting"].size
        parts = varied(rows)
        texts = {name: map(str, rows[name]) for name in parts} | {
            "runs": map("{:,}".format, rows["runs"]),
            "mean regret": map("{:,.4g}".format, rows["mean_regret"]),
            "central 95%": map("{:,.4g} to {:,.4g}".format, rows["low"], rows["high"]),
        }
        listed = islice(zip(*texts.values(), strict=True), MAX_LISTED_SETTINGS)
        table = format_table(listed, head=list(texts))
        common = {name: rows[name][0] for name in PARTS[:4] if name not in parts}
        more = settings - MAX_LISTED_SETTINGS
        facts = {"folder": self.store.folder, "cells": f"{len(self.provenance):,}", **common}
        note = f"<p>{more:,} more settings: see summary().</p>" if more > 0 else ""
        return describe("Results", facts, table, note)

    def __repr__(self) -> str:
        # read in full: DuckDB 2 rejects further queries while a result is partly read
        found = self.sql("SELECT count(*) AS runs, sum(episodes)::BIGINT AS episodes FROM runs")
        return (
            f"Results({str(self.store.folder)!r}, {len(self.provenance):,} cells, "
            f"{found['runs'][0]:,} runs, {found['episodes'][0]:,} episodes)"
        )


def varied(table: Mapping[str, np.ndarray], columns: Sequence[str] = PARTS) -> list[str]:
    """Return those of `columns` that have more than one distinct value in `table`."""
    return [name for name in columns if name in table and len(set(table[name])) > 1]


def fill_masked(column: Any) -> np.ndarray:
    """Return the masked array `column` as a plain array.

    Masked numbers become NaN, and other masked values become None.
    """
    if not np.ma.is_masked(column):
        return np.asarray(column)
    fill = np.nan if column.dtype.kind in "biuf" else None
    return np.asarray(np.where(column.mask, fill, column.data))


def results(folder: Path | str) -> Results:
    """Return the results that a sweep stored in `folder`; see `Results`."""
    return Results(folder)
