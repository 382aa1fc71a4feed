"""Skip tests that need a GPU, or the simulator of one, and compare its runs with the CPU's."""

import os
import sys

import numpy as np
import pytest

import belated as bl
from belated.simulation.run import Run
from belated.simulation.setting import Setting

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed (extra 'gpu' or 'dev')")

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")

if not SIMULATED:
    from belated.simulation.gpu.compiler import check_device
    from belated.simulation.gpu.errors import GpuUnavailable

    try:
        check_device()
    except GpuUnavailable as error:
        pytest.skip(
            f"{error} `make simulated` runs this test in a simulator.", allow_module_level=True
        )
else:
    sys.setswitchinterval(5e-5)  # the simulator polls its threads

FIELDS = (
    *("seed", "episodes", "episode", "regret", "updates", "epochs", "max_missing"),
    *("optimism_broken", "instances", "last_explored", "longest_delay", "missing", "mean_delay"),
    *("psi", "in_flight", "world", "base", "updater", "delay"),
)


def size(simulated: int, on_gpu: int) -> int:
    """Return the number of episodes or examples: few in the simulator, which is slow."""
    return simulated if SIMULATED else on_gpu


def differences(expected: Run, got: Run) -> list[str]:
    """Return the names of the fields of two runs that are not equal to the bit."""
    return [
        name
        for name in FIELDS
        if np.asarray(getattr(expected, name)).tobytes() != np.asarray(getattr(got, name)).tobytes()
    ]


def assert_same_on_gpu(world: bl.MDP | str, *, seeds: tuple[int, ...] = (0, 5), **options: object) -> None:
    """Fail unless the GPU engine gives the same runs as the compiled engine."""
    from belated.simulation.gpu.many import run_on_gpu

    setting = Setting(world=bl.world(world) if isinstance(world, str) else world, **options)
    expected = [setting.run(seed) for seed in seeds]
    got = run_on_gpu(setting, seeds, lambda episodes: None)
    assert [differences(one, two) for one, two in zip(expected, got, strict=True)] == [[]] * len(
        seeds
    )
