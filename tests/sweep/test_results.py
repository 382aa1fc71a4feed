"""Results: data frames, and curves with the parts of their setting."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import belated as bl
from belated.cli.main import app
from belated.sweep.results import Results
from belated.sweep.store import Store
from belated.sweep.sweep import sweep
from small_study import STUDY

CURVE_COLUMNS = ["setting", "world", "base", "updater", "delay", "seed", "episode", "regret"]
SETTING = "chain-4/ucrl2/geometric-5/lazy-2"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("results")
    cells = replace(STUDY, episodes=40, seeds=2).cells()
    sweep(cells, Store(folder), threads=1, progress=False)
    return bl.results(folder)


def test_a_frame_is_a_pandas_frame_of_the_runs(results: Results) -> None:
    pandas = pytest.importorskip("pandas")
    frame = results.frame()
    assert isinstance(frame, pandas.DataFrame)
    runs = results.runs()
    assert list(frame.columns) == list(runs)
    assert frame["setting"].tolist() == runs["setting"].tolist()
    assert frame["total_regret"].tolist() == runs["total_regret"].tolist()
    assert results.frame("runs").equals(frame)
    assert results.frame("pandas").equals(frame)


def test_a_frame_of_curves_names_world_base_updater_delay_and_seed(results: Results) -> None:
    pytest.importorskip("pandas")
    frame = results.frame("curves")
    assert list(frame.columns) == CURVE_COLUMNS
    assert len(frame) == 8 * 2 * 40
    parts = frame[CURVE_COLUMNS[:5]].drop_duplicates()
    assert len(parts) == 8
    [mine] = parts[parts["setting"] == SETTING].to_dict("records")
    assert mine == {
        "setting": SETTING,
        "world": "chain-4",
        "base": "ucrl2",
        "updater": "lazy:2",
        "delay": "geometric:5",
    }
    one = frame[frame["setting"] == SETTING]
    for name, column in results.curves(SETTING).items():
        assert one[name].tolist() == column.tolist()


def test_a_frame_can_be_a_polars_frame(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[dict[str, Any]] = []
    polars = SimpleNamespace(DataFrame=lambda columns: taken.append(columns) or "a Polars frame")
    monkeypatch.setitem(sys.modules, "polars", polars)  # type: ignore[arg-type]
    assert results.frame("polars") == results.frame("curves", "polars") == "a Polars frame"
    runs, curves = taken
    assert runs["total_regret"].tolist() == results.runs()["total_regret"].tolist()
    assert list(curves) == CURVE_COLUMNS
    assert isinstance(curves["world"], list)


def test_a_missing_library_and_unknown_names_are_explained(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)  # type: ignore[arg-type]
    with pytest.raises(ImportError, match=r"needs polars: pip install polars\. runs\(\) and"):
        results.frame("polars")
    with pytest.raises(
        ValueError,
        match=r"^table must be one of .* got 'run'\. Did you mean 'runs'\?$",
    ):
        results.frame("run")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^library must be one of 'pandas', 'polars', got "):
        results.frame("runs", "arrow")  # type: ignore[arg-type]


def test_an_own_base_is_labelled_by_its_name_in_figures(tmp_path: Path) -> None:
    bases: list[Any] = [{"name": "own_parts:OwnBase", "scale": 0.1}, "ucrl2"]
    study = replace(
        STUDY, episodes=5, seeds=1, worlds=["chain-3"], delays=["constant:0"], bases=bases
    )
    sweep(study.cells(), Store(tmp_path), threads=1, progress=False)
    results = bl.results(tmp_path)
    assert set(results.runs()["base"]) == {"OwnBase-0.1", "ucrl2"}
    assert results.base_names() == {"OwnBase-0.1": "own-0.1"}
    axes = results.plot(world="chain-3", updater="active", delay="constant:0")
    labels = [line.get_label() for line in axes.get_lines()]
    assert [label for label in labels if label[0] != "_"] == ["own-0.1", "UCRL2"]
    (tmp_path / "study.json").write_text('{"command": "belated sweep x"}')
    done = CliRunner().invoke(app, ["figures", str(tmp_path)])
    assert "_own-0.1_by-updater" in done.stdout
    assert "OwnBase" not in done.stdout
