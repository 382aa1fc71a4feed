"""Callbacks: called at each checkpoint with the regret so far, without effect on the results."""

import csv
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.callbacks import CSVLogger, TensorBoard
from ways import difference

SETTING: dict[str, Any] = {
    "base": bl.UCRL2(scale=0.1),
    "updater": bl.Lazy(2),
    "delay": bl.delays.geometric(5),
    "episodes": 205,
    "every": 20,
}


def points(run: bl.Run) -> list[bl.RunSoFar]:
    """Return the checkpoints that a run must report."""
    pairs = zip(run.episode.tolist(), run.regret.tolist(), strict=True)
    return [bl.RunSoFar(run.seed, run.episodes, *pair) for pair in pairs]


@pytest.mark.parametrize("updater", [bl.Lazy(2), bl.MultiInstance()], ids=["lazy", "multi"])
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_each_checkpoint_is_reported_once_with_its_regret(engine: Any, updater: Any) -> None:
    setting = {**SETTING, "updater": updater, "engine": engine, "seed": 3}
    seen: list[bl.RunSoFar] = []
    run = bl.simulate(bl.chain(4), **setting, on_checkpoint=seen.append)
    assert seen == points(run)
    assert seen[-1].episode == 205
    assert difference(run, bl.simulate(bl.chain(4), **setting)) is None


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_an_exception_of_the_callback_stops_the_run(engine: Any) -> None:
    seen = []

    def stop(run: bl.RunSoFar) -> None:
        seen.append(run.episode)
        if run.episode == 40:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        bl.simulate(bl.chain(4), **SETTING, engine=engine, on_checkpoint=stop)
    assert seen == [20, 40]


def test_simulate_many_reports_every_seed_in_the_calling_thread() -> None:
    seen: list[bl.RunSoFar] = []
    threads = set()

    def note(run: bl.RunSoFar) -> None:
        seen.append(run)
        threads.add(threading.current_thread())

    runs = bl.simulate_many(bl.chain(4), **SETTING, seeds=[4, 1], threads=2, on_checkpoint=note)
    for run in runs:
        assert [point for point in seen if point.seed == run.seed] == points(run)
    assert threads == {threading.current_thread()}
    assert len(seen) == 2 * len(runs[0].episode)


def test_an_exception_of_the_callback_stops_all_runs() -> None:
    def stop(run: bl.RunSoFar) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        bl.simulate_many(bl.chain(4), **SETTING, seeds=range(3), on_checkpoint=stop)


def test_a_callback_that_is_not_a_function_is_rejected_before_the_run() -> None:
    message = r"^on_checkpoint must be a function of a RunSoFar, got 5\.$"
    with pytest.raises(TypeError, match=message):
        bl.simulate(bl.chain(4), **SETTING, on_checkpoint=5)
    with pytest.raises(TypeError, match=message):
        bl.simulate_many(bl.chain(4), **SETTING, seeds=[1], on_checkpoint=5)


def test_the_csv_logger_appends_a_line_for_each_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "regret.csv"
    first = bl.simulate(bl.chain(4), **SETTING, seed=1, on_checkpoint=CSVLogger(path))
    second = bl.simulate(bl.chain(4), **SETTING, seed=2, on_checkpoint=CSVLogger(str(path)))
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["seed", "episodes", "episode", "regret"]
    assert [float(row["regret"]) for row in rows] == [*first.regret, *second.regret]
    assert [int(row["seed"]) for row in rows] == [1] * 11 + [2] * 11


class Writer:
    """Writer of TensorBoard that keeps everything in memory."""

    made: dict[str, "Writer"]

    def __init__(self, folder: str) -> None:
        self.scalars: dict[str, list[tuple[int, float]]] = {}
        self.closed = False
        self.made[Path(folder).name] = self

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        assert not self.closed
        self.scalars.setdefault(tag, []).append((step, value))

    def flush(self) -> None:
        assert not self.closed

    def close(self) -> None:
        self.closed = True


def test_the_tensorboard_callback_writes_one_curve_for_each_seed(tmp_path: Path) -> None:
    Writer.made = {}
    callback = TensorBoard(tmp_path, make_writer=Writer)
    runs = bl.simulate_many(bl.chain(4), **SETTING, seeds=[4, 1], on_checkpoint=callback)
    assert set(Writer.made) == {"seed-4", "seed-1"}
    for run in runs:
        writer = Writer.made[f"seed-{run.seed}"]
        steps = run.episode.tolist()
        assert writer.closed
        assert writer.scalars["regret"] == list(zip(steps, run.regret.tolist(), strict=True))
        means = np.array([value for _, value in writer.scalars["regret per episode"]])
        np.testing.assert_array_equal(means, run.regret / run.episode)


def test_without_tensorboard_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.summary", None)
    with pytest.raises(ImportError, match=r"pip install 'belated\[tensorboard\]'\.$"):
        TensorBoard(tmp_path)


def test_a_run_is_written_by_the_real_writer_of_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    bl.simulate(bl.chain(4), **SETTING, seed=1, on_checkpoint=TensorBoard(tmp_path))
    [file] = (tmp_path / "seed-1").iterdir()
    assert file.stat().st_size > 500
