"""`belated reproduce`: run a paper's experiments, draw its figures and test its claims."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from belated.cli.support.errors import require_packages
from belated.cli.support.options import Device, OptionalCount, help_from_docstring


@help_from_docstring()
def reproduce(
    paper: Annotated[Literal["howson2021"], typer.Argument()] = "howson2021",
    preset: Literal["quick", "paper"] = "quick",
    variant: Literal["figures", "calibrated", "calibrated-with-delay", "literal"] = "figures",
    out: Path | None = None,
    seeds: OptionalCount = None,
    threads: OptionalCount = None,
    scheduler: str | None = None,
    device: Device = "cpu",
    shard: str | None = None,
) -> None:
    """Reproduce a paper's experiments, figures and claims.

    Writes the figures as PDF and PNG, report.html, numbers.md, claims.json, and the results as
    Parquet files. To resume an interrupted reproduction, give the same command again.

    The variant "figures" runs explicit exploration on two kinds of chains: on chain-S, where it is
    compared with the other learners, and on chain-S-right, where the last state gives a reward only
    for the action right, for the comparison with the published plateaus.

    Example: belated reproduce howson2021 --preset quick

    Parameters
    ----------
    paper
        Paper to reproduce: howson2021.
    preset
        quick: few seeds and short runs, takes minutes; paper: all seeds and episodes, takes an
        hour or more on two cores.
    variant
        Constants of the base. figures: fitted to the published curves; calibrated: the smallest
        scale at which optimism holds without delay; calibrated-with-delay: the smallest scale for
        each delay; literal: as published.
    out
        Results folder; by default out/PAPER-VARIANT-PRESET.
    seeds
        Number of runs of each setting; by default that of the preset.
    """
    require_packages("belated reproduce", "report", "duckdb", "matplotlib")
    from dataclasses import replace

    from belated.cli.figures import write_paper
    from belated.cli.sweep import run_cells
    from belated.papers.howson2021.grid import PRESETS, cells
    from belated.papers.howson2021.measurements import measure
    from belated.sweep.store import Store

    chosen = PRESETS[preset]
    command = f"belated reproduce {paper} --preset {preset} --variant {variant}"
    if seeds is not None:
        chosen = replace(chosen, seeds=seeds)
        command += f" --seeds {seeds}"
    store = Store(out or Path("out") / f"{paper}-{variant}-{preset}")
    facts = {"paper": paper, "variant": variant, "command": command}
    grid = cells(chosen, variant)
    outcome = run_cells(
        grid, store, facts, shard, threads=threads, scheduler=scheduler, device=device
    )
    typer.echo(f"{outcome}.")
    if shard is not None:
        typer.echo(
            "When all parts are finished, the same command without --shard draws the figures."
        )
        return
    measure(store.folder, grid)
    write_paper(store.folder, variant, command)
