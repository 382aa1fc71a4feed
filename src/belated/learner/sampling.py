"""Gamma variables by addressed randomness, from which Dirichlet and Beta ones are made."""

import math
from typing import Final

import numpy as np

from belated.compiled import kernel
from belated.randomness import uniform

FREE: Final = 1 << 20
"""The number of a uniform that `gamma` never comes to."""


@kernel
def gamma(seed: np.uint64, stream: int, plan: int, cell: int, shape: float) -> float:
    """The Gamma(shape, 1) variable of this plan and cell (Marsaglia and Tsang 2000).

    A stream of its own for each uniform it takes: how many that is, nobody knows beforehand.
    """
    if shape == 1.0:  # most of a posterior with a flat prior
        return -math.log(1.0 - uniform(seed, stream, plan, cell))
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(seed, stream, plan, cell)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    number = 0
    while True:
        radius = math.sqrt(-2.0 * math.log(1.0 - part(seed, stream, plan, cell, number + 1)))
        x = radius * math.cos(2.0 * math.pi * part(seed, stream, plan, cell, number + 2))
        accept = 1.0 - part(seed, stream, plan, cell, number + 3)
        number += 3
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            if math.log(accept) < 0.5 * x * x + d - d * v + d * math.log(v):
                return boost * d * v


@kernel
def part(seed: np.uint64, stream: int, plan: int, cell: int, number: int) -> float:
    """The uniform with this number."""
    return uniform(seed, stream + (number << 8), plan, cell)
