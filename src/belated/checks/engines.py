"""Check that all engines and planning modes give bit-identical runs."""

from dataclasses import fields, replace
from itertools import product
from typing import Literal

import numpy as np

from belated.checks.suite import require
from belated.simulation.compiled_run import why_not_compiled
from belated.simulation.run import Run
from belated.simulation.setting import Setting

SEED = 3


def compile_obstacle(setting: Setting) -> str | None:
    """Return the reason why the compiled engine cannot run `setting`, or None if it can."""
    return why_not_compiled(setting.problem(0), 1)


def fastest_engine(setting: Setting) -> Literal["compiled", "reference"]:
    """Return the engine that `engine="auto"` selects for `setting`. No warning is issued."""
    return "compiled" if compile_obstacle(setting) is None else "reference"


def require_equal_runs(who: str, setting: Setting) -> None:
    """Raise AssertionError unless all engines and planning modes give the same run of `setting`.

    Results must be bit-identical. `who` is the name of the checked object in messages.
    """
    expected: Run | None = None
    fastest = fastest_engine(setting)
    engines = dict.fromkeys(("reference", fastest))
    traced = product(engines, ("full", "incremental", "auto"), (True,))
    # without a trace, values that no result depends on need not be computed
    for engine, planning, trace in [*traced, (fastest, "auto", False)]:
        options = {"engine": engine, "planning": planning, "every": 1, "trace": trace}
        run = replace(setting, **options).run(SEED)
        expected = expected or run
        field = first_difference(expected if trace else replace(expected, policies=None), run)
        require(
            field is None,
            f"{who} gives a different {field} with the {engine} engine and {planning} planning "
            "than with the reference engine and full planning; they must be equal to the bit.",
        )


def first_difference(run: Run, other: Run) -> str | None:
    """Return the name of the first field in which `run` and `other` differ, or None if equal."""
    for field in fields(Run):
        if not np.array_equal(getattr(run, field.name), getattr(other, field.name)):
            return field.name
    return None
