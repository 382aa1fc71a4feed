"""`belated calibrate`: the smallest scale at which a base is still optimistic."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from belated.cli.support.options import Options, options_of, sentence, text_of
from belated.cli.support.tables import numbers, show

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
    asked = Asked(
        world=world,
        base=base,
        options=wanted(base, preset, option or []),
        updater=updater,
        delay=delay,
        stages=stages,
        episodes=episodes,
        seeds=seeds,
    )
    parts = asked.parts()
    if write is not None:
        check_place(write, asked)
    found = search(parts, level=level, lowest=lowest, threads=threads)
    show(table(found.tried, found.scale))
    typer.echo(verdict(found, level))
    if write is None:
        typer.echo(advice(asked, found.scale))
    else:
        keep(write, asked, found.scale)


@dataclass(frozen=True)
class Asked:
    """What to calibrate, in the words of the command line."""

    world: str
    base: str
    options: Options
    updater: str
    delay: str
    stages: str
    episodes: int
    seeds: int

    def parts(self) -> dict[str, Any]:
        """What the words stand for, as arguments."""
        from belated.delays import parse as parse_delay
        from belated.learner.bases.base import check_choice
        from belated.sweep.names import parse_base, parse_updater, parse_world

        with sentence("--world"):
            world = parse_world(self.world)
        with sentence("--base"):
            base = parse_base(self.base, self.options)
        with sentence("--updater"):
            updater = parse_updater(self.updater)
        with sentence("--delay"):
            delay = parse_delay(self.delay)
        with sentence("--stages"):
            check_choice("stages", self.stages, ("each", "pooled"))
        return {
            "world": world,
            "base": base,
            "updater": updater,
            "delay": delay,
            "stages": self.stages,
            "episodes": self.episodes,
            "seeds": range(self.seeds),
        }

    def scaled(self, scale: float) -> Options:
        """The base's options with this scale."""
        return {**self.options, "scale": scale}


def wanted(base: str, preset: str | None, texts: Sequence[str]) -> Options:
    """The options of the base, without a scale."""
    with sentence("--option"):
        options = options_of(texts, [base])[base]
        if "scale" in options:
            raise ValueError("option scale is what this command looks for; leave it out.")
    return options if preset is None else {"preset": preset, **options}


def search(
    parts: Mapping[str, Any], *, level: float, lowest: float, threads: int | None
) -> "Calibration":
    """Calibrate; if that ends early, show how far it came and leave."""
    from belated.simulation.calibrate import calibrate as find
    from belated.simulation.many import Interrupted

    tried: list[Trial] = []
    try:
        return find(**parts, level=level, lowest=lowest, threads=threads, tell=tried.append)
    except Interrupted:
        code, said = 130, "Interrupted before a scale was found."
    except ValueError as error:
        if not tried:
            raise typer.BadParameter(str(error)) from None
        code, said = 1, str(error)
    if tried:
        show(table(tried))
    typer.echo(said, err=True)
    raise typer.Exit(code)


def check_place(path: Path, asked: Asked) -> None:
    """Refuse a study file that the scale does not fit into, before anything is run."""
    from belated.cli.support.study_files import with_scale

    with sentence("--write"):
        if path.exists():
            with_scale(path.read_bytes().decode(), asked.base, asked.options, 1.0)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)


def keep(path: Path, asked: Asked, scale: float) -> None:
    """Put the scale into a study file, or begin one."""
    from belated.cli.support.study_files import minimal, with_scale
    from belated.sweep.store import write

    with sentence("--write"):
        if path.exists():
            text = with_scale(path.read_bytes().decode(), asked.base, asked.options, scale)
        else:
            text = minimal(path.stem, **asdict(replace(asked, options=asked.scaled(scale))))
            typer.echo(f"\n{indented(text.rstrip())}")
        write(path, text.encode())
    typer.echo(f"\nWrote scale = {scale} to {path}.")


def advice(asked: Asked, scale: float) -> str:
    """How to use the scale."""
    from belated.cli.support.study_files import snippet

    options = asked.scaled(scale)
    words = ["belated", "run", "--world", asked.world, "--base", asked.base]
    for key, value in options.items():
        words += ["--option", f"{key}={text_of(value)}"]
    words += ["--updater", asked.updater, "--delay", asked.delay]
    if asked.stages != "each":
        words += ["--stages", asked.stages]
    words += ["--episodes", str(asked.episodes)]
    section = indented(snippet(asked.base, options))
    return f"\nTo use it:\n  {shlex.join(words)}\nor in a study file:\n{section}"


def table(tried: "Sequence[Trial]", chosen: float | None = None) -> "Table":
    """One row for each scale, the smallest first."""
    rows = numbers("Scale", ("Optimism held", "95% interval", "Mean final regret"))
    if chosen is not None:
        rows.add_column()
    for trial in sorted(tried, key=lambda trial: trial.scale):
        rows.add_row(
            f"{trial.scale:g}",
            f"{trial.held} of {trial.runs}",
            percents(trial.interval),
            f"{trial.mean_regret:,.1f}",
            *(["chosen" if trial.scale == chosen else ""] if chosen is not None else []),
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


def indented(text: str) -> str:
    """Set apart from the sentences around it."""
    return "\n".join(f"  {line}" if line else "" for line in text.splitlines())
