"""The time left of a sweep, estimated from cells that take very different times."""

import heapq
from collections.abc import Iterator, Sequence

import pytest

from belated.episode import Shape
from belated.papers.howson2021.grid import PRESETS, cells
from belated.progress import Progress
from belated.sweep.cell import Cell
from belated.sweep.cost import SweepWork, expected_cost

UPDATERS = ("active", "lazy:100", "lazy:10", "lazy:1", "explicit")

MICROSECONDS: dict[str, tuple[float, ...]] = {
    "chain-5": (1.8, 0.9, 0.8, 0.7, 2.0),
    "chain-10": (4.7, 1.9, 1.4, 1.2, 6.6),
    "chain-20": (15.7, 2.9, 1.6, 1.4, 16.7),
    "chain-30": (35.8, 7.3, 3.5, 2.5, 41.0),
}
"""Measured time of an episode of the reproduced paper, by world and, in their order, updaters."""

COMPILATION_S = 20.0
WORKERS = 2


def seconds_of(cell: Cell) -> float:
    """Return the measured computing time of a cell."""
    world = cell.world.removesuffix("-right")
    microseconds = MICROSECONDS[world][UPDATERS.index(cell.updater)]
    return cell.episodes * len(cell.seeds) * microseconds / 1e6


def chain_shape(cell: Cell) -> Shape:
    states = int(cell.world.split("-")[1])
    return Shape(states, 2, states)


def estimates(todo: Sequence[Cell]) -> Iterator[tuple[float, float | None]]:
    """Yield the time and the estimate of the time left, whenever a cell of a sweep is finished.

    Two workers compute the cells in order of their expected costs. The first cell of each worker
    waits for the compilation.
    """
    work = SweepWork(todo, {cell.setting: chain_shape(cell) for cell in todo})
    order = sorted(todo, key=lambda cell: work.expected[cell.id], reverse=True)
    progress = Progress("cells", total=1, shown=False)
    progress.estimate_left(COMPILATION_S, 0.0)
    waiting = iter(order)
    running = [(COMPILATION_S + seconds_of(cell), cell.id, COMPILATION_S, cell)
               for cell in (next(waiting), next(waiting))]  # fmt: skip
    heapq.heapify(running)
    while running:
        now, _, began, cell = heapq.heappop(running)
        work.finish(cell.id, now - (0.0 if began == COMPILATION_S else began))
        following = next(waiting, None)
        if following is not None:
            end = now + seconds_of(following)
            heapq.heappush(running, (end, following.id, now, following))
        shares = {id: (now - start) / (end - start) for end, id, start, _ in running}
        yield now, progress.estimate_left(now, work.share(shares))


def test_the_time_left_of_the_reproduction_is_right_from_the_start() -> None:
    found = list(estimates(cells(PRESETS["quick"], "figures")))
    end = found[-1][0]
    shown = [(end - now, left) for now, left in found if left is not None]
    assert len(shown) > 0.9 * len(found)
    for truth, left in shown:
        assert left == pytest.approx(truth, rel=0.3, abs=2.0)


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


MEASURED_ON_RIVERSWIM: dict[str, tuple[float, ...]] = {
    "ucrl2": (10.8, 5.7, 4.2, 4.3, 12.0),
    "ucbvi-bf": (8.4, 5.7, 4.1, 4.2, 8.6),
    "q-learning": (7.0, 6.4, 4.5, 4.5, 5.9),
    "psrl": (155.4, 31.0, 4.6, 7.0, 153.2),
    "rlsvi": (42.2, 14.3, 4.0, 4.7, 42.3),
}
"""Microseconds for an episode of the study lateness-that-tells on riverswim-6, by base and, in
their order, the updaters of the study."""


def test_expected_times_of_all_updaters_are_near_the_measured_ones() -> None:
    updaters = ("active", "lazy:10", "batched:doubling", "scheduled:50", "matured:101:active")
    ratios = []
    for base, measured in MEASURED_ON_RIVERSWIM.items():
        for updater, microseconds in zip(updaters, measured, strict=True):
            cell = Cell(world="riverswim-6", base=base, delay="uniform:50", updater=updater,
                        episodes=2000, seeds=(0,))  # fmt: skip
            ratios.append(microseconds / expected_cost(cell, Shape(6, 2, 20)))
    assert max(ratios) < 6 * min(ratios)
