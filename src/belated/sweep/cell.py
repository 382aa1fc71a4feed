"""Cell of a sweep: one setting with a block of seeds, a readable id and a digest."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from belated.delays import parse as parse_delay
from belated.options import SimulationOptions, option_values
from belated.simulation.setting import Setting
from belated.sweep.names import parse_base, parse_updater, parse_world

RESULTS_VERSION = 1
"""Part of every digest; increased when the same cell would give different results."""

SEEDS_PER_CELL = 5
"""Number of seeds in a cell, which limits the work that is lost when a sweep is killed."""

DEFAULTS = SimulationOptions()
"""Options of a simulation at their defaults."""

NOT_IN_BASE_LABEL = ("late", "delay_per", "stages")
"""Options that are in the delay's part of an id, and `stages`, which older ids do not have."""

Options = tuple[tuple[str, Any], ...]
"""Names and values of options, hashable."""


@dataclass(frozen=True)
class Cell(SimulationOptions):
    """Everything that determines the results of some runs, as texts and numbers.

    The options of a simulation are inherited from `SimulationOptions`.
    """

    world: str
    base: str
    delay: str
    updater: str
    episodes: int
    seeds: tuple[int, ...]
    base_options: Options = ()
    updater_options: Options = ()
    rewards: Literal["known", "unknown"] = "known"
    points: int = 200  # number of checkpoints
    label: str = field(default="", compare=False)  # name of the base in ids; its own if empty

    @property
    def setting(self) -> str:
        """Id without the seeds: "chain-30/ucrl2/geometric-100/lazy-10"."""
        parts = (self.world, self.base_label, self.delay + self.delay_suffix, self.updater)
        return "/".join(part.replace(":", "-") for part in parts)

    @property
    def base_label(self) -> str:
        """Name of the base in ids."""
        parts = [self.label or self.base.rpartition(":")[2]]
        if self.rewards == "unknown":
            parts.append("unknown-rewards")
        for name, value in option_values(self, SimulationOptions).items():
            if name not in NOT_IN_BASE_LABEL and value != getattr(DEFAULTS, name):
                parts.append(value)
        return "-".join(parts)

    @property
    def delay_suffix(self) -> str:
        """Part of the id that names `late` and `delay_per` where they are not the default."""
        return (":rewards" if self.late == "rewards" else "") + (
            ":steps" if self.delay_per == "step" else ""
        )

    @property
    def id(self) -> str:
        """Id of the cell: "chain-30/ucrl2/geometric-100/lazy-10/seeds-0-4"."""
        return f"{self.setting}/seeds-{self.seeds[0]}-{self.seeds[-1]}"

    @property
    def every(self) -> int:
        """Number of episodes between two checkpoints."""
        return max(1, self.episodes // self.points)

    @property
    def digest(self) -> str:
        """SHA-256 (16 hex digits) of everything that determines the results."""
        # Fields added later are left out at their default, to keep the digests of older cells.
        defaults = {"rewards": "known", **asdict(DEFAULTS), "stages": None}
        facts = {name: x for name, x in asdict(self).items() if x != defaults.get(name)}
        facts.pop("label", None)
        text = json.dumps([RESULTS_VERSION, facts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def build(self) -> Setting:
        """Return the setting to simulate; raise a ValueError if the cell is invalid."""
        return Setting(
            world=parse_world(self.world),
            base=parse_base(self.base, dict(self.base_options)),
            updater=parse_updater(self.updater, dict(self.updater_options)),
            delay=parse_delay(self.delay),
            episodes=self.episodes,
            every=self.every,
            rewards=self.rewards,
            **option_values(self, SimulationOptions),
        )


def normalize_delay(text: str) -> str:
    """Return the canonical name of the delay law `text`; all laws of mean zero have the same.

    >>> normalize_delay("geometric:0"), normalize_delay("geometric:100.0")
    ('constant:0', 'geometric:100')
    """
    law = parse_delay(text)
    return "constant:0" if law.mean == 0 else law.name


def seed_blocks(seeds: Iterable[int], size: int = SEEDS_PER_CELL) -> Iterator[tuple[int, ...]]:
    """Yield `seeds` in blocks of at most `size`; adding seeds leaves full blocks unchanged.

    >>> list(seed_blocks(range(7)))
    [(0, 1, 2, 3, 4), (5, 6)]
    """
    by_block: dict[int, list[int]] = {}
    for seed in sorted(set(seeds)):
        by_block.setdefault(seed // size, []).append(seed)
    yield from (tuple(block) for block in by_block.values())
