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
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import CellType, FunctionType
from typing import Any, Final

import numpy as np

from belated import elementary
from belated.extras import missing_extra
from belated.simulation.gpu.errors import GpuUnavailableError

SIMULATED: Final = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
"""Whether kernels run in the simulator of numba-cuda, on the CPU."""

SCALAR_MODULES: Final = ("belated.randomness",)
"""Modules whose functions take numbers only. Kernels in the simulator call the versions of these
functions that are compiled for the CPU."""


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


def library_function(name: str) -> Any:
    """Return the function `name` of NVIDIA's libdevice, or None if numba-cuda is not installed."""
    return None if cuda is None else getattr(import_module("numba.cuda.libdevice"), name)


cuda: Any = _import_cuda()
"""Module `numba.cuda`, or None if numba-cuda is not installed; see `check_device`."""


@cache
def check_device() -> None:
    """Raise GpuUnavailableError if no GPU can be used; the message says why in one sentence."""
    if cuda is None:
        raise GpuUnavailableError(missing_extra("The GPU engine", "numba-cuda", "gpu"))
    if cuda.is_available():
        return
    reason = " ".join(str(cuda.cuda_error() or "").split())
    if "driver" in reason.lower():
        raise GpuUnavailableError(
            f"The GPU engine needs the driver of an NVIDIA GPU, and numba-cuda says: {reason}"
        )
    raise GpuUnavailableError(
        "The GPU engine needs an NVIDIA GPU, and numba-cuda finds none"
        + (f": {reason}" if reason else ".")
    )


def device_size() -> tuple[int, int]:
    """Return the number of multiprocessors of the GPU, and the shared memory of each in bytes."""
    if SIMULATED:
        return 1, 100 << 10
    device = cuda.get_current_device()
    return device.MULTIPROCESSOR_COUNT, device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR


def open_stream(rank: int) -> Any:
    """Return a new CUDA stream with a priority.

    The blocks of a stream with a lower `rank` are started first. If the driver does not support
    priorities, `rank` has no effect.
    """
    if not SIMULATED:
        with suppress(ImportError, AttributeError, TypeError):
            driver = import_module("cuda.bindings.driver")
            cuda.current_context()
            _, lowest, highest = driver.cuCtxGetStreamPriorityRange()  # smaller numbers are higher
            error, stream = driver.cuStreamCreateWithPriority(1, min(lowest, highest + rank))
            if int(error) == 0:
                return cuda.external_stream(int(stream))
    return cuda.stream()


def compile_kernel(function: Callable[..., None], **options: Any) -> Any:
    """Return `function` as a GPU kernel; helpers that it calls must be device functions.

    `options` are further options of `cuda.jit`, such as `max_registers`.
    """
    if SIMULATED:
        return cuda.jit(function)
    return cuda.jit(function, lto=False, **options)


_device_functions: dict[Any, Any] = {}
_replacements: dict[Any, Any] = {}


def replace_on_gpu(function: Any, replacement: Any) -> None:
    """Make GPU code call `replacement` instead of `function`; both must return the same results.

    This has no effect in the simulator.
    """
    if not SIMULATED:
        _replacements[getattr(function, "py_func", function)] = replacement


def device_function(function: Any) -> Any:
    """Return a GPU version of a Python function or of a function compiled for the CPU.

    The function is copied, and all functions compiled for the CPU that it calls are replaced by
    their GPU versions. The copy gives the same bits as the original if it uses only +, -, *, /,
    comparisons, `math.sqrt` and integers.
    """
    source = getattr(function, "py_func", function)
    source = _replacements.get(source, source)
    if source not in _device_functions:
        if SIMULATED and source.__module__ in SCALAR_MODULES:
            _device_functions[source] = function
            return function
        copy = _copy(source)
        if SIMULATED:
            device = cuda.jit(copy, device=True) if _uses_cuda(source) else copy
        else:
            device = cuda.jit(copy, device=True, lto=False, forceinline=True)
        _device_functions[source] = device
    return _device_functions[source]


def _copy(source: FunctionType) -> FunctionType:
    names = dict(source.__globals__)
    for name in source.__code__.co_names:
        if is_compiled(names.get(name)):
            names[name] = device_function(names[name])
        elif names.get(name) is elementary.to_bits:
            names[name] = _bit_functions()[0]
        elif names.get(name) is elementary.from_bits:
            names[name] = _bit_functions()[1]
    cells = tuple(
        CellType(device_function(cell.cell_contents)) if is_compiled(cell.cell_contents) else cell
        for cell in source.__closure__ or ()
    )
    copy = FunctionType(source.__code__, names, source.__name__, source.__defaults__, cells)
    copy.__kwdefaults__ = source.__kwdefaults__
    copy.__module__ = source.__module__
    return copy


def _bit_functions() -> tuple[Any, Any]:
    """Return the versions of `elementary.to_bits` and `elementary.from_bits` for the GPU."""
    if SIMULATED:
        return elementary.python_to_bits, elementary.python_from_bits
    return library_function("double_as_longlong"), library_function("longlong_as_double")


def _uses_cuda(source: FunctionType) -> bool:
    return any(source.__globals__.get(name) is cuda for name in source.__code__.co_names)


def is_compiled(value: object) -> bool:
    """Return whether `value` is a function compiled for the CPU or marked by `phase`."""
    return hasattr(value, "py_func") or getattr(value, "is_phase", False)


def phase(function: Any) -> Any:
    """Return the Python `function`, marked as a part of kernels.

    If a kernel calls the function, `device_function` compiles it for the GPU.
    """
    function.is_phase = True
    return function


def called_functions(function: Any) -> set[FunctionType]:
    """Return the plain Python versions of `function` and of all compiled functions that it calls.

    Functions that are called indirectly are included.
    """
    found: set[FunctionType] = set()
    pending = [getattr(function, "py_func", function)]
    while pending:
        source = pending.pop()
        if source in found:
            continue
        found.add(source)
        values = [source.__globals__.get(name) for name in source.__code__.co_names]
        values += [cell.cell_contents for cell in source.__closure__ or ()]
        pending += [value.py_func for value in values if hasattr(value, "py_func")]
    return found
