"""Shards: parts of a sweep that separate jobs compute, for example the tasks of a SLURM array."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from belated.mdp.worlds import world as parse_world
from belated.sweep.cell import Cell
from belated.sweep.cost import expected_cost


@dataclass(frozen=True)
class Shard:
    """One of several parts of a sweep.

    The parts are disjoint, and together they are the whole sweep. Which cells belong to a part
    depends only on the cells of the study, so that jobs need not communicate.
    """

    index: int  # 1 .. count
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the shard written as `text`, such as "3/16" for the third of 16 parts.

        Raise ValueError if `text` is not of this form.
        """
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise ValueError(
                f"shard must be I/N with 1 <= I <= N, such as 3/16 for the third of 16 parts, got "
                f"{text!r}."
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def select(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return those of `cells` that belong to this shard. `cells` are all cells of the sweep.

        Cells are assigned to the shards in descending order of their expected cost: to the shards
        1 to N, then N to 1, and so on. All shards therefore take about the same time.
        """
        shapes = {world: parse_world(world).shape for world in {cell.world for cell in cells}}
        ordered = sorted(
            cells, key=lambda cell: (-expected_cost(cell, shapes[cell.world]), cell.id)
        )
        forwards = ordered[self.index - 1 :: 2 * self.count]
        backwards = ordered[2 * self.count - self.index :: 2 * self.count]
        return forwards + backwards
