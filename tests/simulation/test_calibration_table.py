import json
import subprocess
import sys

import pytest

from belated.simulation.calibration_table import (
    CalibrationTask,
    calibrate_table,
    read_table,
)

TASKS = [
    CalibrationTask(world="chain-3", base="ucbvi-ch", delay=delay, episodes=episodes, runs=4)
    for delay, episodes in (("constant:0", 20), ("geometric:5", 30))
]


def test_processes_find_what_one_process_finds_and_write_it_in_the_same_order(tmp_path):
    alone = calibrate_table(TASKS, path=tmp_path / "alone.json")
    together = calibrate_table(TASKS, path=tmp_path / "together.json", jobs=2)
    assert alone == together
    assert [row.task for row in alone] == TASKS
    assert (tmp_path / "alone.json").read_bytes() == (tmp_path / "together.json").read_bytes()
    assert read_table(tmp_path / "alone.json") == alone


def test_a_setting_that_no_scale_makes_optimistic_is_reported_without_a_scale():
    base = "threshold_base:Threshold:inf"
    [row] = calibrate_table([CalibrationTask(world="chain-3", base=base, episodes=20, runs=4)])
    assert (row.scale, row.mean_regret, row.held) == (None, None, 0)


@pytest.mark.parametrize("content", ["{", "[{}]", json.dumps([{"world": "chain-3"}])])
def test_a_file_that_is_no_table_is_rejected(tmp_path, content):
    (tmp_path / "scales.json").write_text(content)
    with pytest.raises(ValueError, match=r"must be a file written by `belated calibrate --table`"):
        calibrate_table(TASKS, path=tmp_path / "scales.json")


def test_calibration_needs_no_duckdb():
    code = (
        "import sys; sys.modules.update(duckdb=None); import belated.simulation.calibration_table"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
