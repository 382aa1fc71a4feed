"""The same run every way there is, and whether the bits agree."""

import dataclasses
from typing import Any

import numpy as np

import belated as bl
from belated.simulation.run import Run


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


def every_way(world: bl.MDP, **given: Any) -> dict[str, Run]:
    """The same run by both engines, each with every way of planning."""
    return {
        f"{engine} {planning}": bl.simulate(
            world, every=1, engine=engine, planning=planning, trace=True, **given
        )
        for engine in ("reference", "compiled")
        for planning in ("full", "incremental")
    }


def all_agree(runs: dict[str, Run]) -> bool:
    """Whether they are one; if not, which of them differs from the first, and where, is told."""
    plain, *others = runs
    for way in others:
        field = difference(runs[plain], runs[way])
        assert field is None, f"{way} differs from {plain} in {field}"
    return True
