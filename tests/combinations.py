"""Combinations of parameters: an evenly spread part, or all of them with BELATED_FULL=1."""

import os
from collections.abc import Mapping
from typing import Any

import pytest

FULL = os.environ.get("BELATED_FULL") == "1"


def chosen(*positions: int, one_in: int) -> bool:
    """Whether a combination is tested: one in `one_in`, or every one with BELATED_FULL=1.

    A combination is given by the position of each of its values in its list. Each value is in the
    same share of the combinations, with different values of the others.
    """
    return FULL or sum(positions) % one_in == 0


def spread(first: Mapping[str, Any], second: Mapping[str, Any], *, one_in: int) -> list[Any]:
    """Return the chosen pairs of values of two tables, as parameters of a test."""
    return [
        pytest.param(first[one], second[other], id=f"{one}-{other}")
        for i, one in enumerate(first)
        for j, other in enumerate(second)
        if chosen(i, j, one_in=one_in)
    ]
