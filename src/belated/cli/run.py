"""`belated run`: compare a few learners in one world, and say what came of it."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from belated.cli.inputs import Options, options_of, sentence, with_options
from belated.cli.tables import numbers, show

if TYPE_CHECKING:
    from rich.table import Table

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

LINE = 60
"""Characters of a figure's title on a line."""


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


def rounded(number: float) -> str:
    """To about four digits.

    >>> rounded(12.34), rounded(1234.56)
    ('12.3', '1,235')
    """
    return f"{number:,.1f}" if number < 1000 else f"{number:,.0f}"


@dataclass(frozen=True)
class Comparison:
    """What was asked for: settings to run in one world, by the names they have in tables."""

    cells: "Mapping[str, Cell]"
    title: str
    column: str  # what tells the settings apart
    command: str


def run(
    world: Annotated[str, typer.Option(help="The world, such as chain-10.")],
    base: Annotated[
        list[str], typer.Option(help="A name such as ucrl2, or module:Class; may be repeated.")
    ],
    updater: Annotated[
        list[str] | None,
        typer.Option(help="active (default), lazy:ALPHA, explicit or multi; may be repeated."),
    ] = None,
    delay: Annotated[
        list[str] | None,
        typer.Option(help="Such as geometric:100, default constant:0; may be repeated."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="key=value for every base, or BASE.key=value; may be repeated."),
    ] = None,
    episodes: Annotated[int, typer.Option(help="Episodes of each run.", min=1)] = 10_000,
    seeds: Annotated[int, typer.Option(help="Runs of each setting.", min=1)] = 10,
    stages: Annotated[str, typer.Option(help="Count each step apart, or pooled.")] = "each",
    threads: Annotated[
        int | None, typer.Option(help="Runs at a time; changes no result.", min=1)
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw the regret curves, as PDF and PNG.", dir_okay=False),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML report.", dir_okay=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Run a few learners in one world and print what came of it.

    Every base is run with every updater under every delay, each under the same seeds.
    """
    with sentence("--option"):
        options = options_of(option or [], base)
    asked = compare(
        world=world,
        options=options,
        updaters=updater or ["active"],
        delays=delay or ["constant:0"],
        episodes=episodes,
        seeds=seeds,
        stages=stages,
        given=option or [],
    )
    if figure is not None:
        figure = check_figure(figure)
    if report is not None:
        check_report(report)
    groups, code, said = play(asked, threads=threads)
    if groups:
        found = {name: summary(asked.cells[name], runs) for name, runs in groups.items()}
        tell(asked, found, as_json=as_json)
        written: list[Path] = []
        with sentence("--figure"):
            if figure is not None:
                written += draw(asked, groups, figure)
        with sentence("--report"):
            if report is not None:
                written.append(publish(asked, groups, found, report))
        for path in written:
            typer.echo(path, err=as_json)
    if code:
        typer.echo(said, err=True)
        raise typer.Exit(code)


def compare(
    *,
    world: str,
    options: Mapping[str, Options],
    updaters: Sequence[str],
    delays: Sequence[str],
    episodes: int,
    seeds: int,
    stages: str,
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
        )
    axes["Base"] = [with_options(*pair) for pair in options.items()]
    common = [world, *(values[0] for axis, values in axes.items() if axis not in several)]
    if stages == "pooled":
        common.append("pooled counts")
    words = ["belated", "run", "--world", world]
    for name, values in (("--base", options), ("--option", given), ("--updater", updaters)):
        words += [word for value in values for word in (name, value)]
    words += [word for law in laws for word in ("--delay", law)]
    words += ["--episodes", str(episodes), "--seeds", str(seeds)]
    if stages != "each":
        words += ["--stages", stages]
    return Comparison(cells, ", ".join(common), ", ".join(several), shlex.join(words))


def check_figure(path: Path) -> Path:
    """The path without a suffix: a figure is written as PDF and as PNG."""
    with sentence("--figure"):
        if path.suffix not in ("", ".pdf", ".png"):
            raise ValueError(
                f"figure is {str(path)!r}; it must end in .pdf or .png, or in neither."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_suffix("")


def check_report(path: Path) -> None:
    """Refuse a report that could not be written, before anything is run."""
    from belated.figures.charts import altair

    with sentence("--report"):
        try:
            altair()
        except ImportError as error:
            raise ValueError(str(error)) from None
        path.parent.mkdir(parents=True, exist_ok=True)


def play(asked: Comparison, *, threads: int | None) -> "tuple[dict[str, list[Run]], int, str]":
    """The runs of each setting, as far as they came, an exit code and what went wrong."""
    import os

    from belated.simulation import many

    groups: dict[str, list[Run]] = {}
    try:
        for name, cell in asked.cells.items():
            setting = cell.build()
            groups[name] = many.play(
                setting, cell.seeds, threads=threads or os.cpu_count() or 1, progress=None
            )
    except many.Interrupted as interrupted:
        if interrupted.runs:
            groups[name] = interrupted.runs
        done = sum(map(len, groups.values()))
        total = sum(len(cell.seeds) for cell in asked.cells.values())
        return groups, 130, f"Interrupted: {done} of {total} runs were finished."
    except ValueError as error:
        return groups, 2, f"{name}: {error}" if len(asked.cells) > 1 else str(error)
    return groups, 0, ""


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


def tell(asked: Comparison, found: Mapping[str, Summary], *, as_json: bool) -> None:
    """Print the summaries."""
    import json

    if as_json:
        typer.echo(json.dumps(document(asked, found), indent=1))
        return
    typer.echo(heading(asked))
    show(table(asked, found))


def document(asked: Comparison, found: Mapping[str, Summary]) -> dict[str, Any]:
    """The summaries as JSON has them."""
    cell = next(iter(asked.cells.values()))
    return {
        "command": asked.command,
        "world": cell.world,
        "episodes": cell.episodes,
        "stages": cell.stages,
        "settings": [asdict(one) for one in found.values()],
    }


def heading(asked: Comparison) -> str:
    """What all settings have in common."""
    cell = next(iter(asked.cells.values()))
    runs = "1 run" if len(cell.seeds) == 1 else f"{len(cell.seeds)} runs"
    return f"{asked.title}: {runs} of {cell.episodes:,} episodes"


def table(asked: Comparison, found: Mapping[str, Summary]) -> "Table":
    """One row for each setting."""
    rows = numbers(asked.column, COLUMNS)
    for name, one in found.items():
        rows.add_row(name, *one.row())
    return rows


def draw(asked: Comparison, groups: "Mapping[str, Sequence[Run]]", path: Path) -> list[Path]:
    """The regret curves."""
    import textwrap

    from belated.figures.curves import regret_curves

    title = textwrap.fill(asked.title, LINE)
    return regret_curves(groups, path, title=title, command=asked.command)


def publish(
    asked: Comparison,
    groups: "Mapping[str, Sequence[Run]]",
    found: Mapping[str, Summary],
    path: Path,
) -> Path:
    """The report."""
    from belated.figures.report import (
        Section,
        Table,
        citation,
        comparison,
        provenance,
        write_report,
    )
    from belated.sweep.store import versions

    figure, _ = comparison(groups, title=asked.title, command=asked.command)
    rows = [[name, *one.row()] for name, one in found.items()]
    summaries = Table(
        "Regret is that at the end; updates and epochs are means over runs. Missing is the most "
        "episodes ever in flight, and ψ its bound with high probability (Howson, Pike-Burke and "
        "Filippi 2023, Lemma 1).",
        [asked.column, *(title.replace("\n", " ") for title in COLUMNS)],
        rows,
    )
    return write_report(
        path,
        title=heading(asked),
        sections=[
            figure,
            Section("Summary", tables=[summaries]),
            provenance({"Command": asked.command, **versions()}),
            citation(),
        ],
    )
