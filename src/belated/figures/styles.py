"""Colours, line styles, notes and file output shared by all figures."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours for learners, safe for colour-blind readers. Their yellow is left out
because it is too pale for a line."""

LAW_PALETTE: Final = ("#000000", "#882255", "#117733", "#6699CC", "#999933")
"""Paul Tol's colours for delay laws, disjoint from the first colours of `PALETTE`."""

DASHES: Final[tuple[tuple[float, ...], ...]] = (
    (),
    (5, 1.5),
    (1.2, 1.2),
    (6, 1.5, 1.2, 1.5),
    (3, 1, 1, 1, 1, 1),
)
"""Dash patterns in line widths, to distinguish lines in greyscale. Their number and the number of
colours have no common divisor, so that 35 combinations are distinct."""

MARKERS: Final = (
    ("o", "circle"),
    ("s", "square"),
    ("^", "triangle-up"),
    ("D", "diamond"),
    ("v", "triangle-down"),
)
"""Markers, each by its name in Matplotlib and in Vega."""

MAX_PANEL_COLUMNS: Final = 4
"""Maximum number of panels side by side; further panels form another row."""

BAND_NOTE: Final = "Lines are means over runs, bands the central 95% of them."

RC_PARAMS: Final = {
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
"""Matplotlib settings of all figures."""

FOOTER: Final[dict[str, Any]] = {
    "ha": "left",
    "fontsize": 6,
    "family": "DejaVu Sans Mono",
    "color": "0.45",
}
"""Text properties of the notes and the command at the foot of a figure."""

METADATA: Final = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}
"""Metadata by file format. Date and versions are removed so that equal data gives equal bytes."""

DPI: Final = 200
"""Resolution of PNG files in dots per inch."""


@dataclass(frozen=True)
class LineStyle:
    """Style of one line, used in print and in the report."""

    colour: str  # hexadecimal, or a grey level as Matplotlib takes it
    dashes: tuple[float, ...]  # lengths in line widths; empty for a solid line
    marker: str  # name in Matplotlib
    vega_shape: str  # name of the same marker in Vega

    @property
    def linestyle(self) -> Any:
        """Dash pattern in Matplotlib's form."""
        return (0, self.dashes) if self.dashes else "solid"


def line_styles(names: Iterable[str], palette: Sequence[str] = PALETTE) -> dict[str, LineStyle]:
    """Return a style for each of `names`, chosen by its position, with colours from `palette`.

    >>> line_styles(["Active", "Lazy"])["Lazy"].colour
    '#D55E00'
    """
    styles = zip(names, cycle(palette), cycle(DASHES), cycle(MARKERS), strict=False)
    return {name: LineStyle(colour, dashes, *marker) for name, colour, dashes, marker in styles}


def add_command(figure: Figure, command: str, *, width: int) -> None:
    """Write the command that reproduces a figure at its foot.

    Parameters
    ----------
    figure : Figure
        Figure to change.
    command : str
        Command line.
    width : int
        Maximum number of characters in a line.
    """
    figure.supxlabel("\n".join(textwrap.wrap(command, width)), x=0.01, **FOOTER)


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write `figure` as PDF and PNG to `path`, a path without suffix, and return both paths."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, metadata in METADATA.items():
        file = path.with_name(f"{path.name}.{kind}")
        figure.savefig(file, format=kind, dpi=DPI, metadata=metadata)
        files.append(file)
    return files
