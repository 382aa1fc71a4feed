"""Comparison: a few settings in one world, checked, named, and summed up in a few numbers."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from belated.cli.support.options import Options, sentence, with_options

if TYPE_CHECKING:
    from belated.simulation.run import Run
    from belated.sweep.cell import Cell

COLUMNS = (
    "Mean\nregret",
    "Central 95%\nof runs",
    "V*K\nlost",
    "Updates",
    "Epochs",
    "Missing\n(ψ)",
    "Optimism\nheld",
)
"""Of the table, after the setting; regret is the final one, updates and epochs are means."""


@dataclass(frozen=True)
class Comparison:
    """What was asked for: settings to run in one world, by the names they have in tables."""

    cells: "Mapping[str, Cell]"
    title: str
    column: str  # what tells the settings apart
    command: str


def compare(
    *,
    world: str,
    options: Mapping[str, Options],
    updaters: Sequence[str],
    delays: Sequence[str],
    episodes: int,
    seeds: int,
    stages: str,
    rewards: str,
    late: str,
    delay_per: str,
    given: Sequence[str],
) -> Comparison:
    """Check everything, and name every setting by what tells it from the others."""
    from belated.learner.bases.base import check_choice
    from belated.sweep.cell import Cell, plain_delay
    from belated.sweep.names import parse_base, parse_updater, parse_world

    with sentence("--world"):
        parse_world(world)
    with sentence("--base"):
        for base, its_options in options.items():
            parse_base(base, its_options)
    with sentence("--updater"):
        for updater in updaters:
            parse_updater(updater)
    with sentence("--delay"):
        laws = list(dict.fromkeys(plain_delay(delay) for delay in delays))
    with sentence("--stages"):
        check_choice("stages", stages, ("each", "pooled"))
    with sentence("--rewards"):
        check_choice("rewards", rewards, ("known", "unknown"))
    with sentence("--late"):
        check_choice("late", late, ("everything", "rewards"))
        if late == "rewards" and rewards == "known":
            raise ValueError("late rewards are unknown rewards; add --rewards unknown.")
    with sentence("--delay-per"):
        check_choice("delay_per", delay_per, ("episode", "step"))
    updaters = list(dict.fromkeys(updaters))

    axes = {"Base": list(options), "Updater": updaters, "Delay": laws}
    several = [axis for axis, values in axes.items() if len(values) > 1] or ["Updater"]
    cells = {}
    for base, law, updater in product(options, laws, updaters):
        place = {"Base": base, "Updater": updater, "Delay": law}
        cells[", ".join(place[axis] for axis in several)] = Cell(
            world=world,
            base=base,
            delay=law,
            updater=updater,
            episodes=episodes,
            seeds=tuple(range(seeds)),
            base_options=tuple(sorted(options[base].items())),
            stages=stages,  # type: ignore[arg-type]
            rewards=rewards,  # type: ignore[arg-type]
            late=late,  # type: ignore[arg-type]
            delay_per=delay_per,  # type: ignore[arg-type]
        )
    axes["Base"] = [with_options(*pair) for pair in options.items()]
    common = [world, *(values[0] for axis, values in axes.items() if axis not in several)]
    manners = (
        (stages == "pooled", "pooled counts"),
        (late == "rewards", "late rewards"),
        (late == "everything" and rewards == "unknown", "unknown rewards"),
        (delay_per == "step", "late step by step"),
    )
    common += [words for holds, words in manners if holds]
    words = ["belated", "run", "--world", world]
    for name, values in (("--base", options), ("--option", given), ("--updater", updaters)):
        words += [word for value in values for word in (name, value)]
    words += [word for law in laws for word in ("--delay", law)]
    words += ["--episodes", str(episodes), "--seeds", str(seeds)]
    for name, value, usual in (
        ("--stages", stages, "each"),
        ("--rewards", rewards, "known"),
        ("--late", late, "everything"),
        ("--delay-per", delay_per, "episode"),
    ):
        words += [name, value] if value != usual else []
    return Comparison(cells, ", ".join(common), ", ".join(several), shlex.join(words))


def heading(asked: Comparison) -> str:
    """What all settings have in common."""
    cell = next(iter(asked.cells.values()))
    runs = "1 run" if len(cell.seeds) == 1 else f"{len(cell.seeds)} runs"
    return f"{asked.title}: {runs} of {cell.episodes:,} episodes"


@dataclass(frozen=True)
class Summary:
    """The runs of one setting in a few numbers."""

    setting: str
    base: str
    options: Options
    updater: str
    delay: str
    runs: int
    mean_regret: float
    low: float  # the central 95% of runs
    high: float
    lost: float  # share of V* K
    updates: float
    epochs: float
    max_missing: int
    psi: float | None  # Lemma 1's bound on what is missing; None if there is none
    optimism_held: int  # runs in which V~_1 >= V*_1 throughout
    seeds: list[int]
    total_regret: list[float]

    def row(self) -> list[str]:
        """The cells of the table's COLUMNS."""
        return [
            rounded(self.mean_regret),
            f"{rounded(self.low)} to {rounded(self.high)}",
            f"{100 * self.lost:.1f}%",
            f"{self.updates:,.0f}",
            f"{self.epochs:,.0f}",
            f"{self.max_missing:,} ({'∞' if self.psi is None else rounded(self.psi)})",
            f"{self.optimism_held} of {self.runs}",
        ]


def summary(cell: "Cell", runs: "Sequence[Run]") -> Summary:
    """The runs of one setting in a few numbers."""
    from belated.delays import parse as parse_delay
    from belated.exact.values import optimal_value
    from belated.figures.bands import band
    from belated.sweep.names import parse_base, parse_world
    from belated.theory import psi

    options = dict(cell.base_options)
    final = band(runs)
    bound = psi(parse_delay(cell.delay).mean, cell.episodes, parse_base(cell.base, options).delta)
    mean = float(final.mean[-1])
    return Summary(
        setting=cell.setting,
        base=cell.base,
        options=options,
        updater=cell.updater,
        delay=cell.delay,
        runs=len(runs),
        mean_regret=mean,
        low=float(final.low[-1]),
        high=float(final.high[-1]),
        lost=mean / (optimal_value(parse_world(cell.world)) * cell.episodes),
        updates=sum(run.updates for run in runs) / len(runs),
        epochs=sum(run.epochs for run in runs) / len(runs),
        max_missing=max(run.max_missing for run in runs),
        psi=bound if math.isfinite(bound) else None,
        optimism_held=sum(run.optimism_broken == 0 for run in runs),
        seeds=[run.seed for run in runs],
        total_regret=[run.total_regret for run in runs],
    )


def rounded(number: float) -> str:
    """To about four digits.

    >>> rounded(12.34), rounded(1234.56)
    ('12.3', '1,235')
    """
    return f"{number:,.1f}" if number < 1000 else f"{number:,.0f}"
