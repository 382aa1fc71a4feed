"""`belated reproduce`, `sweep` and `figures`, end to end on something small."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from belated.cli.main import main
from belated.papers.howson2021 import grid, measurements
from belated.sweep.store import Store


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """The exit code of a command."""
    monkeypatch.setattr(sys, "argv", ["belated", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One short chain in place of four long ones, and two figures in place of four."""
    monkeypatch.setattr(grid, "CHAINS", (5,))
    monkeypatch.setattr(grid, "REGRET_FIGURE_MEANS", (300,))
    preset = grid.Preset(seeds=2, episodes={5: 100})
    monkeypatch.setitem(grid.PRESETS, "quick", preset)
    monkeypatch.setattr(measurements, "EXPLORATION_CHAINS", (3, 4))
    monkeypatch.setattr(measurements, "EXPLORATION_SEEDS", 5)


@pytest.mark.usefixtures("small")
def test_one_command_leaves_figures_numbers_claims_and_a_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # no line is wrapped
    assert call(monkeypatch, "reproduce", "howson2021", "--out", tmp_path) == 0
    printed = capsys.readouterr().out
    assert "126 cells run, 0 already finished." in printed
    assert "Active updating gives the best performance" in printed
    assert "No run is as long as the paper's" in printed
    drawn = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert drawn == [
        f"{name}.{kind}"
        for name in ("01-chain-5-regret-300", "02-chain-5-delay")
        for kind in ("pdf", "png")
    ]
    numbers = (tmp_path / "numbers.md").read_text()
    assert "| Claim | Outcome |" in numbers
    assert "| In the paper | File | Title |" in numbers
    claims = {one["name"]: one for one in json.loads((tmp_path / "claims.json").read_text())}
    assert len(claims) == 19
    for one in claims.values():
        assert one["verdict"] in ("confirmed", "refuted", "not resolved", "not tested")
        assert one["outcome"].startswith(one["verdict"])
        assert ("not tested" in one["outcome"]) == (not one["details"])
    [*_, learnt] = claims["inefficient-exploration"]["details"]
    assert set(learnt["numbers"]["mean episodes / 2^S"]) == {"estimate", "low", "high"}
    page = (tmp_path / "report.html").read_text()
    assert "Claims" in page
    assert "belated reproduce howson2021 --preset quick --variant figures" in page

    assert "not resolved" in page

    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert call(monkeypatch, "figures", tmp_path) == 0
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.usefixtures("small")
def test_ctrl_c_leaves_with_130_and_keeps_what_was_finished(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual, saved = Store.save, []

    def save(self: Store, *facts: Any) -> None:
        if len(saved) == 3:
            raise KeyboardInterrupt
        saved.append(facts)
        usual(self, *facts)

    monkeypatch.setattr(Store, "save", save)
    assert call(monkeypatch, "reproduce", "--out", tmp_path) == 130
    assert "Interrupted: 3 of 126 cells are finished and stored" in capsys.readouterr().err
    monkeypatch.undo()
    assert len(Store(tmp_path).read_provenance()[0]) == 3


def test_a_full_disk_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def save(self: Store, *facts: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "save", save)
    assert call(monkeypatch, "sweep", study_file(tmp_path), "--out", tmp_path / "out") == 1
    assert "is full. Finished cells are stored" in capsys.readouterr().err


def test_a_study_is_played_summed_up_and_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert call(monkeypatch, "sweep", study_file(tmp_path), "--out", out) == 0
    printed = capsys.readouterr().out
    assert "All settings: chain-3, ucrl2.\n" in printed
    [row] = [line for line in printed.splitlines() if line.split()[:2] == ["poisson:5", "lazy:10"]]
    assert row.endswith("of 3 ")
    assert "4 cells run, 0 already finished" in printed
    assert f"All columns of each setting: {out / 'summary.csv'}" in printed
    monkeypatch.setenv("COLUMNS", "40")
    assert call(monkeypatch, "sweep", study_file(tmp_path), "--out", out) == 0
    narrow = capsys.readouterr().out
    assert "Mean regret" in narrow
    assert "Optimism held" not in narrow
    rows = list(csv.DictReader((out / "summary.csv").read_text().splitlines()))
    assert [row["runs"] for row in rows] == ["3"] * 4
    assert rows[-1]["setting"] == "chain-3/ucrl2/poisson-5/lazy-10"
    assert json.loads((out / "study.json").read_text())["study"] == "small"
    assert call(monkeypatch, "figures", out) == 0
    assert (
        (out / "figures" / "regret_chain-3_ucrl2_by-updater.png")
        .read_bytes()
        .startswith(b"\x89PNG")
    )


def study_file(folder: Path) -> Path:
    """A study of a few runs."""
    path = folder / "study.toml"
    path.write_text(
        'name = "small"\nepisodes = 100\nseeds = 3\nworlds = ["chain-3"]\nbases = ["ucrl2"]\n'
        'updaters = ["active", "lazy:10"]\ndelays = ["constant:0", "poisson:5"]\n'
    )
    return path
