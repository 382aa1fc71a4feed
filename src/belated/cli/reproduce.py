"""`belated reproduce`: a paper's experiments, figures, numbers and claims in one command."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class PaperName(StrEnum):
    """Papers that can be reproduced."""

    howson2021 = "howson2021"


class PresetName(StrEnum):
    """How much to run."""

    quick = "quick"
    paper = "paper"


class VariantName(StrEnum):
    """How the base is read."""

    figures = "figures"
    calibrated = "calibrated"
    literal = "literal"


def reproduce(
    paper: Annotated[PaperName, typer.Argument(help="Which paper.")] = PaperName.howson2021,
    preset: Annotated[
        PresetName,
        typer.Option(help="quick: a few seeds, shorter runs, minutes; paper: all of it, an hour."),
    ] = PresetName.quick,
    variant: Annotated[
        VariantName,
        typer.Option(
            help="figures: the reading that fits the published curves; calibrated: scaled until "
            "optimism just holds; literal: the published constants."
        ),
    ] = VariantName.figures,
    out: Annotated[
        Path | None, typer.Option(help="The folder; by default out/PAPER-VARIANT-PRESET.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Runs of each setting, instead of the preset's.", min=1)
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Runs at a time.", min=1)] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="'local:N' for N processes, or the address of a Dask scheduler."),
    ] = None,
) -> None:
    """Reproduce a paper: run its experiments, draw its figures, check its numbers and claims.

    Leaves the figures as PDF and PNG, report.html with all of it, and the numbers as Parquet.
    Stop it and give the same command again: it goes on where it was.
    """
    from dataclasses import replace

    from belated.cli.figures import finish_paper
    from belated.cli.sweep import play
    from belated.papers.howson2021.grid import PRESETS, cells
    from belated.sweep.store import Store, write_atomically

    chosen = PRESETS[preset.value]
    command = f"belated reproduce {paper} --preset {preset} --variant {variant}"
    if seeds is not None:
        chosen = replace(chosen, seeds=seeds)
        command += f" --seeds {seeds}"
    store = Store(out or Path("out") / f"{paper}-{variant}-{preset}")
    facts = {"paper": paper.value, "variant": variant.value, "command": command}
    write_atomically(store.folder / "study.json", json.dumps(facts, indent=1).encode())
    outcome = play(cells(chosen, variant.value), store, threads=threads, scheduler=scheduler)
    typer.echo(f"{outcome.computed} cells played, {outcome.skipped} kept from before.")
    finish_paper(store.folder, variant.value, command)
