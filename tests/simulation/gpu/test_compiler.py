"""The GPU compiler: errors in one sentence, exact arithmetic, and the self-test."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.simulation.gpu import GpuMismatchError, selftest
from belated.simulation.gpu.batch import Prepared
from belated.simulation.simulation import Simulation
from gpus import needs_gpu

pytestmark = needs_gpu


def run_python(code: str, **environment: str) -> str:
    """Return what a new process writes to stdout and stderr."""
    given = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0", **environment}
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True)
    return done.stdout + done.stderr


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names}:
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
"""
SIMULATE = """
import belated as bl

bl.simulate("chain-3", engine="gpu", base="ucbvi-ch", updater="active", episodes=5)
"""


def test_without_numba_cuda_the_error_names_the_extra() -> None:
    said = run_python(BLOCKED.format(names=("numba_cuda",)) + SIMULATE)
    assert "The GPU engine needs numba-cuda: pip install 'belated[gpu]'." in said


def test_without_a_gpu_the_error_is_one_sentence() -> None:
    said = run_python(SIMULATE, CUDA_VISIBLE_DEVICES="")
    assert said.splitlines()[-1].startswith(
        "belated.simulation.gpu.GpuUnavailableError: The GPU engine needs "
    )


def test_cells_are_computed_without_duckdb_and_pydantic() -> None:
    code = BLOCKED.format(names=("duckdb", "pydantic", "matplotlib"))
    code += "from belated.sweep.on_gpu import run_cells_on_gpu\n"
    code += "from belated.papers.howson2021.grid import cells\nprint('imported')"
    assert run_python(code).strip() == "imported"


def test_a_backup_with_other_bits_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    @bl.backup
    def bonus(constants: Any, stage: Any, row: Any) -> float:
        return row.reward + constants[0] * row.n

    class Own(bl.Base):
        name = "own"

        def backup_rule(self, shape: bl.Shape, episodes: int) -> bl.BackupRule:
            return bl.BackupRule(bonus, np.array([0.1]))

    prepared = Prepared(
        Simulation(world=bl.world("chain-3"), base=Own(), updater="active", episodes=9)
    )
    on_cpu, on_gpu = selftest.testers(prepared.kind.backup)

    def differently(horizon: int, samples: selftest.Samples) -> None:
        on_cpu(horizon, samples)
        samples.out[:] *= 1 + 2**-52

    monkeypatch.setattr(selftest, "testers", lambda function: (differently, on_gpu))
    with pytest.raises(
        GpuMismatchError, match=r"other bits than the CPU in \d+ of \d+ random rows"
    ):
        selftest.check_backup(prepared.kind.backup, prepared.problem)
    monkeypatch.undo()
    selftest.check_backup(prepared.kind.backup, prepared.problem)
