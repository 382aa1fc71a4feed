"""Summary of the runs of one setting, for the table and the JSON of `belated run`."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

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


Summary = dict[str, Any]
"""Summary of the runs of one setting, as JSON object; see `summarize`."""


def summarize(cell: "Cell", runs: "Sequence[Run]") -> Summary:
    """Return a summary of the runs of one setting.

    Parameters
    ----------
    cell : Cell
        The setting.
    runs : sequence of Run
        Its runs.

    Returns
    -------
    dict
        The id of the setting (setting), its base, the options of the base, updater and delay, and
        the number of runs. Mean and central 95 % of the final regret (mean_regret, low, high), and
        its mean as a fraction of V*K, the expected sum of the rewards of an optimal policy in K
        episodes (lost). Mean numbers of plans (updates) and of epochs. The maximum number of
        episodes in flight (max_missing), and its upper bound psi of Lemma 1, None if it is infinite
        or if delays depend on what is played. The number of runs in which V~_1 >= V*_1 in every
        episode (optimism_held), None for a base that is not designed to be optimistic, such as
        psrl. The seeds, and the final regret of each run (total_regret).
    """
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
    return {
        "setting": cell.setting,
        "base": cell.base,
        "options": dict(cell.base_options),
        "updater": cell.updater,
        "delay": cell.delay,
        "runs": len(runs),
        "mean_regret": mean,
        "low": float(final.low[-1]),
        "high": float(final.high[-1]),
        "lost": mean / (optimal_value(setting.world) * cell.episodes),
        "updates": sum(run.updates for run in runs) / len(runs),
        "epochs": sum(run.epochs for run in runs) / len(runs),
        "max_missing": max(run.max_missing for run in runs),
        "psi": bound if math.isfinite(bound) else None,
        "optimism_held": held if base.optimistic else None,
        "seeds": [run.seed for run in runs],
        "total_regret": [run.total_regret for run in runs],
    }


def summary_row(summary: Summary) -> list[str]:
    """Return the cells of a table row with a summary as text, in the order of `COLUMNS`."""
    from belated.delays import parse as parse_delay

    no_bound = "-" if parse_delay(summary["delay"]).dependent else "∞"
    bound = no_bound if summary["psi"] is None else format_regret(summary["psi"])
    return [
        format_regret(summary["mean_regret"]),
        f"{format_regret(summary['low'])} to {format_regret(summary['high'])}",
        f"{100 * summary['lost']:.1f}%",
        format_mean_count(summary["updates"]),
        format_mean_count(summary["epochs"]),
        f"{summary['max_missing']:,} ({bound})",
        format_optimism(summary["optimism_held"], summary["runs"]),
    ]


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
