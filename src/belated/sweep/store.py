"""Store: folder of the results of a sweep. A crash does not damage finished cells.

    runs/chain-30/ucrl2/geometric-100/lazy-10/seeds-0-4.parquet      one row per run
    curves/...                                                       one row per checkpoint
    provenance/....json                                              versions, seconds, checksums

The Parquet files depend only on the cell, so that computing a cell again gives bit-identical files.
The provenance file is written last. A cell is finished if its provenance file exists and contains
the digest of the cell, and if the checksums of both Parquet files match.

DuckDB is imported when the first file is written, so that cells can be computed where it is not
installed.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import belated
from belated.delays import parse as parse_delay
from belated.delays.laws import LAW_NAMES
from belated.files import replace_atomically, write_atomically
from belated.mdp.worlds import world as parse_world
from belated.options import part_name
from belated.simulation.run import Run
from belated.sweep.bands import Columns
from belated.sweep.cell import Cell

Provenance = dict[str, Any]
"""Content of a provenance file: digest, cell, checksums, duration, versions and machine."""

TABLES = ("runs", "curves")

RUN_FIELDS = (
    *("seed", "total_regret", "updates", "epochs", "max_missing", "optimism_broken"),
    *("instances", "last_explored", "longest_delay", "missing", "mean_delay", "psi"),
)
"""Attributes of a `Run` that are stored as columns, in the order of the columns."""


class Store:
    """Folder with the results of a study."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def path(self, table: str, id: str) -> Path:
        """Return the path of one of the three files of the cell with the id `id`.

        `table` selects the file: "runs", "curves" or "provenance".
        """
        suffix = "json" if table == "provenance" else "parquet"
        return self.folder / table / f"{id}.{suffix}"

    def save(self, cell: Cell, runs: Sequence[Run], seconds: float) -> None:
        """Store the results of a cell. The cell is finished afterwards.

        Parameters
        ----------
        cell : Cell
            The cell.
        runs : Sequence[Run]
            Runs of the cell, one per seed.
        seconds : float
            Time that the runs took, in seconds.
        """
        tables = {"curves": curve_columns(cell, runs), "runs": run_columns(cell, runs)}
        checksums = {
            table: checksum(write_parquet(columns, self.path(table, cell.id)))
            for table, columns in tables.items()
        }
        facts = {
            "digest": cell.digest,
            "cell": {**asdict(cell), "id": cell.id},
            "base_name": part_name(cell.parse_base()),
            "sha256": checksums,
            "seconds": round(seconds, 3),
            "versions": versions(),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        }
        write_atomically(self.path("provenance", cell.id), json.dumps(facts, indent=1).encode())

    def is_finished(self, cell: Cell) -> bool:
        """Return whether the results of `cell` are stored, and match its digest and checksums."""
        try:
            return bool(self.provenance(cell.id)["digest"] == cell.digest)
        except ValueError:
            return False

    def provenance(self, id: str) -> Provenance:
        """Return the provenance of the finished cell with the id `id`.

        Raise ValueError if it is missing or invalid, or if a Parquet file of the cell is missing or
        does not match its checksum.
        """
        path = self.path("provenance", id)
        try:
            facts: Provenance = json.loads(path.read_bytes())
            stored = [facts["sha256"].get(table) for table in TABLES]
            valid = {"digest", "cell"} <= facts.keys()
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            valid = False
        if not valid:
            raise ValueError(f"{path} is not a provenance file.")
        try:
            found = [checksum(self.path(table, id).read_bytes()) for table in TABLES]
        except OSError:
            found = []
        if found != stored:
            raise ValueError(f"{self.path('runs', id)} or its curves are damaged or modified.")
        return facts

    def read_provenance(self) -> tuple[dict[str, Provenance], list[str]]:
        """Read all provenance files, and check the checksums of the Parquet files.

        Return a map from the id of each finished cell to its provenance, and a list of messages
        about files that are invalid or have no provenance file.
        """
        finished: dict[str, Provenance] = {}
        messages = []
        known = dict.fromkeys(file_ids(self.folder / "provenance", "json"))
        for id in known:
            try:
                finished[id] = self.provenance(id)
            except ValueError as error:
                messages.append(str(error))
        for table in TABLES:
            for id in file_ids(self.folder / table, "parquet"):
                if id not in known:
                    messages.append(
                        f"{self.path(table, id)} has no provenance file; it is incomplete, or not "
                        "a result of this sweep."
                    )
        return finished, messages


