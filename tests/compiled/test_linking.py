"""Kernels that only kernels call are compiled as a part of these."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from belated.compiled import JIT, kernel, uncached

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")


def double(number: float) -> float:
    return 2 * number


def test_a_kernel_is_compiled_for_python_only_if_python_calls_it() -> None:
    inner: Any = uncached(double)

    @kernel
    def quadruple(number: float) -> float:
        return inner(inner(number))

    assert quadruple(1.5) == 6.0
    assert len(inner.signatures) == 0
    assert inner(1.5) == 3.0
    assert len(inner.signatures) == 1


def test_the_code_of_a_called_kernel_is_loaded_from_the_disk_cache(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from belated.compiled import inlined, uncached\n"
        "@inlined\n"
        "def inner(x):\n"
        "    print(x)\n"
        "    return 2 * x\n"
        "def outer(x):\n"
        "    return inner(inner(x))\n"
        "print(uncached(outer)(1.5), inner.linked.stats.cache_hits)\n"
    )
    for hits in ("Counter()", "Counter({(float64,): 1})"):
        finished = subprocess.run(
            [sys.executable, str(program)], capture_output=True, text=True, check=True
        )
        assert finished.stdout == f"1.5\n3.0\n6.0 {hits}\n"
