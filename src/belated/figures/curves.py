"""Regret curves: one line and one band for each learner."""

import textwrap
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from belated.figures.bands import band
from belated.simulation.run import Run

PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, told apart by all readers; yellow is too pale for a line."""

DASHES: Final[tuple[Any, ...]] = (
    "solid",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1, 1, 1, 1, 1)),
)
"""Styles that tell the lines apart in grey. Fewer than colours: together they repeat late."""

LOOKS: Final = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "legend.edgecolor": "white",
    "legend.framealpha": 1,
    "legend.fancybox": False,
    "legend.title_fontsize": 8,
    "legend.handlelength": 3,
    "lines.linewidth": 1.6,
    "pdf.fonttype": 42,
    "pdf.compression": 6,
}

METADATA: Final = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}
"""No date and no version, so that the same runs give the same bytes."""

WIDTH: Final = 90
"""Characters of the command on a line."""


def regret_curves(
    groups: Mapping[str, Sequence[Run]], path: str | Path, *, title: str, command: str
) -> list[Path]:
    """Draw mean regret and the central 95% of runs for each learner; returns the files.

    `path` comes without a suffix: one PDF and one PNG are written. `command` is what makes the
    figure again, and stands below it.
    """
    if not groups:
        raise ValueError("groups is empty; a figure needs the runs of at least one learner.")
    with style.context(["default", LOOKS]):
        figure = drawn(groups, title=title, command=command)
        return saved(figure, Path(path))


def drawn(groups: Mapping[str, Sequence[Run]], *, title: str, command: str) -> Figure:
    """The figure, not yet on disk."""
    figure = Figure(figsize=(5.5, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for (name, runs), colour, dashes in zip(
        groups.items(), cycle(PALETTE), cycle(DASHES), strict=False
    ):
        regret = band(runs)
        axes.fill_between(
            regret.episode, regret.low, regret.high, color=colour, alpha=0.12, linewidth=0
        )
        for edge in (regret.low, regret.high):
            axes.plot(regret.episode, edge, color=colour, linestyle=dashes, linewidth=0.5)
        axes.plot(regret.episode, regret.mean, color=colour, linestyle=dashes, label=name)
    axes.set_title(title, loc="left")
    axes.set_xlabel("Episode")
    axes.set_ylabel("Cumulative regret")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    # Regret rises and flattens, so this corner is free.
    axes.legend(loc="lower right", title="Mean and central 95% of runs", alignment="left")
    figure.supxlabel(
        "\n".join(textwrap.wrap(command, WIDTH)),
        x=0.01,
        ha="left",
        fontsize=6,
        family="DejaVu Sans Mono",
        color="0.45",
    )
    return figure


def saved(figure: Figure, path: Path) -> list[Path]:
    """Write the figure as PDF and as PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, metadata in METADATA.items():
        file = path.with_name(f"{path.name}.{kind}")
        figure.savefig(file, format=kind, dpi=200, metadata=metadata)
        files.append(file)
    return files
