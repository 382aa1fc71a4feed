"""Combinations of parameters: an evenly spread part, or all of them with BELATED_FULL=1."""

import os
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

FULL = os.environ.get("BELATED_FULL") == "1"


def chosen(*positions: int, one_in: int) -> bool:
    """Whether a combination is tested: one in `one_in`, or every one with BELATED_FULL=1.

    A combination is given by the position of each of its values in its list. Each value is in the
    same share of the combinations, with different values of the others.
    """
    return FULL or sum(positions) % one_in == 0


def spread(*tables: Mapping[str, Any], one_in: int) -> list[Any]:
    """Return the chosen combinations of values of the tables, as parameters of a test."""
    return [
        pytest.param(*(value for _, (_, value) in found), id="-".join(key for _, (key, _) in found))
        for found in product(*(enumerate(table.items()) for table in tables))
        if chosen(*(position for position, _ in found), one_in=one_in)
    ]
