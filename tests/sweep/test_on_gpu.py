"""Sweeps on a GPU: the same files as on the CPU, and a message about what runs on the CPU."""

import hashlib
from pathlib import Path

import pytest

from belated.sweep.cell import Cell
from belated.sweep.store import Store
from belated.sweep.sweep import sweep
from gpus import needs_gpu

pytestmark = needs_gpu


OPTIONS = {"world": "chain-3", "delay": "geometric:3", "episodes": 20, "seeds": (0, 1), "points": 4}
CELLS = [
    Cell(**OPTIONS, base="ucbvi-ch", updater="active"),
    Cell(**OPTIONS, base="ucbvi-ch", updater="explicit", stages="pooled"),
    Cell(**OPTIONS, base="q-learning", updater="active"),
]


def digests(folder: Path) -> dict[str, str]:
    """Return a digest of each Parquet file in `folder`."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*.parquet")
    }


def test_a_sweep_on_a_gpu_writes_the_same_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("duckdb", reason="only DuckDB writes the files")
    sweep(CELLS, Store(tmp_path / "cpu"), progress=False)
    done = sweep(CELLS, Store(tmp_path / "gpu"), device="gpu", progress=False)
    assert done.computed == len(CELLS)
    assert digests(tmp_path / "gpu") == digests(tmp_path / "cpu")
    said = capsys.readouterr().err
    assert said.count("run on the CPU") == 1
    assert "1 of 3 cells run on the CPU: the base q-learning learns from single steps (1)." in said


def test_an_unknown_device_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="device must be one of 'cpu', 'gpu', got 'tpu'"):
        sweep(CELLS, Store(tmp_path), device="tpu")
