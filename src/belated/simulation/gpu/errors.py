"""Errors of the GPU engine. This module can be imported where numba-cuda is not installed."""


class GpuUnavailableError(ValueError):
    """Error because no GPU can be used; the message is one sentence that says why."""


class GpuMismatchError(ArithmeticError):
    """Error because results on the GPU and on the CPU are not bit-identical."""
