"""Results on disk: damaged files are detected, and equal cells give equal bytes."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import belated as bl
from belated.sweep.cell import Cell
from belated.sweep.results import Results
from belated.sweep.store import Store
from belated.sweep.sweep import sweep
from processes import Program
from small_study import STUDY, bytes_of


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an uninterrupted sweep."""
    folder = tmp_path_factory.mktemp("whole")
    sweep(STUDY.cells(), Store(folder), threads=2)
    return folder


def test_a_sweep_reads_back_as_the_runs_it_played(whole: Path) -> None:
    results = Results(whole)
    runs = results.runs()
    assert runs["seed"].size == 8 * 7
    at = (runs["setting"] == "chain-4/ucrl2/geometric-5/lazy-2") & (runs["seed"] == 3)
    run = bl.simulate(
        bl.chain(4),
        base=bl.UCRL2(),
        updater=bl.Lazy(2),
        delay=bl.delays.geometric(5),
        episodes=300,
        seed=3,
        every=1,
    )
    for name in ("total_regret", "updates", "epochs", "max_missing", "longest_delay"):
        assert runs[name][at].tolist() == [getattr(run, name)]
    curve = results.curves("chain-4/ucrl2/geometric-5/lazy-2")
    mine = curve["seed"] == 3
    np.testing.assert_array_equal(curve["regret"][mine], run.regret[curve["episode"][mine] - 1])
    assert results.sql("SELECT count(*) AS n FROM curves WHERE seed = ?", [3])["n"][0] == 8 * 300


def test_results_can_be_read_right_after_they_were_printed(whole: Path) -> None:
    results = Results(whole)
    counts = f"{len(results.provenance)} cells, 56 runs, 16,800 episodes"
    for read in (results.frame, results.runs, results.frame):
        assert repr(results) == f"Results({str(whole)!r}, {counts})"
        assert len(read()["seed"]) == 56


def test_a_second_call_plays_nothing_and_more_seeds_play_only_the_new_ones(
    whole: Path, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    few = replace(STUDY, seeds=5).cells()
    assert sweep(few, store).computed == len(few)
    result = sweep(STUDY.cells(), store)
    assert (result.computed, result.skipped) == (8, 8)
    assert sweep(STUDY.cells(), store).computed == 0
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_threads_change_no_byte(whole: Path, tmp_path: Path) -> None:
    sweep(STUDY.cells(), Store(tmp_path), threads=1)
    assert bytes_of(tmp_path) == bytes_of(whole)


@pytest.mark.parametrize("table", ["runs", "curves"])
def test_a_damaged_file_is_named_ignored_and_computed_again(
    whole: Path, tmp_path: Path, table: str
) -> None:
    store = Store(tmp_path)
    cells = STUDY.cells()
    sweep(cells, store)
    path = store.path(table, cells[3].id)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(UserWarning, match="damaged or modified"):
        assert len(Results(tmp_path).provenance) == len(cells) - 1
    assert sweep(cells, store).computed == 1
    assert bytes_of(tmp_path) == bytes_of(whole)


def test_a_foreign_file_is_named_and_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sweep(STUDY.cells()[:1], store)
    foreign = tmp_path / "runs" / "holiday.parquet"
    foreign.write_bytes(b"not mine")
    with pytest.warns(UserWarning, match=r"holiday.parquet has no provenance"):
        Results(tmp_path)
    sweep(STUDY.cells()[:1], store)
    assert foreign.read_bytes() == b"not mine"


def test_a_file_of_another_cell_is_not_taken_for_this_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cell = STUDY.cells()[0]
    sweep([cell], store)
    other = Cell(**{**cell.__dict__, "episodes": 301})
    assert other.id == cell.id
    assert store.is_finished(cell)
    assert not store.is_finished(other)


def test_a_full_disk_keeps_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import belated.sweep.store as module

    store = Store(tmp_path)
    cells = STUDY.cells()[:4]
    original, saved = module.write_atomically, []

    def write_atomically(path: Path, data: bytes) -> None:
        if len(saved) == 2:
            raise OSError(28, "No space left on device")
        saved.append(path)
        original(path, data)

    monkeypatch.setattr(module, "write_atomically", write_atomically)
    with pytest.raises(OSError, match="No space left"):
        sweep(cells, store, threads=1)
    monkeypatch.undo()
    assert sum(store.is_finished(cell) for cell in cells) == 2
    assert sweep(cells, store).computed == 2


KILLED = """
import json, sys
from belated.sweep.store import Store
from belated.sweep.study import Study
from belated.sweep.sweep import sweep
sweep(Study(**json.loads(sys.argv[1])).cells(), Store(sys.argv[2]), threads=2)
"""


@pytest.mark.parametrize("part", [0.15, 0.4, 0.7])
def test_a_sweep_killed_at_any_moment_resumes_to_the_same_bytes(
    whole: Path, tmp_path: Path, part: float
) -> None:
    cells = STUDY.cells()
    store = Store(tmp_path)
    program = Program(KILLED, json.dumps({**vars(STUDY), "bases": ["ucrl2"]}), str(tmp_path))
    while len(store.read_provenance()[0]) < part * len(cells) and program.is_alive():
        time.sleep(0)
    program.kill()
    finished = sum(store.is_finished(cell) for cell in cells)
    assert sweep(cells, store).skipped == finished
    assert bytes_of(tmp_path) == bytes_of(whole)
