"""The cost of cells, from which the time left of a sweep is estimated."""

import pytest

from belated.sweep.cell import Cell
from belated.sweep.cost import expected_cost


@pytest.mark.parametrize(
    ("cheap", "dear"),
    [
        ({"world": "chain-5"}, {"world": "chain-30"}),
        ({"episodes": 10_000}, {"episodes": 20_000}),
        ({"seeds": (0,)}, {"seeds": (0, 1)}),
        ({"updater": "lazy:1"}, {"updater": "lazy:100"}),
        ({"updater": "lazy:auto"}, {"updater": "active"}),
        ({"base": "ucbvi-ch"}, {"base": "kl-ucrl"}),
        ({"updater": "scheduled:50"}, {"updater": "scheduled:5"}),
        ({"updater": "batched:doubling"}, {"updater": "lazy:1"}),
        ({"updater": "matured:100:batched:doubling"}, {"updater": "matured:100:lazy:100"}),
        ({"base": "rlsvi", "updater": "scheduled:9"}, {"base": "rlsvi"}),
    ],
)
def test_larger_cells_are_expected_to_take_longer(
    cheap: dict[str, object], dear: dict[str, object]
) -> None:
    def cost(**given: object) -> float:
        defaults = {"world": "chain-5", "base": "ubev", "delay": "constant:0", "updater": "active"}
        cell = Cell(**{**defaults, "episodes": 10_000, "seeds": (0,), **given})  # type: ignore[arg-type]
        return expected_cost(cell)

    assert cost(**cheap) < cost(**dear)
