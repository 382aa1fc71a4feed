"""`belated reproduce`: run the experiments and draw their figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from belated.simulation.run import Run


def reproduce(
    out: Annotated[Path, typer.Option(help="The folder for the figures.", file_okay=False)] = Path(
        "out"
    ),
    seeds: Annotated[int, typer.Option(help="Runs of each learner.", min=1)] = 10,
    episodes: Annotated[int, typer.Option(help="Episodes of each run.", min=1)] = 5000,
) -> None:
    """Run the experiments and draw their figures.

    Active and lazy updating on a chain of 10 states whose feedback comes 100 episodes late on
    average.
    """
    from rich.console import Console

    from belated.figures.curves import regret_curves
    from belated.simulation.many import Interrupted

    try:
        groups = study(seeds=seeds, episodes=episodes)
    except Interrupted as interrupted:
        typer.echo(str(interrupted), err=True)
        raise typer.Exit(130) from None
    paths = regret_curves(
        groups,
        out / "chain-10-geometric-100",
        title="Chain of 10 states, geometric delays of mean 100",
        command=f"belated reproduce --seeds {seeds} --episodes {episodes}",
    )
    Console().print(summary(groups))
    for path in paths:
        typer.echo(path)


def study(*, seeds: int, episodes: int) -> "dict[str, list[Run]]":
    """The runs of each learner."""
    import belated as bl

    learners = {
        "Active": bl.Active(),
        "Lazy, α = 100": bl.Lazy(100),
        "Lazy, α = 10": bl.Lazy(10),
        "Lazy, α = 1": bl.Lazy(1),
    }
    return {
        name: bl.simulate_many(
            bl.chain(10),
            base=bl.UCBVI_BF(preset="two_term", scale=0.03),
            updater=updater,
            delay=bl.delays.geometric(100),
            episodes=episodes,
            seeds=range(seeds),
        )
        for name, updater in learners.items()
    }


def summary(groups: "Mapping[str, Sequence[Run]]") -> "Table":
    """One row for each learner: its final regret, and how often it planned."""
    from rich import box
    from rich.table import Table

    from belated.figures.bands import band

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("Learner")
    for title in ("Mean final regret", "Central 95% of runs", "Mean updates"):
        table.add_column(title, justify="right")
    for name, runs in groups.items():
        final = band(runs)
        updates = sum(run.updates for run in runs) / len(runs)
        table.add_row(
            name,
            f"{final.mean[-1]:,.1f}",
            f"{final.low[-1]:,.1f} to {final.high[-1]:,.1f}",
            f"{updates:,.0f}",
        )
    return table
