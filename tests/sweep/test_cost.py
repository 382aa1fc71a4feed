"""The cost of cells, from which the time left of a sweep is estimated."""

import pytest

from belated.episode import Shape
from belated.sweep.cell import Cell
from belated.sweep.cost import SweepWork, expected_cost

"""Measured time of an episode of the reproduced paper, by world and, in their order, updaters."""


def chain_shape(cell: Cell) -> Shape:
    states = int(cell.world.split("-")[1])
    return Shape(states, 2, states)


def test_times_of_finished_cells_correct_the_expected_ones() -> None:
    todo = [
        Cell(world=world, base="ucrl2", delay="constant:0", updater="active", episodes=100,
             seeds=(seed,))
        for world in ("chain-5", "chain-10") for seed in range(4)
    ]  # fmt: skip
    work = SweepWork(todo, {cell.setting: chain_shape(cell) for cell in todo})
    for cell in todo[:3]:
        work.finish(cell.id, 8 * work.expected[cell.id])
    for cell in todo[4:7]:
        work.finish(cell.id, 2 * work.expected[cell.id])
    first, second = work.expected[todo[0].id], work.expected[todo[4].id]
    share = (3 * 8 * first + 3.5 * 2 * second) / (4 * 8 * first + 4 * 2 * second)
    assert work.share({todo[7].id: 0.5}) == pytest.approx(share)


def test_a_slow_first_cell_does_not_count_for_the_others() -> None:
    todo = [
        Cell(world="chain-5", base="ucrl2", delay="constant:0", updater="active", episodes=100,
             seeds=(seed,))
        for seed in range(6)
    ]  # fmt: skip
    work = SweepWork(todo, {todo[0].setting: chain_shape(todo[0])})
    for cell, factor in zip(todo[:3], (100, 1, 1), strict=True):
        work.finish(cell.id, factor * work.expected[cell.id])
    assert work.share({}) == pytest.approx(0.5)


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
        return expected_cost(cell, chain_shape(cell))

    assert cost(**cheap) < cost(**dear)


"""Microseconds for an episode of the study lateness-that-tells on riverswim-6, by base and, in
their order, the updaters of the study."""
