"""Tests that need a GPU, or the simulator of one, and comparison of its runs with the CPU's."""

import sys
import threading
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.simulation.gpu import GpuUnavailableError
from belated.simulation.gpu.compiler import SIMULATED, check_device
from belated.simulation.gpu.engine import run_on_gpu
from belated.simulation.run import Run
from belated.simulation.simulation import Simulation


class Allocations(dict[Any, Any]):
    """Shared arrays of a simulated block by the line of code that creates them.

    The simulator looks an array up and stores a new one if there is none, which two threads may do
    at the same time. Here, a thread that finds none holds the lock until it has stored it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def get(self, key: Any, default: Any = None) -> Any:
        self._lock.acquire()
        found = super().get(key)
        if found is not None:
            self._lock.release()
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._lock.release()


def serialise_shared_memory() -> None:
    """Let the threads of a simulated block create each shared array once."""
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    initialise = FakeCUDAShared.__init__

    def initialise_with_lock(self: Any, size: int) -> None:
        initialise(self, size)
        self._allocations = Allocations()

    FakeCUDAShared.__init__ = initialise_with_lock


def why_no_gpu() -> str:
    """Return the reason why kernels cannot run here; empty if they can."""
    try:
        check_device()
    except GpuUnavailableError as error:
        return f"{error} `make simulated` runs this test in a simulator."
    return ""


needs_gpu = pytest.mark.skipif(why_no_gpu() != "", reason=why_no_gpu())

if SIMULATED and not why_no_gpu():
    sys.setswitchinterval(5e-5)  # the simulator polls its threads
    serialise_shared_memory()

BASES = {
    "ubev": bl.UBEV(scale=0.1),
    "ubev span": bl.UBEV(scale=0.1, range="span"),
    "ucbvi-ch": bl.UCBVI_CH(scale=0.01),
    "ucbvi-bf": bl.UCBVI_BF(scale=0.03, ties="random"),
    "ucbvi-bf two_term": bl.UCBVI_BF(preset="two_term", scale=0.03, monotone=True),
    "ucbvi-bf emp_bernstein": bl.UCBVI_BF(preset="emp_bernstein", scale=0.03),
    "ucrl2": bl.UCRL2(scale=0.1),
    "ucrl2 bonus": bl.UCRL2(scale=0.1, form="bonus", ties="random"),
    "ucrl2b": bl.UCRL2B(scale=0.03),
    "ucrl2b bonus": bl.UCRL2B(scale=0.03, form="bonus"),
    "kl-ucrl": bl.KL_UCRL(scale=0.1),
    "kl-ucrl bonus": bl.KL_UCRL(scale=0.1, form="bonus"),
    "chi2-ucrl": bl.Chi2_UCRL(scale=0.01),
    "chi2-ucrl bonus": bl.Chi2_UCRL(scale=0.01, form="bonus", ties="random"),
    "psrl": bl.PSRL(prior=0.5),
    "psrl update": bl.PSRL(resample="update"),
    "rlsvi": bl.RLSVI(scale=0.1),
    "rlsvi clipped": bl.RLSVI(0.2, k="K", clip=True, resample="update"),
    "epsilon-greedy": bl.EpsilonGreedy(epsilon=0.2),
    "random": bl.UniformRandom(),
    "optimal": bl.Optimal(),
}
UPDATERS = {
    "active": bl.Active(),
    "lazy": bl.Lazy(2),
    "explicit": bl.ExplicitExploration(threshold=7),
    "explicit by state": bl.ExplicitExploration(threshold=7, unit="sh", pooled=False),
    "explicit rare": bl.ExplicitExploration(threshold=3, draw="rare", pooled=False),
}

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


def assert_same_on_gpu(
    world: bl.MDP | str, *, seeds: tuple[int, ...] = (0, 5), **options: Any
) -> None:
    """Fail unless the GPU engine gives the same runs as the compiled engine."""
    setting = Simulation(world=bl.world(world) if isinstance(world, str) else world, **options)
    expected = [setting.run(seed) for seed in seeds]
    got = run_on_gpu(setting, seeds, lambda episodes: None)
    for one, two in zip(expected, got, strict=True):
        assert not (different := differences(one, two)), different
