"""Summary of the runs of one setting, for the table and the JSON of `belated run`."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from belated.cli.support.options import BaseOptions

if TYPE_CHECKING:
    from belated.simulation.run import Run
    from belated.sweep.cell import Cell

COLUMNS: Final = (
    "Mean\nregret",
    "Central 95%\nof runs",
    "V*K\nlost",
    "Updates",
    "Epochs",
    "Missing\n(ψ)",
    "Optimism\nheld",
)
"""Headings of the table columns that follow the name of the setting."""


@dataclass(frozen=True)
class Summary:
    """Summary of the runs of one setting. Its fields are those of the JSON output."""

    setting: str
    """Id of the setting; see `Cell.setting`."""
    base: str
    options: BaseOptions
    updater: str
    delay: str
    runs: int
    """Number of runs of the setting."""
    mean_regret: float
    """Mean final regret."""
    low: float
    """2.5 % quantile of the final regret."""
    high: float
    """97.5 % quantile of the final regret."""
    lost: float
    """Mean final regret as a fraction of V*K, the expected sum of the rewards of an optimal policy
    in K episodes."""
    updates: float
    """Mean over runs of the number of times that a new plan was computed."""
    epochs: float
    """Mean over runs of the number of epochs."""
    max_missing: int
    """Maximum number of episodes in flight at the same time, over all runs."""
    psi: float | None
    """Upper bound psi of Lemma 1 on the number of episodes in flight; None if it is infinite, or if
    there is none because delays depend on what is played."""
    optimism_held: int | None
    """Number of runs in which V~_1 >= V*_1 in every episode; None for a base that is not designed
    to be optimistic, such as psrl."""
    seeds: list[int]
    total_regret: list[float]
    """Final regret of each run, in the order of `seeds`."""

    def row(self) -> list[str]:
        """Return the cells of a table row as text, in the order of `COLUMNS`."""
        return [
            format_regret(self.mean_regret),
            f"{format_regret(self.low)} to {format_regret(self.high)}",
            f"{100 * self.lost:.1f}%",
            format_mean_count(self.updates),
            format_mean_count(self.epochs),
            f"{self.max_missing:,} ({format_bound(self.psi, self.delay)})",
            format_optimism(self.optimism_held, self.runs),
        ]


def summarize(cell: "Cell", runs: "Sequence[Run]") -> Summary:
    """Return a summary of `runs`. `cell` describes the setting of the runs."""
    from belated.delays import parse as parse_delay
    from belated.exact.values import optimal_value
    from belated.sweep.bands import band
    from belated.theory import psi

    setting = cell.build()
    final = band(runs)
    base = setting.problem(0).algorithm
    expected = parse_delay(cell.delay).mean
    bound = math.inf
    if not math.isnan(expected):
        bound = psi(expected, cell.episodes, base.delta)
    held = sum(run.optimism_broken == 0 for run in runs)
    mean = float(final.mean[-1])
    return Summary(
        setting=cell.setting,
        base=cell.base,
        options=dict(cell.base_options),
        updater=cell.updater,
        delay=cell.delay,
        runs=len(runs),
        mean_regret=mean,
        low=float(final.low[-1]),
        high=float(final.high[-1]),
        lost=mean / (optimal_value(setting.world) * cell.episodes),
        updates=sum(run.updates for run in runs) / len(runs),
        epochs=sum(run.epochs for run in runs) / len(runs),
        max_missing=max(run.max_missing for run in runs),
        psi=bound if math.isfinite(bound) else None,
        optimism_held=held if base.optimistic else None,
        seeds=[run.seed for run in runs],
        total_regret=[run.total_regret for run in runs],
    )


def format_bound(psi: float | None, delay: str) -> str:
    """Return the bound `psi` on the number of episodes in flight as text.

    If it is None, this is "-" if the law named `delay` depends on what is played, otherwise "∞".
    """
    from belated.delays import parse as parse_delay

    if psi is not None:
        return format_regret(psi)
    return "-" if parse_delay(delay).dependent else "∞"


def format_optimism(held: int | None, runs: int) -> str:
    """Return text with the number of runs in which optimism held; "-" if `held` is None.

    `held` is this number, and `runs` the number of all runs.

    >>> format_optimism(4, 5), format_optimism(None, 5)
    ('4 of 5', '-')
    """
    return "-" if held is None else f"{held} of {runs}"


def optimism_note(bases: Iterable[str]) -> str:
    """Return a sentence about `bases`, names of bases that are not designed to be optimistic.

    The result is empty if there are no names.

    >>> optimism_note(["psrl", "random", "psrl"])
    'Optimism: - for psrl and random, which are not designed to be optimistic.'
    """
    names = list(dict.fromkeys(bases))
    verb = "is" if len(names) == 1 else "are"
    listed = " and ".join(names)
    return f"Optimism: - for {listed}, which {verb} not designed to be optimistic." if names else ""


def format_mean_count(value: float) -> str:
    """Return a mean number of updates or epochs as text, rounded half up.

    Halves are always rounded up, so that means that differ by 1 also differ by 1 in the text.

    >>> format_mean_count(12_611.5), format_mean_count(12_612.5)
    ('12,612', '12,613')
    """
    return f"{math.floor(value + 0.5):,}"


def format_regret(value: float) -> str:
    """Return `value` as text, with one decimal if it is below 1,000 and otherwise none.

    >>> format_regret(12.34), format_regret(1234.56)
    ('12.3', '1,235')
    """
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"
