"""The same run every way there is, and whether the bits agree."""

import dataclasses
import os
import subprocess
import sys
from typing import Any

import numpy as np

import belated as bl
from belated.simulation.run import Run
from processes import Program


def difference(one: Run, other: Run) -> str | None:
    """The first field in which two runs are not the same bits, names of parts apart."""
    names = {"world", "base", "updater", "delay"}
    for field in (field for field in dataclasses.fields(Run) if field.name not in names):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if type(a) is not type(b) or not np.array_equal(a, b):
            return field.name
        if isinstance(a, np.ndarray) and a.dtype != b.dtype:
            return field.name
    return None


def printed_compiled_and_plain(script: str) -> str:
    """Return the output of a script, which must not depend on compilation."""
    compiled = Program(
        f"from belated.compiled import budget\nbudget.limited_to(0).__enter__()\n{script}"
    )
    plain = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert compiled.end() == (0, plain)
    return plain


def every_way(world: bl.MDP, **given: Any) -> dict[str, Run]:
    """The same run by both engines, each with every way of planning."""
    return {
        f"{engine} {planning}": bl.simulate(
            world, every=1, engine=engine, planning=planning, trace=True, **given
        )
        for engine, ways in (
            ("reference", ("full", "auto")),
            ("compiled", ("full", "incremental", "auto")),
        )
        for planning in ways
    }


def all_agree(runs: dict[str, Run]) -> bool:
    """Whether they are one; if not, which of them differs from the first, and where, is told."""
    plain, *others = runs
    for way in others:
        field = difference(runs[plain], runs[way])
        assert field is None, f"{way} differs from {plain} in {field}"
    return True