def checksum(data: bytes) -> str:
    """Return the SHA-256 of `data` as hex digits."""
    return hashlib.sha256(data).hexdigest()


def file_ids(root: Path, suffix: str) -> Iterator[str]:
    """Yield the path of each file in `root` and its subfolders that has the suffix `suffix`.

    The paths are relative to `root`, without suffix, and sorted.
    """
    for path in sorted(root.rglob(f"*.{suffix}")):
        yield path.relative_to(root).with_suffix("").as_posix()


@cache
def versions() -> dict[str, str]:
    """Return a map from "python" and the packages that affect results to their versions."""
    packages = {name: version(name) for name in ("numpy", "numba", "scipy", "duckdb")}
    return {"belated": belated.__version__, "python": platform.python_version(), **packages}


def run_columns(cell: Cell, runs: Sequence[Run]) -> Columns:
    """Return the columns of the table "runs" for the `runs` of `cell`, with one row per run."""
    H, S, A = parse_world(cell.world).shape.table
    options = ("episodes", "stages", "rewards", "late", "delay_per")
    constant: dict[str, Any] = {
        "setting": cell.setting,
        "world": cell.world,
        "base": cell.base_label,
        "delay": cell.delay,
        "law": LAW_NAMES.split(cell.delay)[0],
        "mean_delay": float(parse_delay(cell.delay).mean),
        "updater": cell.updater,
        "states": S,
        "actions": A,
        "horizon": H,
        **{name: getattr(cell, name) for name in options},
    }
    columns = {name: np.full(len(runs), value) for name, value in constant.items()}
    for name in RUN_FIELDS:
        column = "observed_delay" if name == "mean_delay" else name
        columns[column] = np.array([getattr(run, name) for run in runs])
    # Last alpha of a lazy updater that chooses alpha automatically, otherwise NaN.
    alphas = [np.nan if run.alpha is None else run.alpha[-1] for run in runs]
    columns["alpha"] = np.array(alphas, np.float64)
    return columns


def curve_columns(cell: Cell, runs: Sequence[Run]) -> Columns:
    """Return the columns of the table "curves" for the `runs` of `cell`.

    The table has one row per run and checkpoint.
    """
    checkpoints = runs[0].episode.size
    return {
        "setting": np.full(len(runs) * checkpoints, cell.setting),
        "seed": np.repeat([run.seed for run in runs], checkpoints),
        "episode": np.concatenate([run.episode for run in runs]),
        "regret": np.concatenate([run.regret for run in runs]),
    }


@cache
def _open_duckdb(process: int) -> Any:
    """Return a DuckDB database in memory. It is cached, because opening one takes 20 ms.

    `process` is the id of this process, so that a forked process opens a database of its own.
    """
    import duckdb

    return duckdb.connect(config={"threads": 1})


def write_parquet(columns: Columns, path: Path) -> bytes:
    """Write `columns` atomically to the Parquet file `path`, and return the bytes of the file.

    Raise OSError if the file cannot be written.
    """
    import duckdb

    try:
        with (
            replace_atomically(path) as part,
            _open_duckdb(os.getpid()).cursor() as connection,
        ):
            target = str(part).replace("'", "''")
            connection.execute(  # DuckDB finds the variable `columns` by its name
                f"COPY (SELECT * FROM columns) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
            )
    except duckdb.IOException as error:
        raise OSError(f"{path} could not be written: {error}") from None
    return path.read_bytes()
