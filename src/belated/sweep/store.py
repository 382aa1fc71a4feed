"""Where results live: a folder of plain Parquet, written so that nothing finished is ever lost.

    runs/chain-30/ucrl2/geometric-100/lazy-10/seeds-0-4.parquet      one row for each run
    curves/...                                                       one for each checkpoint of it
    provenance/....json                                              versions, seconds, checksums

The numbers' files hold nothing but what the cell determines, so they are the same bytes wherever
and however often they are made. The provenance is written last: a cell is finished when its
provenance is there, speaks of this very cell, and the checksums of both files agree.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import belated
from belated.delays import parse as parse_delay
from belated.simulation.run import Run
from belated.sweep.cell import Cell

Columns = dict[str, np.ndarray]
TABLES = ("runs", "curves")


class Store:
    """The folder of one study's results."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def path(self, table: str, id: str) -> Path:
        """The file of a cell in a table."""
        suffix = "json" if table == "provenance" else "parquet"
        return self.folder / table / f"{id}.{suffix}"

    def save(self, cell: Cell, runs: Sequence[Run], seconds: float) -> None:
        """Keep the runs of a cell; from then on it is finished."""
        sums = {}
        for table, columns in (
            ("curves", curve_columns(cell, runs)),
            ("runs", run_columns(cell, runs)),
        ):
            data = parquet(columns, self.path(table, cell.id))
            sums[table] = hashlib.sha256(data).hexdigest()
        facts = {
            "digest": cell.digest,
            "cell": {**asdict(cell), "id": cell.id},
            "sha256": sums,
            "seconds": round(seconds, 3),
            "versions": versions(),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        }
        text = json.dumps(facts, indent=1)
        write(self.path("provenance", cell.id), text.encode())

    def finished(self, cell: Cell) -> bool:
        """Whether this very cell is kept, whole."""
        facts = self.provenance(cell.id)
        return facts is not None and facts["digest"] == cell.digest and self.whole(cell.id, facts)

    def provenance(self, id: str) -> dict[str, Any] | None:
        """What is known of how a cell came about; None if nothing, or nothing legible."""
        try:
            facts = json.loads(self.path("provenance", id).read_bytes())
        except (OSError, ValueError):
            return None
        return (
            facts
            if isinstance(facts, dict) and {"digest", "sha256", "cell"} <= facts.keys()
            else None
        )

    def whole(self, id: str, facts: dict[str, Any]) -> bool:
        """Whether both files are there and have not changed since they were written."""
        try:
            return all(
                hashlib.sha256(self.path(table, id).read_bytes()).hexdigest()
                == facts["sha256"][table]
                for table in TABLES
            )
        except (OSError, KeyError):
            return False

    def ids(self) -> Iterator[str]:
        """The ids of all cells with a provenance, in order."""
        root = self.folder / "provenance"
        for path in sorted(root.rglob("*.json")):
            yield path.relative_to(root).with_suffix("").as_posix()

    def strangers(self) -> list[str]:
        """Sentences about files that are torn, or that no provenance speaks of."""
        found = []
        known = set()
        for id in self.ids():
            facts = self.provenance(id)
            if facts is None:
                found.append(f"{self.path('provenance', id)} is not a provenance file.")
            elif self.whole(id, facts):
                known.add(id)
            else:
                found.append(f"{self.path('runs', id)} or its curves are torn or changed.")
                known.add(id)
        for table in TABLES:
            root = self.folder / table
            for path in sorted(root.rglob("*.parquet")):
                if path.relative_to(root).with_suffix("").as_posix() not in known:
                    found.append(f"{path} has no provenance; it is foreign or unfinished.")
        return found


def versions() -> dict[str, str]:
    """Of everything that numbers or files depend on."""
    import numba
    import scipy

    return {
        "belated": belated.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scipy": scipy.__version__,
        "duckdb": duckdb.__version__,
    }


def run_columns(cell: Cell, runs: Sequence[Run]) -> Columns:
    """One row for each run."""
    setting = cell.build()
    law = parse_delay(cell.delay)
    shape = setting.world.shape
    fixed: dict[str, Any] = {
        "setting": cell.setting,
        "world": cell.world,
        "base": cell.shown_base,
        "delay": cell.delay,
        "law": cell.delay.split(":")[0],
        "mean_delay": float(law.mean),
        "updater": cell.updater,
        "states": shape.states,
        "actions": shape.actions,
        "horizon": shape.horizon,
        "episodes": cell.episodes,
        "stages": cell.stages,
        "rewards": cell.rewards,
        "late": cell.late,
        "delay_per": cell.delay_per,
    }
    columns = {name: np.full(len(runs), value) for name, value in fixed.items()}
    for name in ("seed", "total_regret", "updates", "epochs", "max_missing", "optimism_broken"):
        columns[name] = np.array([getattr(run, name) for run in runs])
    for name in ("instances", "last_explored", "longest_delay", "missing", "mean_delay", "psi"):
        column = "observed_delay" if name == "mean_delay" else name
        columns[column] = np.array([getattr(run, name) for run in runs])
    # the last alpha that was chosen; nan where none is
    chosen = [np.nan if run.alpha is None else run.alpha[-1] for run in runs]
    columns["alpha"] = np.array(chosen, np.float64)
    return columns


def curve_columns(cell: Cell, runs: Sequence[Run]) -> Columns:
    """One row for each run and checkpoint."""
    points = runs[0].episode.size
    return {
        "setting": np.full(len(runs) * points, cell.setting),
        "seed": np.repeat([run.seed for run in runs], points),
        "episode": np.concatenate([run.episode for run in runs]),
        "regret": np.concatenate([run.regret for run in runs]),
    }


def parquet(columns: Columns, path: Path) -> bytes:
    """Write columns as Parquet, all or nothing; returns the bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with duckdb.connect(config={"threads": 1}) as connection:
            target = str(part).replace("'", "''")
            connection.execute(
                f"COPY (SELECT * FROM columns) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
            )
        settle(part, path)
    except duckdb.IOException as error:
        raise OSError(f"{path} could not be written: {error}") from None
    finally:
        part.unlink(missing_ok=True)
    return path.read_bytes()


def write(path: Path, data: bytes) -> None:
    """Write a file, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        settle(part, path)
    finally:
        part.unlink(missing_ok=True)


def settle(part: Path, path: Path) -> None:
    """Make sure of the bytes, then give them their name in one step."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(part, path)
