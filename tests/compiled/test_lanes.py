"""Vectors of eight numbers: every lane has the bits of the same operation on single numbers."""

import math

import numpy as np
import pytest

from belated.compiled import (
    LANES,
    address,
    broadcast,
    kernel,
    load_lanes,
    max_lanes,
    min_lanes,
    select,
    sqrt_lanes,
    store_lanes,
)
from belated.episode import Floats

pytestmark = pytest.mark.plain


@kernel
def compute(x: Floats, y: Floats, out: Floats) -> None:
    a, b = load_lanes(address(x), 1), load_lanes(address(y), 0)
    results = (
        a + b,
        a - b,
        a * b,
        a / b,
        min_lanes(a, b),
        max_lanes(a, b),
        sqrt_lanes(a),
        select((a < b) & (b >= broadcast(1.0)), a, b),
        select(b >= broadcast(1.0), a, b),
    )
    for i, each in enumerate(results):
        store_lanes(address(out), LANES * i, each)


def test_every_lane_is_computed_as_a_single_number() -> None:
    rng = np.random.default_rng(1)
    x, y = 10.0 ** rng.uniform(-3, 3, (2, 9))
    y[2:4] = x[3], 0.0
    out = np.full(10 * LANES, -1.0)
    with np.errstate(divide="ignore"):
        compute(x, y, out)
        pairs = list(zip(x[1:], y[:LANES], strict=True))
        expected = [
            [a + b for a, b in pairs],
            [a - b for a, b in pairs],
            [a * b for a, b in pairs],
            [a / b for a, b in pairs],
            [min(a, b) for a, b in pairs],
            [max(a, b) for a, b in pairs],
            [math.sqrt(a) for a, _ in pairs],
            [a if a < b and b >= 1.0 else b for a, b in pairs],
            [a if b >= 1.0 else b for a, b in pairs],
        ]
    np.testing.assert_array_equal(out[: 9 * LANES].reshape(9, LANES), expected)
    assert (out[9 * LANES :] == -1.0).all()


def test_no_condition_holds_for_nan() -> None:
    numbers, nans, out = np.full(9, 2.0), np.full(9, np.nan), np.zeros(9 * LANES)
    compute(nans, numbers, out)
    assert (out[7 * LANES : 8 * LANES] == 2.0).all()
    compute(numbers, nans, out)
    assert np.isnan(out[7 * LANES :]).all()
