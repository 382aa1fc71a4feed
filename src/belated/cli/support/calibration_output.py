"""Output of `belated calibrate`: trials of one setting, and scales of many settings."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from belated.cli.support.errors import exit_with_message, usage_errors
from belated.cli.support.tables import build_table, print_table

if TYPE_CHECKING:
    from rich.table import Table

    from belated.simulation.calibrate import Calibration, Trial
    from belated.simulation.calibration_table import CalibratedScale, CalibrationTask
    from belated.simulation.many import Device


def write_table(tasks: "Sequence[CalibrationTask]", path: Path, *, jobs: int, device: str) -> None:
    """Calibrate several settings, print their scales and write them to a file.

    Parameters
    ----------
    tasks : sequence of CalibrationTask
        Settings to calibrate.
    path : Path
        File with the calibrated scales, new or existing.
    jobs : int
        Number of processes.
    device : str
        "cpu", or "gpu" to calibrate on a GPU what it supports; exit with a message if it is
        neither.
    """
    from belated.simulation.calibration_table import calibrate_table
    from belated.simulation.gpu.errors import GpuMismatchError

    started = time.perf_counter()

    def report(row: "CalibratedScale") -> None:
        scale = "none" if row.scale is None else f"{row.scale:g}"
        typer.echo(
            f"{time.perf_counter() - started:8.1f} s  {row.world}  {row.base}  {row.delay}: scale "
            f"{scale}, {row.held} of {row.runs} runs"
        )

    try:
        with usage_errors("--table"):
            rows = calibrate_table(
                tasks, path=path, jobs=jobs, device=cast("Device", device), on_row=report
            )
    except GpuMismatchError as error:
        exit_with_message(str(error))
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. {path} has the scales found so far.", err=True)
        raise typer.Exit(130) from None
    print_table(build_scale_table(rows))
    typer.echo(f"\nWrote {len(rows)} scales to {path}.")


def build_scale_table(rows: "Sequence[CalibratedScale]") -> "Table":
    """Return a table with the calibrated scale of each setting in `rows`."""
    columns = ("Scale", "Optimism held", "95% interval", "Mean final regret")
    table = build_table(["World", "Base", "Delay"], columns)
    for row in rows:
        scale = "none" if row.scale is None else f"{'at most ' * row.at_floor}{row.scale:g}"
        regret = "" if row.mean_regret is None else f"{row.mean_regret:,.1f}"
        held = f"{row.held} of {row.runs}"
        table.add_row(
            row.world, row.base, row.delay, scale, held, format_interval(row.interval), regret
        )
    return table


def build_trial_table(tried: "Sequence[Trial]", chosen: float | None = None) -> "Table":
    """Return a table of the trials `tried`, in ascending order of the scale.

    The scale `chosen`, if given, is marked in an additional column.
    """
    table = build_table(["Scale"], ("Optimism held", "95% interval", "Mean final regret"))
    if chosen is not None:
        table.add_column()
    for trial in sorted(tried, key=lambda trial: trial.scale):
        table.add_row(
            f"{trial.scale:g}",
            f"{trial.held} of {trial.runs}",
            format_interval(trial.interval),
            f"{trial.mean_regret:,.1f}",
            *(["chosen" if trial.scale == chosen else ""] if chosen is not None else []),
        )
    return table


def format_result(found: "Calibration", level: float) -> str:
    """Return sentences about the result `found` of a calibration.

    `level` is the required share of runs in which optimism holds.
    """
    held = (
        f"{found.held} of {found.runs} runs (95% interval {format_interval(found.interval)}), "
        f"with a mean final regret of {found.mean_regret:,.1f}"
    )
    if found.at_floor:
        return (
            f"Even at scale {found.scale:g}, the lowest tried, optimism held throughout in {held}. "
            "A smaller scale may be enough: see --lowest."
        )
    return (
        f"Scale {found.scale:g} is the smallest found at which optimism holds throughout in at "
        f"least {100 * level:g}% of runs: it did in {held}."
    )


def format_interval(interval: tuple[float, float]) -> str:
    """Return `interval`, a confidence interval of a probability, as text in percent."""
    low, high = interval
    return f"{100 * low:.1f}% to {100 * high:.1f}%"
