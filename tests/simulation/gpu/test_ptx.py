"""All kernels compile for an H200 without a GPU, and round after every operation."""

import re
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.bases import Base
from belated.simulation.gpu import selftest
from belated.simulation.gpu.batch import batch_arrays
from belated.simulation.gpu.compiler import SIMULATED, host_cuda
from belated.simulation.gpu.engine import draw_all_delays, make_jobs
from belated.simulation.gpu.kernel import build_kernel
from belated.simulation.simulation import Simulation
from gpus import BASES, UPDATERS

CAPABILITY = (9, 0)


def type_of(value: Any) -> Any:
    """Return the numba type of an argument of a kernel, whose arrays are on the host."""
    from numba.cuda import types
    from numba.cuda.np.numpy_support import from_dtype

    if isinstance(value, tuple):
        return types.NamedTuple([type_of(each) for each in value], type(value))
    if isinstance(value, np.ndarray):
        return types.Array(from_dtype(value.dtype), value.ndim, "C")
    return types.float64 if isinstance(value, float) else types.int64


def compile_kernel(kernel: Any, *arguments: Any) -> list[str]:
    """Return the instructions of a kernel for `arguments` in PTX, NVIDIA's intermediate code."""
    signature = tuple(map(type_of, arguments))
    ptx, _ = host_cuda.compile_ptx(kernel.py_func, signature, cc=CAPABILITY)
    return re.findall(r"^\s+(?:@\S+ )?([a-z]\S+)", ptx, re.MULTILINE)


def contract(x: Any) -> None:
    """Compute x0 * x1 + x2, which one instruction could do with one rounding."""
    x[0] = x[0] * x[1] + x[2]


@cache
def why_no_compiler() -> str:
    """Return the reason why kernels cannot be compiled here; empty if they can."""
    if SIMULATED:
        return "the simulator compiles no kernels"
    try:
        compile_kernel(SimpleNamespace(py_func=contract), np.zeros(3))
    except Exception as error:  # numba-cuda or the compiler of CUDA is missing
        reason = str(error).partition("\n")[0]
        return f"kernels do not compile here ({reason}); `make compiled-gpu` installs the compiler"
    return ""


pytestmark = pytest.mark.skipif(why_no_compiler() != "", reason=why_no_compiler())


@pytest.fixture(autouse=True)
def compile_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let numba-cuda compile device functions for the same processor as the kernel."""
    from numba.cuda import dispatcher

    device = SimpleNamespace(compute_capability=CAPABILITY)
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: device)


def inexact(instructions: list[str]) -> set[str]:
    """Return the operations on floats that are contracted, approximated, or rounded differently."""
    floats = {each for each in instructions if each.endswith((".f64", ".f32"))}
    names = ("add", "sub", "mul", "div", "sqrt", "rcp", "fma", "mad")
    exact = {f"{name}.rn.f64" for name in names[:6]}
    return {each for each in floats if each.split(".")[0] in names} - exact


def test_contraction_is_found() -> None:
    from numba.cuda.cudadrv import nvvm

    [original] = [cell.cell_contents for cell in nvvm.compile_ir.__closure__]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nvvm, "compile_ir", original)
        contracted = compile_kernel(SimpleNamespace(py_func=contract), np.zeros(3))
    assert inexact(contracted) == {"fma.rn.f64"}
    exact = compile_kernel(SimpleNamespace(py_func=contract), np.zeros(3))
    assert {"add.rn.f64", "mul.rn.f64"} <= set(exact)
    assert not inexact(exact)


@pytest.mark.parametrize("name", BASES)
def test_every_kernel_compiles_to_operations_that_round_as_on_the_cpu(name: str) -> None:
    base: Base = BASES[name]
    updaters = list(UPDATERS.values())
    number = list(BASES).index(name)
    setting = Simulation(
        world=bl.world("chain-4"),
        base=base,
        updater=updaters[number % len(updaters)],
        delay="geometric:3",
        stages="pooled" if number % 2 else "each",
        episodes=20,
    )
    jobs = make_jobs(setting, [0])
    draw_all_delays(jobs)
    kind = jobs[0].prepared.kind
    assert not inexact(compile_kernel(build_kernel(kind), 0.5, *batch_arrays(jobs)))
    constants = jobs[0].prepared.problem.backup_rule.constants
    _, kernel = selftest.testers(kind.backup)
    assert not inexact(compile_kernel(kernel, 4, selftest.random_samples(constants, 4, 4)))
