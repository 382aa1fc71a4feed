"""`belated calibrate`: the smallest scale at which a base is still optimistic."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from belated.cli.inputs import Options, options_of, sentence, text_of
from belated.cli.tables import numbers, show

if TYPE_CHECKING:
    from rich.table import Table

    from belated.simulation.calibrate import Calibration, Trial


def calibrate(
    world: Annotated[str, typer.Option(help="The world, such as chain-30.")],
    base: Annotated[str, typer.Option(help="The base: a name such as ucrl2, or module:Class.")],
    preset: Annotated[str | None, typer.Option(help="Short for --option preset=...")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="key=value for the base; may be repeated.")
    ] = None,
    updater: Annotated[str, typer.Option(help="active, lazy:ALPHA, explicit or multi.")] = "active",
    delay: Annotated[str, typer.Option(help="The delay, such as geometric:100.")] = "constant:0",
    stages: Annotated[str, typer.Option(help="Count each step apart, or pooled.")] = "each",
    episodes: Annotated[int, typer.Option(help="Episodes of each run.", min=1)] = 10_000,
    seeds: Annotated[int, typer.Option(help="Runs at each scale.", min=1)] = 40,
    level: Annotated[float, typer.Option(help="The share of runs in which it must hold.")] = 0.95,
    lowest: Annotated[float, typer.Option(help="The smallest scale to try.")] = 1e-4,
    threads: Annotated[
        int | None, typer.Option(help="Runs at a time; changes no result.", min=1)
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(help="Put the scale into this study file, or begin one.", dir_okay=False),
    ] = None,
) -> None:
    """Find the smallest scale at which a base is still optimistic.

    Optimism holds in a run if V~_1 is at least V*_1 in every episode. With its published
    constants (scale 1) a base is more optimistic than it needs to be, and learns slowly.
    """
    from belated.cli import study_text
    from belated.delays import parse as parse_delay
    from belated.learner.bases.base import check_choice
    from belated.simulation import calibrate as simulation
    from belated.simulation.many import Interrupted
    from belated.sweep.names import parse_base, parse_updater, parse_world
    from belated.sweep.store import write as write_file

    with sentence("--option"):
        options = options_of(option or [], [base])[base]
        if preset is not None:
            options = {"preset": preset, **options}
        if "scale" in options:
            raise ValueError("option scale is what this command looks for; leave it out.")
    with sentence("--world"):
        the_world = parse_world(world)
    with sentence("--base"):
        the_base = parse_base(base, options)
    with sentence("--updater"):
        the_updater = parse_updater(updater)
    with sentence("--delay"):
        the_delay = parse_delay(delay)
    with sentence("--stages"):
        check_choice("stages", stages, ("each", "pooled"))
    with sentence("--write"):
        if write is not None and write.exists():
            # better to hear now than after the runs that it does not fit
            study_text.with_scale(write.read_bytes().decode(), base, options, 1.0)
        elif write is not None:
            write.parent.mkdir(parents=True, exist_ok=True)

    tried: list[Trial] = []
    try:
        found = simulation.calibrate(
            the_world,
            base=the_base,
            updater=the_updater,
            delay=the_delay,
            episodes=episodes,
            seeds=range(seeds),
            stages=stages,  # type: ignore[arg-type]
            level=level,
            lowest=lowest,
            threads=threads,
            tell=tried.append,
        )
    except (Interrupted, ValueError) as error:
        if not tried and isinstance(error, ValueError):
            raise typer.BadParameter(str(error)) from None
        if tried:
            show(table(tried))
        typer.echo(str(error), err=True)
        raise typer.Exit(130 if isinstance(error, Interrupted) else 1) from None
    show(table(tried, found.scale))
    typer.echo(verdict(found, level))
    scaled = {**options, "scale": found.scale}
    if write is None:
        typer.echo(f"\nTo use it:\n  {command(world, base, scaled, updater, delay, episodes)}")
        typer.echo(f"or in a study file:\n{indented(study_text.snippet(base, scaled))}")
        return
    with sentence("--write"):
        if write.exists():
            text = study_text.with_scale(write.read_bytes().decode(), base, options, found.scale)
        else:
            text = study_text.minimal(
                write.stem,
                world=world,
                base=base,
                options=scaled,
                updater=updater,
                delay=delay,
                episodes=episodes,
                seeds=seeds,
                stages=stages,
            )
            typer.echo(f"\n{indented(text.rstrip())}")
        write_file(write, text.encode())
    typer.echo(f"\nWrote scale = {found.scale} to {write}.")


def table(tried: "Sequence[Trial]", chosen: float | None = None) -> "Table":
    """One row for each scale, the smallest first."""
    rows = numbers("Scale", ("Optimism held", "95% interval", "Mean final regret"))
    rows.add_column()
    for trial in sorted(tried, key=lambda trial: trial.scale):
        rows.add_row(
            f"{trial.scale:g}",
            f"{trial.held} of {trial.runs}",
            percents(trial.interval),
            f"{trial.mean_regret:,.1f}",
            "chosen" if trial.scale == chosen else "",
        )
    return rows


def verdict(found: "Calibration", level: float) -> str:
    """What was found, in a sentence or two."""
    held = (
        f"{found.held} of {found.runs} runs (95% interval {percents(found.interval)}), "
        f"with a mean final regret of {found.mean_regret:,.1f}"
    )
    if found.at_floor:
        return (
            f"Even at scale {found.scale:g}, the lowest tried, optimism held throughout in {held}. "
            "A smaller scale may do as well: see --lowest."
        )
    return (
        f"Scale {found.scale:g} is the smallest found at which optimism holds throughout in at "
        f"least {100 * level:g}% of runs: it did in {held}."
    )


def percents(interval: tuple[float, float]) -> str:
    """An interval of probabilities."""
    low, high = interval
    return f"{100 * low:.1f}% to {100 * high:.1f}%"


def command(
    world: str, base: str, options: Options, updater: str, delay: str, episodes: int
) -> str:
    """The command that runs what was calibrated."""
    words = ["belated", "run", "--world", world, "--base", base]
    for key, value in options.items():
        words += ["--option", f"{key}={text_of(value)}"]
    words += ["--updater", updater, "--delay", delay, "--episodes", str(episodes)]
    return shlex.join(words)


def indented(text: str) -> str:
    """Set apart from the sentences around it."""
    return "\n".join(f"  {line}" if line else "" for line in text.splitlines())
