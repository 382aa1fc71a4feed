"""Cell: one setting under some seeds, with an id a person can say and a digest of its numbers."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from belated.delays import parse as parse_delay
from belated.learner.problem import Late, Stages
from belated.simulation.setting import DelayPer, Setting
from belated.sweep.names import parse_base, parse_updater, parse_world

NUMBERS = 1
"""Goes up when the same cell would give other numbers than before."""

BLOCK = 5
"""Seeds in one piece of work: what is lost, at most, when a sweep is killed."""

Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Cell:
    """Everything that determines the numbers of some runs, as plain text and numbers."""

    world: str
    base: str
    delay: str
    updater: str
    episodes: int
    seeds: tuple[int, ...]
    base_options: Options = ()
    updater_options: Options = ()
    stages: Stages = "each"
    rewards: Literal["known", "unknown"] = "known"
    late: Late = "everything"
    delay_per: DelayPer = "episode"
    points: int = 200  # checkpoints of the regret
    label: str = field(default="", compare=False)  # the base in ids; its name if empty

    @property
    def setting(self) -> str:
        """The id without the seeds: "chain-30/ucrl2/geometric-100/lazy-10"."""
        parts = (self.world, self.shown_base, self.delay + self.manner, self.updater)
        return "/".join(part.replace(":", "-") for part in parts)

    @property
    def shown_base(self) -> str:
        """The base, as ids have it."""
        base = self.label or self.base.rpartition(":")[2]
        return base + ("-unknown-rewards" if self.rewards == "unknown" else "")

    @property
    def manner(self) -> str:
        """What is late, and by what pieces, if that is not whole episodes."""
        return (":rewards" if self.late == "rewards" else "") + (
            ":steps" if self.delay_per == "step" else ""
        )

    @property
    def id(self) -> str:
        """ "chain-30/ucrl2/geometric-100/lazy-10/seeds-0-4"."""
        return f"{self.setting}/seeds-{self.seeds[0]}-{self.seeds[-1]}"

    @property
    def every(self) -> int:
        """Episodes from one checkpoint to the next."""
        return max(1, self.episodes // self.points)

    @property
    def digest(self) -> str:
        """Of everything that determines the numbers."""
        facts = asdict(self)
        del facts["label"]
        # what was added later leaves the digests of older cells as they were
        for name, usual in (("rewards", "known"), ("late", "everything"), ("delay_per", "episode")):
            if facts[name] == usual:
                del facts[name]
        text = json.dumps([NUMBERS, facts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def build(self) -> Setting:
        """The setting to run; refuses what does not exist, in a sentence."""
        return Setting(
            world=parse_world(self.world),
            base=parse_base(self.base, dict(self.base_options)),
            updater=parse_updater(self.updater, dict(self.updater_options)),
            delay=parse_delay(self.delay),
            episodes=self.episodes,
            every=self.every,
            stages=self.stages,
            rewards="known" if self.rewards == "known" else None,
            late=self.late,
            delay_per=self.delay_per,
        )


def plain_delay(text: str) -> str:
    """The law's own name; laws of mean zero are one and the same.

    >>> plain_delay("geometric:0"), plain_delay("geometric:100.0")
    ('constant:0', 'geometric:100')
    """
    law = parse_delay(text)
    return "constant:0" if law.mean == 0 else law.name


def blocks(seeds: Iterable[int], size: int = BLOCK) -> Iterator[tuple[int, ...]]:
    """Seeds in blocks that stay the same when more seeds are asked for.

    >>> list(blocks(range(7)))
    [(0, 1, 2, 3, 4), (5, 6)]
    """
    by_block: dict[int, list[int]] = {}
    for seed in sorted(set(seeds)):
        by_block.setdefault(seed // size, []).append(seed)
    yield from (tuple(block) for block in by_block.values())
