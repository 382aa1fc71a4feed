"""GPU engine: runs on an NVIDIA GPU. Its errors can be imported without numba-cuda."""


class GpuUnavailableError(ValueError):
    """Error because no GPU can be used; the message is one sentence that says why."""


class GpuMismatchError(ArithmeticError):
    """Error because results on the GPU and on the CPU are not bit-identical."""
