"""The GPU compiler: the only module that imports numba-cuda and sets its options.

Results on the GPU are bit-identical to those on the CPU only if the compiler does not contract
a * b + c into a fused multiply-add, which rounds once instead of twice. numba-cuda has no public
option for this. Two settings are needed:

- `nvvm.compile_ir` gets the option `fma=False`;
- `lto=False` is passed as `cuda.jit(function, lto=False)`, because link-time optimisation would
  contract again. The decorator form `@cuda.jit(lto=False)` ignores the option.

`belated.simulation.gpu.selftest` checks on the device that both work.

With NUMBA_ENABLE_CUDASIM=1, numba-cuda runs kernels as Python threads on the CPU. This is slow and
serves to test kernels without a GPU. It provides no warp operations, so kernels use only
`cuda.syncthreads`, its variants, atomic operations and shared arrays.
"""

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, Final

import numpy as np

from belated import elementary, randomness
from belated.compiled import PLAIN_FORMS, translate
from belated.extras import missing_extra
from belated.simulation.gpu import GpuUnavailableError

SIMULATED: Final = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
"""Whether kernels run in the simulator of numba-cuda, on the CPU."""

MAX_REGISTERS: Final = 96
"""Largest number of registers per thread. With it, a multiprocessor, which has 64 Ki registers, can
run 21 warps at a time."""


def _import_cuda() -> Any:
    """Return the module `numba.cuda` of numba-cuda, or None if numba-cuda is not installed."""
    if not hasattr(np, "row_stack"):  # numba-cuda 0.30 refers to it, and NumPy 2.5 has removed it
        np.row_stack = np.vstack
    try:
        import_module("numba_cuda")  # the CUDA target of numba itself is another
        cuda: Any = import_module("numba.cuda")
    except ImportError:
        return None
    if not SIMULATED:
        _disable_contraction()
        cuda.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # small batches are fine
    return cuda


def _disable_contraction() -> None:
    """Make numba-cuda compile without fused multiply-add, by replacing its function `compile_ir`.

    If the replacement has no effect, the self-test fails.
    """
    nvvm: Any = import_module("numba.cuda.cudadrv.nvvm")
    compile_ir = nvvm.compile_ir

    def compile_exactly(ir: Any, **options: Any) -> Any:
        return compile_ir(ir, **{**options, "fma": False})

    nvvm.compile_ir = compile_exactly


class SimulatedCuda:
    """The module `cuda` as a thread of the simulator sees it: with its own indices."""

    def __getattr__(self, name: str) -> Any:
        context = import_module("numba.cuda.simulator.kernel")._get_kernel_context()
        return getattr(context, name)


host_cuda: Any = _import_cuda()
"""Module `numba.cuda` for the host, or None if numba-cuda is not installed; see `check_device`."""

cuda: Any = SimulatedCuda() if SIMULATED else host_cuda
"""Module `numba.cuda` for the code of kernels."""


@cache
def check_device() -> None:
    """Raise GpuUnavailableError if no GPU can be used; the message says why in one sentence."""
    if host_cuda is None:
        raise GpuUnavailableError(missing_extra("The GPU engine", "numba-cuda", "gpu"))
    if host_cuda.is_available():
        return
    reason = " ".join(str(host_cuda.cuda_error() or "").split())
    if "driver" in reason.lower():
        raise GpuUnavailableError(
            f"The GPU engine needs the driver of an NVIDIA GPU, and numba-cuda says: {reason}"
        )
    raise GpuUnavailableError(
        "The GPU engine needs an NVIDIA GPU, and numba-cuda finds none"
        + (f": {reason}" if reason else ".")
    )


def compile_kernel(function: Callable[..., None]) -> Any:
    """Return `function` as a GPU kernel; what it calls must be device functions."""
    if SIMULATED:
        return host_cuda.jit(function)
    return host_cuda.jit(function, lto=False, max_registers=MAX_REGISTERS)


def device(function: Any) -> Any:
    """Return a Python function as a device function, which kernels can call.

    It may call only other device functions; see `on_device`.
    """
    if SIMULATED or host_cuda is None:
        return function
    return host_cuda.jit(function, device=True, lto=False, forceinline=True)


@cache
def _forms() -> dict[Any, Any]:
    """Return what replaces functions that cannot be compiled for the GPU from their source.

    The simulator calls functions of numbers as they are compiled for the CPU, which is faster.
    """
    if SIMULATED:
        numbers = (randomness.uniform, randomness.numbered_uniform, randomness.normal)
        return {**PLAIN_FORMS, **{each: each for each in (*numbers, randomness.gamma)}}
    library = import_module("numba.cuda.libdevice")
    bits = {
        elementary.to_bits: library.double_as_longlong,
        elementary.from_bits: library.longlong_as_double,
    }
    return {**PLAIN_FORMS, **bits}


_device_functions: dict[FunctionType, Any] = {}


def on_device(function: Any) -> Any:
    """Return a function that is written for the CPU, compiled or not, as a device function.

    All compiled functions that it calls are translated, too. The result gives the same bits as the
    original if these use only +, -, *, /, comparisons, `math.sqrt` and integers.
    """
    if host_cuda is None:
        return function
    return translate(function, _forms(), _device_functions, device)


def called_functions(function: Any) -> set[FunctionType]:
    """Return the plain Python versions of `function` and of all compiled functions that it calls.

    Functions that are called indirectly are included.
    """
    found: dict[FunctionType, Any] = {}
    translate(function, {}, found)
    return set(found)


def on_gpu(record: Any) -> Any:
    """Return a named tuple of arrays with its arrays copied to the memory of the GPU."""
    sent = (host_cuda.to_device(np.ascontiguousarray(array)) for array in record)
    return type(record)(*sent)


def launch(kernel: Any, blocks: int, threads: int, stream: Any, *arguments: Any) -> None:
    """Start a kernel, without waiting for it.

    Parameters
    ----------
    kernel : callable
        Kernel, the result of `compile_kernel`.
    blocks, threads : int
        Number of blocks, and of threads in each block.
    stream : object
        CUDA stream.
    *arguments
        Numbers, and named tuples of arrays in the memory of the GPU.
    """
    if SIMULATED:  # the arrays behind those of the simulator, which are slow
        arguments = tuple(
            type(each)(*(array._ary for array in each)) if isinstance(each, tuple) else each
            for each in arguments
        )
    kernel[blocks, threads, stream](*arguments)
