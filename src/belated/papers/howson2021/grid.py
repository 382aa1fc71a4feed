"""The experiments of Howson, Pike-Burke and Filippi as data: grid, presets, variants, figures."""

from dataclasses import dataclass
from typing import Final, Literal

from belated.sweep.cell import Cell, normalize_delay, seed_blocks

CHAINS: Final = (5, 10, 20, 30)
LAWS: Final = ("constant", "uniform", "poisson", "geometric")
MEANS: Final = (0, 100, 200, 300, 400, 500)
LEARNERS: Final = {
    "active": "Active",
    "lazy:100": "Lazy, α = 100",
    "lazy:10": "Lazy, α = 10",
    "lazy:1": "Lazy, α = 1",
    "explicit": "Explicit exploration",
}
"""Updaters, in the order of the paper's legends, and what figures call them."""

REGRET_MEANS: Final = (100, 300, 500)
"""The expected delays of the figures of cumulative regret."""

VARIANTS: Final = ("figures", "calibrated", "literal")
Variant = Literal["figures", "calibrated", "literal"]

CALIBRATED: Final = {5: 0.0486, 10: 0.00649, 20: 0.00154, 30: 0.000562}
"""The scale of the two-term bonus for each chain, as measured by

    belated calibrate --world chain-S --base ucbvi-bf --preset two_term --episodes K --seeds 40

with the paper's K and no delay: optimism held in 38, 38, 38 and 39 of 40 runs."""


RIGHT: Final = "-right"
"""Part of the `figures` variant: the published curves of explicit exploration fit a chain whose
last state pays for going right only, those of the other learners one that pays for either action.
The optimal value is the same."""


@dataclass(frozen=True)
class Preset:
    """How much of the grid to run."""

    seeds: int
    episodes: dict[int, int]  # K for each chain


PRESETS: Final = {
    "quick": Preset(seeds=5, episodes={5: 10_000, 10: 10_000, 20: 20_000, 30: 20_000}),
    "paper": Preset(seeds=30, episodes={5: 10_000, 10: 10_000, 20: 100_000, 30: 100_000}),
}


def cells(preset: Preset, variant: Variant) -> list[Cell]:
    """Every run of the paper once; at E[tau] = 0 the four laws are one."""
    found: dict[str, Cell] = {}
    for states in CHAINS:
        for law in LAWS:
            for mean in MEANS:
                for updater in LEARNERS:
                    for seeds in seed_blocks(range(preset.seeds)):
                        cell = cell_of(preset, variant, states, f"{law}:{mean}", updater, seeds)
                        found.setdefault(cell.id, cell)
    return list(found.values())


def cell_of(
    preset: Preset, variant: Variant, states: int, delay: str, updater: str, seeds: tuple[int, ...]
) -> Cell:
    """One cell of the grid under a variant."""
    base = "belated.papers.howson2021.base:Published"
    options: tuple[tuple[str, object], ...] = (("ties", "random"),)
    if variant != "figures":
        base = "ucbvi-bf"
        options = ()
    world = f"chain-{states}"
    if variant == "figures" and updater == "explicit":
        world += RIGHT
    if variant == "calibrated":
        options = (("preset", "two_term"), ("scale", CALIBRATED[states]))
    return Cell(
        world=world,
        base=base,
        delay=normalize_delay(delay),
        updater=updater,
        episodes=preset.episodes[states],
        seeds=seeds,
        base_options=options,
        stages="pooled" if variant == "figures" else "each",
        label=variant,
    )


@dataclass(frozen=True)
class Figure:
    """One figure of the paper: a panel for each law, or, of delay dependence, for each learner."""

    number: int
    name: str
    kind: Literal["regret", "delay"]
    states: int
    mean: int | None  # E[tau] of a figure of cumulative regret

    @property
    def title(self) -> str:
        """As the paper's caption has it."""
        if self.kind == "delay":
            return f"Delay dependence (S = {self.states})"
        return f"Cumulative regret (S = {self.states}, E[τ] = {self.mean})"


def figures() -> list[Figure]:
    """The sixteen figures, by chain: three of cumulative regret and one of delay dependence."""
    made: list[Figure] = []
    for states in CHAINS:
        for mean in REGRET_MEANS:
            name = f"chain-{states}-regret-{mean}"
            made.append(Figure(len(made) + 1, name, "regret", states, mean))
        name = f"chain-{states}-delay"
        made.append(Figure(len(made) + 1, name, "delay", states, None))
    return made
