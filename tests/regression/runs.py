"""Simulated runs: every base with every way to update, the rest chosen to cover all values.

A run must come out the same with either engine and either way of planning; one digest is kept for
all of them. Unless BELATED_FULL=1, the reference loop computes only a third of the runs, and the
compiled engine plans in full in another third.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import belated as bl
from combinations import chosen
from regression.bases import STEPWISE, UPDATERS, VARIANTS, base_of
from regression.digesting import Draws, digest, pick, plain

WORLDS = (
    "chain-4",
    "chain-4-right",
    "riverswim-4",
    "garnet-4-2-3-1",
    "garnet-5-3-2-7",
    "deep-sea-4-noisy",
    "grid-2x2",
    "staged",
)
DELAYS = (
    "constant:0",
    "constant:7",
    "geometric:5",
    "geometric:25",
    "uniform:6",
    "poisson:4",
    "never:0.2:geometric:4",
)
BONUSES = ("hoeffding", "paper", "jaksch", "filippi", "bernstein", "ubev")
MANNERS: tuple[dict[str, Any], ...] = (
    {"rewards": "known"},
    {"rewards": "known", "delay_per": "step"},
    {"rewards": None},
    {"rewards": None, "delay_per": "step"},
    {"rewards": None, "late": "rewards"},
    {"rewards": None, "late": "rewards", "delay_per": "step"},
)

ARRAYS = ("episode", "regret", "policies", "in_flight", "alpha")
WHOLE = (
    "updates",
    "epochs",
    "max_missing",
    "optimism_broken",
    "instances",
    "last_explored",
    "missing",
)
REAL = ("longest_delay", "mean_delay", "psi")


@dataclass(frozen=True)
class Setting:
    """Everything that determines a run but the engine and the way of planning."""

    variant: str
    updater: str
    world: str
    delay: str
    episodes: int
    seed: int
    every: int | None
    stages: str
    manner: dict[str, Any]

    @property
    def name(self) -> str:
        """The setting in words."""
        manner = " ".join(f"{key}={value}" for key, value in self.manner.items())
        return (
            f"{self.variant} | {self.updater} | {self.world} {self.delay} {self.stages} | {manner}"
        )

    def run(self, engine: str, planning: str) -> Any:
        """Play it."""
        world = world_of(self.world)
        return bl.simulate(
            world,
            base=base_of(self.variant, world.shape),
            updater=UPDATERS[self.updater],
            delay=bl.delays.parse(self.delay),
            episodes=self.episodes,
            seed=self.seed,
            every=self.every,
            stages=self.stages,
            engine=engine,
            planning=planning,
            trace=True,
            **self.manner,
        )

    def ways(self) -> Iterator[tuple[str, str]]:
        """Yield the engines and ways of planning that are compared."""
        parts = "delay_per" in self.manner or "late" in self.manner
        compiled = not (self.updater == "multi" and parts)
        planning = pick(("incremental", "full"), "planning", self.name)
        third = pick(range(3), "engine", self.name)
        if compiled:
            yield "compiled", "incremental"
        # the tests of equivalence compare all ways in other settings
        if compiled and chosen(third + 1, one_in=3):
            yield "compiled", "full"
        if not compiled or chosen(third, one_in=3):
            yield "reference", planning


@cache
def world_of(name: str) -> bl.MDP:
    """Return a world by its name.

    "staged" differs from step to step and begins in any state; "tiny" has two states, two actions
    and two steps.
    """
    if name == "tiny":
        moves = [[[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5], [0.125, 0.875]]]
        return bl.MDP.dense(moves, [[0.25, 0.0], [0.5, 1.0]], horizon=2)
    if name != "staged":
        return bl.world(name)
    draws, (H, S, A) = Draws("staged"), (4, 3, 3)
    weights = draws.table(H, S, A, S, below=4) + np.eye(S, dtype=np.int64)[:, None, :]
    return bl.MDP.dense(
        weights / weights.sum(axis=3, keepdims=True),
        draws.table(H, S, A, below=9) / 8,
        start=[0.5, 0.25, 0.25],
        reward_draws="bernoulli",
    )


ADAPTED = (
    "ubev",
    "ubev random ties",
    "ucbvi-ch",
    "ucrl2 exact",
    "ucrl2 bonus",
    "ucrl2 paper",
    "kl-ucrl exact",
    "psrl",
    "q-learning hoeffding",
)
"""Variants that are run for so long that the alpha of lazy updating varies with the delay."""


def adapted() -> list[Setting]:
    """Return runs under Lazy("auto") in which alpha changes."""
    return [
        Setting(
            variant,
            "lazy auto",
            world="tiny",
            delay=delay,
            episodes=700,
            seed=i,
            every=None,
            stages="each" if variant in STEPWISE else pick(("each", "pooled"), "tiny", variant),
            manner=dict(MANNERS[(i + j) % len(MANNERS)]),
        )
        for i, variant in enumerate(ADAPTED)
        for j, delay in enumerate(("geometric:5", "uniform:20"))
    ]


def settings() -> list[Setting]:
    """Return the sample: all pairs of base and updater, the other choices spread over them."""
    found = []
    for variant in VARIANTS:
        for updater in UPDATERS:
            key = (variant, updater)
            manner = dict(pick(MANNERS, "manner", *key))
            if manner["rewards"] is None:
                manner["reward_bonus"] = pick(BONUSES, "bonus", *key)
            delays = DELAYS[:-1] if updater == "explicit" else DELAYS
            pooled = variant not in STEPWISE and pick((True, False, False), "stages", *key)
            found.append(
                Setting(
                    variant,
                    updater,
                    world=pick(WORLDS, "world", *key),
                    delay=pick(delays, "delay", *key),
                    episodes=pick((60, 80, 100, 140), "episodes", *key),
                    seed=pick(range(1000), "seed", *key),
                    every=pick((None, 7), "every", *key),
                    stages="pooled" if pooled else "each",
                    manner=manner,
                )
            )
    return found


SETTINGS: dict[str, Setting] = {setting.name: setting for setting in (*settings(), *adapted())}


def digest_of(run: Any) -> dict[str, Any]:
    """Return the digest of each array of a run, and its numbers."""
    found: dict[str, Any] = {name: digest(getattr(run, name)) for name in ARRAYS}
    found |= {name: int(getattr(run, name)) for name in WHOLE}
    return found | {name: plain(float(getattr(run, name))) for name in REAL}


def compute(name: str) -> dict[str, dict[str, Any]]:
    """Return the digest of a setting for each way to compute it."""
    setting = SETTINGS[name]
    return {
        f"{engine}, planning {planning}": digest_of(setting.run(engine, planning))
        for engine, planning in setting.ways()
    }
