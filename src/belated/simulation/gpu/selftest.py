"""Self-test of the GPU: backups of random rows must have the same bits as on the CPU."""

from functools import cache
from types import FunctionType
from typing import Any, Final, NamedTuple

import numpy as np

from belated.compiled import bind, inlined, kernel
from belated.episode import Floats
from belated.learner.backup import Row, Stage
from belated.learner.problem import LearningProblem
from belated.simulation.gpu import GpuMismatchError
from belated.simulation.gpu.compiler import (
    SIMULATED,
    compile_kernel,
    cuda,
    device,
    host_cuda,
    launch,
    on_device,
    on_gpu,
)

ROWS: Final = 64 if SIMULATED else 4096
"""Number of random rows with which each backup is tested."""

THREADS: Final = 2 if SIMULATED else 128
"""Number of threads of a block in the test."""

MAX_STATES: Final = 64
"""Largest number of states of the random rows."""


class Samples(NamedTuple):
    """Random inputs for ROWS calls of a backup.

    Call i reads entry i of each array, except `constants`, and `succ` and `m`, of which it reads
    `size[i]` entries from index i * S on.
    """

    constants: Any  # of the backup
    h: Any
    v: Any  # (rows, S)
    visits: Any  # (rows, S)
    order: Any  # (rows, S)
    n: Any
    reward: Any
    size: Any
    succ: Any  # (rows * S)
    m: Any  # (rows * S)
    out: Any  # results


def back_up(constants: Floats, stage: Stage, row: Row) -> Any:
    """Raise TypeError: this function is a placeholder that `testers` replaces by a backup."""
    raise TypeError("back_up_sample needs a backup, see check_backup.")


def back_up_sample(i: int, horizon: int, samples: Samples) -> None:
    """Compute Q_h(s, a) of sample number `i`; `horizon` is the number of steps."""
    v, order = samples.v[i], samples.order[i]
    S = v.size
    stage = Stage(
        int(samples.h[i]),
        horizon,
        v,
        samples.visits[i],
        v[order[0]],
        v[order[S - 1]],
        order,
        np.uint64(7),
        i,
        3 * i,
        v[:0],
    )
    lo = i * S
    hi, n = lo + int(samples.size[i]), int(samples.n[i])
    row = Row(i % S, 0, n, samples.reward[i], lo, hi, samples.succ, samples.m, i % S)
    samples.out[i] = back_up(samples.constants, stage, row)


def back_up_all(horizon: int, samples: Samples) -> None:
    """Compute all samples on the CPU."""
    for i in range(samples.out.size):
        back_up_sample(i, horizon, samples)


def back_up_one(horizon: int, samples: Samples) -> None:
    """Compute one sample in each thread of the GPU."""
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < samples.out.size:
        back_up_sample(i, horizon, samples)


def random_samples(constants: Floats, S: int, horizon: int) -> Samples:
    """Return random inputs of a backup for `S` states and `horizon` steps."""
    draw = np.random.default_rng(20261116)
    v = draw.uniform(0, 1, (ROWS, S)) * draw.choice([1.0, horizon], (ROWS, 1))
    v[draw.random((ROWS, S)) < 0.2] = 0.0  # ties
    size = draw.integers(1, S + 1, ROWS) if S > 1 else np.ones(ROWS, np.int64)
    size[draw.random(ROWS) < 0.05] = 0
    succ = np.zeros((ROWS, S), np.int32)
    for i, count in enumerate(size):
        succ[i, :count] = np.sort(draw.choice(S, count, replace=False))
    m = np.exp(draw.uniform(0, 10, (ROWS, S))).astype(np.int32)
    m[np.arange(S) >= size[:, None]] = 0
    return Samples(
        constants=constants,
        h=draw.integers(0, horizon, ROWS),
        v=v,
        visits=draw.integers(0, 1000, (ROWS, S)),
        order=np.argsort(-v, axis=1, kind="stable").astype(np.int32),
        n=m.sum(axis=1, dtype=np.int64),
        reward=draw.random(ROWS),
        size=size,
        succ=succ.ravel(),
        m=m.ravel(),
        out=np.zeros(ROWS),
    )


_passed: set[tuple[FunctionType, int, int]] = set()


def check_backup(function: FunctionType, problem: LearningProblem) -> None:
    """Raise GpuMismatchError if the GPU and the CPU disagree in any bit of a backup.

    The test runs once in a process for each backup, number of states and horizon. It uses at most
    MAX_STATES states. If the problem has more states, and the backup has more than MAX_STATES
    constants, such as one for each state, the test is skipped.

    Parameters
    ----------
    function : callable
        The backup.
    problem : LearningProblem
        Problem whose size and constants are used.
    """
    states, horizon = min(problem.shape.states, MAX_STATES), problem.shape.horizon
    key = function, problem.shape.states, horizon
    constants = problem.backup_rule.constants
    if key in _passed or (states < problem.shape.states and constants.size > states):
        return  # constants with one number for each state do not fit fewer states
    samples = random_samples(constants, states, horizon)
    sent = on_gpu(samples)
    on_cpu, kernel = testers(function)
    on_cpu(horizon, samples)
    launch(kernel, -(-ROWS // THREADS), THREADS, host_cuda.default_stream(), horizon, sent)
    expected, got = samples.out, sent.out.copy_to_host()
    wrong = np.flatnonzero(got.view(np.int64) != expected.view(np.int64))
    if wrong.size:
        i = wrong[0]
        raise GpuMismatchError(
            f"The GPU computes other bits than the CPU in {wrong.size} of {ROWS} random rows of "
            f"the backup {function.__name__}, for example {got[i]!r} instead of {expected[i]!r}; "
            "use engine='compiled'."
        )
    _passed.add(key)


@cache
def testers(function: FunctionType) -> tuple[Any, Any]:
    """Return a function for the CPU and a kernel for the GPU that compute all samples.

    Both apply the backup `function` to each sample.
    """
    on_cpu = inlined(bind(back_up_sample, back_up=inlined(function)))
    on_gpu = device(bind(back_up_sample, back_up=on_device(function)))
    return (
        kernel(bind(back_up_all, back_up_sample=on_cpu)),
        compile_kernel(bind(back_up_one, back_up_sample=on_gpu)),
    )
