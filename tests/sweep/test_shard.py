"""Shards: disjoint parts that together are the whole sweep, of about the same cost."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from belated.cli.main import app
from belated.papers.howson2021.grid import PRESETS, cells
from belated.sweep.cost import expected_cost, select_shard
from small_study import bytes_of

GRID = cells(PRESETS["quick"], "figures")


@pytest.mark.parametrize("count", [1, 3, 4])
def test_the_shards_are_disjoint_and_together_the_whole_sweep(count: int) -> None:
    parts = [select_shard(GRID, f"{i}/{count}") for i in range(1, count + 1)]
    assert sorted(cell.id for part in parts for cell in part) == sorted(cell.id for cell in GRID)
    assert parts[0] == select_shard(GRID[::-1], f"1/{count}")


def test_shards_have_about_the_same_expected_cost() -> None:
    costs = [sum(map(expected_cost, select_shard(GRID, f"{i}/8"))) for i in range(1, 9)]
    assert max(costs) < 1.1 * min(costs)


@pytest.mark.parametrize("text", ["0/4", "5/4", "3", "a/b", "-1/2", "1/2/3", ""])
def test_an_invalid_shard_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="such as 3/16"):
        select_shard(GRID, text)


STUDY = """\
name = "parts"
episodes = 60
seeds = 7
worlds = ["chain-3"]
bases = ["ucbvi-ch"]
updaters = ["active", "lazy:2"]
delays = ["constant:0", "geometric:5"]
"""


def test_the_parts_of_a_sweep_write_the_files_of_the_whole_sweep(tmp_path: Path) -> None:
    (tmp_path / "parts.toml").write_text(STUDY)

    def sweep(folder: str, *options: str) -> str:
        study = str(tmp_path / "parts.toml")
        done = CliRunner().invoke(app, ["sweep", study, "--out", str(tmp_path / folder), *options])
        assert done.exit_code == 0, done.output
        return done.output

    sweep("whole")
    for i in range(1, 4):
        output = sweep("parts", "--shard", f"{i}/3")
        assert f"Part {i}/3: " in output
        assert "When all parts are finished" in output
    assert "0 cells run, 8 already finished" in sweep("parts")
    assert bytes_of(tmp_path / "parts") == bytes_of(tmp_path / "whole")
