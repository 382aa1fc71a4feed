"""Estimates of the computing times of cells, and shards that take about the same time."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from belated.episode import Shape
from belated.learner.bases.base import BaseAlgorithm
from belated.mdp.worlds import world as parse_world
from belated.sweep.cell import Cell

STEP_COST: Final = 0.1
"""Estimated time of one step of an episode. The unit is the time of an episode without its steps
and plans."""

PLAN_COST: Final = 1.0
"""Estimated time of a plan, without the part that grows with the size of the problem. The unit is
the time of an episode without its steps and plans."""

VALUE_COST: Final = 0.05
"""Estimated time of a plan for each triple of step, state and action, in addition to `PLAN_COST`.
The unit is the time of an episode without its steps and plans."""

BASE_COSTS: Final = {"kl-ucrl": 10.0, "rlsvi": 5.0, "epsilon-greedy": 4.0, "ucrl2": 2.0}
"""Map from the name of a base to the factor by which its `VALUE_COST` is multiplied. The factor of
all other bases is 1."""

SUCCESSOR_COSTS: Final = {"psrl": 3.0}
"""Map from the name of a base to a number that is added to this factor for each state. It contains
the bases that draw a random number for each possible successor."""


@cache
def world_shape(world: str) -> Shape:
    """Return the shape of the world named `world`."""
    return parse_world(world).shape


def expected_cost(cell: Cell) -> float:
    """Return a rough estimate of the computing time of `cell`, in arbitrary units."""
    H, S, A = world_shape(cell.world).table
    base, updater = cell.parse_base(), cell.parse_updater()
    if isinstance(base, BaseAlgorithm) and base.replans_every_episode(updater):
        plans: float = cell.episodes
    else:
        plans = updater.expected_plans(cell.episodes, S * A * (H if cell.stages == "each" else 1))
    factor = BASE_COSTS.get(cell.base, 1.0) + S * SUCCESSOR_COSTS.get(cell.base, 0.0)
    plan = PLAN_COST + H * S * A * VALUE_COST * factor
    return len(cell.seeds) * (cell.episodes * (1 + H * STEP_COST) + plans * plan)


def select_shard(cells: Sequence[Cell], text: str) -> list[Cell]:
    """Return those of `cells`, all cells of a sweep, that belong to one shard.

    `text` has the form I/N, such as "3/16" for the third of 16 shards; ValueError is raised for
    another text. The shards are disjoint, and together they are the whole sweep. Which cells belong
    to a shard depends only on `cells`, so that jobs need not communicate.

    Cells are assigned to the shards in descending order of their expected cost: to the shards 1 to
    N, then N to 1, and so on. All shards therefore take about the same time.
    """
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(
            f"shard must be I/N with 1 <= I <= N, such as 3/16 for the third of 16 parts, got "
            f"{text!r}."
        )
    index, count = int(match[1]), int(match[2])
    ordered = sorted(cells, key=lambda cell: (-expected_cost(cell), cell.id))
    return ordered[index - 1 :: 2 * count] + ordered[2 * count - index :: 2 * count]
