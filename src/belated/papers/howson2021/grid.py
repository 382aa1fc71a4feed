"""Experiments of Howson, Pike-Burke and Filippi as data: grid, presets, variants and figures.

The grid is the set of all combinations of chain, delay law, expected delay and updater.
"""

from dataclasses import dataclass
from itertools import count, product
from typing import Final, Literal

from belated.simulation.calibration_table import CalibratedScales
from belated.simulation.simulation import Options, normalize_delay
from belated.sweep.cell import Cell, seed_blocks
from belated.sweep.packaged import FOLDER

CHAINS: Final = (5, 10, 20, 30)
"""Number of states of each chain of the experiments."""

LAWS: Final = ("constant", "uniform", "poisson", "geometric")
LOW_VARIANCE_LAWS: Final = ("constant", "poisson")
HIGH_VARIANCE_LAWS: Final = ("uniform", "geometric")

MEANS: Final = (0, 100, 200, 300, 400, 500)
"""Expected delays of the experiments, in episodes."""

LEARNERS: Final = {
    "active": "Active",
    "lazy:100": "Lazy, α = 100",
    "lazy:10": "Lazy, α = 10",
    "lazy:1": "Lazy, α = 1",
    "explicit": "Explicit exploration",
}
"""Map from each updater to its name in figures, in the order of the paper's legends."""

PROPOSED_UPDATERS: Final = ("active", "lazy:100", "lazy:10", "lazy:1")
"""Updaters that the paper proposes. The paper compares them with explicit exploration."""

LAZY_UPDATERS: Final = ("lazy:1", "lazy:10", "lazy:100")

REGRET_FIGURE_MEANS: Final = (100, 300, 500)
"""Expected delays, in episodes, for which the paper has a figure of cumulative regret."""

Variant = Literal["figures", "calibrated", "calibrated-with-delay", "literal"]

CHECKPOINTS: Final = 200
"""Number of checkpoints of a run, evenly spaced."""

CALIBRATED_SCALES: Final = {5: 0.0486, 10: 0.00649, 20: 0.00154, 30: 0.000562}
"""Map from the number of states S of a chain to the scale of the two-term bonus of UCBVI-BF in the
variant "calibrated". The scales were found by

    belated calibrate --world chain-S --base ucbvi-bf --preset two_term --episodes K --first-seed 0

with the paper's K and without delay, in 40 runs. Their seeds 0 to 39 contain those of the
reproduction; by default, `belated calibrate` now uses other seeds. On the chains with 5, 10, 20 and
30 states, optimism held in 38, 38, 38 and 39 of 40 runs."""

DELAY_SCALES_FILE: Final = FOLDER / "calibrated-with-delay.json"
"""Scales of the two-term bonus of UCBVI-BF in the variant "calibrated-with-delay", one for each
chain and delay. They were found by `belated calibrate --table` with the paper's K and with active
updating, and are used with all learners."""

PAID_RIGHT_SUFFIX: Final = "-right"
"""Suffix of the name of a chain whose last state gives a reward only for the action "right".

The variant "figures" runs explicit exploration on the chains with and without this suffix. The
published curves of explicit exploration fit the chain with the suffix, so the published plateaus
are compared with runs on it. The curves of the other learners fit the chain without the suffix,
whose last state gives a reward for both actions. Learners are compared with each other only on the
chain without the suffix. Both chains have the same optimal value.
"""


@dataclass(frozen=True)
class Preset:
    """Size of a reproduction: number of seeds, and number of episodes for each chain."""

    seeds: int  # number of runs of each setting
    episodes: dict[int, int]  # number of episodes K for each chain


PRESETS: Final = {
    "quick": Preset(seeds=5, episodes={5: 10_000, 10: 10_000, 20: 20_000, 30: 20_000}),
    "paper": Preset(seeds=30, episodes={5: 10_000, 10: 10_000, 20: 100_000, 30: 100_000}),
}


def cells(preset: Preset, variant: Variant) -> list[Cell]:
    """Return the cells of all combinations of chain, delay law, expected delay and updater.

    `preset` determines the numbers of seeds and episodes, and `variant` determines the base.
    Without delay, the four laws are equal, so their cells are included only once. The variant
    "figures" runs explicit exploration also on the chains with the suffix `PAID_RIGHT_SUFFIX`.
    """
    scales = CalibratedScales(DELAY_SCALES_FILE)
    found: dict[str, Cell] = {}
    for states, law, mean, updater in product(CHAINS, LAWS, MEANS, LEARNERS):
        paid_right = variant == "figures" and updater == "explicit"
        for suffix in ("", PAID_RIGHT_SUFFIX) if paid_right else ("",):
            world, base, delay = f"chain-{states}{suffix}", "ucbvi-bf", f"{law}:{mean}"
            options: Options = ()
            if variant == "figures":
                base = "belated.papers.howson2021.base:Published"
                options = (("ties", "random"),)
            elif variant == "calibrated":
                options = (("preset", "two_term"), ("scale", CALIBRATED_SCALES[states]))
            elif variant == "calibrated-with-delay":
                options = scales.options(world, base, (("preset", "two_term"),), delay)
            for seeds in seed_blocks(range(preset.seeds)):
                cell = Cell(
                    world=world,
                    base=base,
                    delay=normalize_delay(delay),
                    updater=updater,
                    episodes=preset.episodes[states],
                    seeds=seeds,
                    base_options=options,
                    stages="pooled" if variant == "figures" else "each",
                    points=CHECKPOINTS,
                    label=variant,
                )
                found.setdefault(cell.id, cell)
    return list(found.values())


@dataclass(frozen=True)
class Figure:
    """Description of a figure of the paper.

    A figure of cumulative regret has a panel for each law. A figure of delay dependence has a panel
    for each learner.
    """

    number: int  # number in the results folder, from 1, ordered by chain
    published_number: int  # number in the paper
    name: str  # file name without number and suffix
    states: int  # number of states of the chain
    mean: int | None  # expected delay in episodes; None in a figure of delay dependence

    @property
    def updaters(self) -> tuple[str, ...]:
        """Updaters in the figure; those of delay dependence do not show explicit exploration."""
        return PROPOSED_UPDATERS if self.mean is None else tuple(LEARNERS)

    @property
    def file_name(self) -> str:
        """Name of the files of the figure, without suffix."""
        return f"{self.number:02}-{self.name}"

    @property
    def title(self) -> str:
        """Title of the figure, as in the paper's caption."""
        if self.mean is None:
            return f"Delay dependence (S = {self.states})"
        return f"Cumulative regret (S = {self.states}, E[τ] = {self.mean})"


def figures() -> list[Figure]:
    """Return the sixteen figures of the paper.

    Each of the four chains has three figures of cumulative regret and one of delay dependence.

    Figure 1 of the paper shows the cumulative regret on the chain of 30 states with E[τ] = 100, and
    Figure 2 the delay dependence on the same chain. All other figures are in the appendix.
    """
    in_text, in_appendix = {(30, 100): 1, (30, None): 2}, count(3)
    found: list[Figure] = []
    for states, mean in product(CHAINS, (*REGRET_FIGURE_MEANS, None)):
        name = f"chain-{states}-" + ("delay" if mean is None else f"regret-{mean}")
        published = in_text.get((states, mean)) or next(in_appendix)
        found.append(Figure(len(found) + 1, published, name, states, mean))
    return found
