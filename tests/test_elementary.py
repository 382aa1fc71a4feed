"""Elementary functions: accurate, the same bits compiled and as plain Python, and exact limits."""

import math
from collections.abc import Callable
from types import FunctionType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import elementary
from belated.elementary import cos_turn, exp, expm1, log, log1p

DRAW = np.random.default_rng(0)
NUMBERS = {
    "log": np.concatenate([np.exp(DRAW.uniform(-700, 700, 2000)), np.arange(1, 2000), [5e-324]]),
    "log1p": np.concatenate([DRAW.uniform(-1, 3, 2000), np.exp(DRAW.uniform(-40, 700, 2000))]),
    "exp": np.concatenate([DRAW.uniform(-700, 709, 2000), DRAW.uniform(-1, 1, 2000)]),
    "expm1": np.concatenate(
        [
            DRAW.uniform(-50, 709, 2000),
            DRAW.uniform(-1, 1, 2000),
            -0.34657359027997264 * (1 + 2.0**-52 * np.arange(-20, 20)),  # -ln(2) / 2
        ]
    ),
}


@pytest.mark.plain
@pytest.mark.parametrize("name", NUMBERS)
def test_a_function_differs_from_that_of_the_platform_by_two_units_at_most(name: str) -> None:
    function, reference = getattr(elementary, name), getattr(math, name)
    for x in NUMBERS[name].tolist():
        expected = reference(x)
        assert abs(function(x) - expected) <= 2 * math.ulp(expected)


@pytest.mark.plain
@given(st.floats(0, 1, exclude_max=True))
def test_the_cosine_of_a_turn_is_that_of_the_angle(x: float) -> None:
    assert cos_turn(x) == pytest.approx(math.cos(2 * math.pi * x), abs=2e-15)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (log, 1.0, 0.0),
        (log, 0.0, -math.inf),
        (log, math.inf, math.inf),
        (log1p, 0.0, 0.0),
        (log1p, -1.0, -math.inf),
        (log1p, 1e-300, 1e-300),
        (exp, 0.0, 1.0),
        (exp, 710.0, math.inf),
        (exp, -746.0, 0.0),
        (exp, math.inf, math.inf),
        (expm1, 0.0, 0.0),
        (expm1, -1e-300, -1e-300),
        (expm1, -1000.0, -1.0),
        (cos_turn, 0.0, 1.0),
        (cos_turn, 0.5, -1.0),
        (cos_turn, 0.25, 0.0),
    ],
)
def test_limits_are_exact(function: Callable[[float], float], x: float, expected: float) -> None:
    assert function(x) == expected


@pytest.mark.plain
@pytest.mark.parametrize("function", [log, log1p])
def test_the_logarithm_of_a_negative_number_is_not_a_number(
    function: Callable[[float], float],
) -> None:
    assert math.isnan(function(-2.0))


def test_compiled_functions_have_the_bits_of_plain_python() -> None:
    names = dict(vars(elementary))
    names |= {"to_bits": elementary.python_to_bits, "from_bits": elementary.python_from_bits}
    for name in ("log_reduced", "round_down", "scale_by_power", *NUMBERS):
        compiled = vars(elementary)[name]
        names[name] = FunctionType(getattr(compiled, "py_func", compiled).__code__, names, name)
    for name, numbers in NUMBERS.items():
        function = getattr(elementary, name)
        for x in numbers.tolist():
            assert function(x) == names[name](x)
