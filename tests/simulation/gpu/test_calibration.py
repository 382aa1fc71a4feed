"""Calibration of many settings on a GPU: the scales of the CPU, with runs that share rounds."""

import pytest

from belated.simulation.calibration_table import CalibrationTask, calibrate_table
from belated.simulation.gpu import compiler, engine
from gpus import needs_gpu, size

TASKS = [
    CalibrationTask(world=world, base="ucbvi-ch", delay=delay, episodes=30, runs=runs, level=level)
    for world, delay, runs, level in (
        ("chain-3", "constant:0", 4, 1.0),
        ("chain-3", "geometric:5", 30, 0.9),
        ("chain-4", "poisson:3", 25, 0.5),
    )
]


@pytest.fixture
def rounds(monkeypatch):
    """Compute runs on the CPU instead of a GPU, and record each round by settings and seeds."""
    made = []

    def run_jobs(jobs, on_slice):
        made.append(
            [(job.prepared.setting.base, job.prepared.setting.law.name, job.seed) for job in jobs]
        )
        for job in jobs:
            job.run = job.prepared.setting.run(job.seed)

    monkeypatch.setattr(compiler, "check_device", lambda: None)
    monkeypatch.setattr(engine, "run_jobs", run_jobs)
    return made


def test_settings_that_are_calibrated_together_get_the_scales_of_one_process(rounds, tmp_path):
    alone = calibrate_table(TASKS, path=tmp_path / "cpu.json")
    together = calibrate_table(TASKS, path=tmp_path / "gpu.json", device="gpu")
    assert together == alone
    assert (tmp_path / "gpu.json").read_bytes() == (tmp_path / "cpu.json").read_bytes()


def test_all_unfinished_settings_are_in_a_round_and_few_runs_test_a_new_scale(rounds):
    calibrate_table(TASKS, device="gpu")
    assert {law for _, law, _ in rounds[0]} == {"constant:0", "geometric:5", "poisson:3"}
    trials = {}
    for made in rounds:
        for law in {law for _, law, _ in made}:
            own = [(base, seed) for base, other, seed in made if other == law]
            assert len({base for base, _ in own}) == 1  # one scale of a setting at a time
            trials.setdefault((law, own[0][0]), []).append(len(own))
    assert {tuple(counts) for (law, _), counts in trials.items() if law == "geometric:5"} == {
        (20,),
        (20, 10),
    }


def test_settings_that_the_gpu_cannot_run_are_calibrated_on_the_cpu(rounds, capsys):
    checked = CalibrationTask(
        world="chain-3", base="ucbvi-ch", episodes=30, runs=4, optimism="everywhere"
    )
    found = calibrate_table([TASKS[0], checked], device="gpu")
    assert found == calibrate_table([TASKS[0], checked])
    said = "1 of 2 settings run on the CPU: optimism is checked everywhere (1)."
    assert said in capsys.readouterr().err
    assert all(len(made) == 4 for made in rounds)


@needs_gpu
def test_a_gpu_finds_the_same_scales_as_the_cpu():
    options = {"base": "ucbvi-ch", "runs": 2, "tolerance": 100.0}
    tasks = [
        CalibrationTask(world="chain-2", delay=delay, episodes=size(6, 500), **options)
        for delay in ("constant:0", "geometric:3")
    ]
    assert calibrate_table(tasks, device="gpu") == calibrate_table(tasks)
