"""Looks: the colours, styles and small print that all figures share."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, told apart by all readers; yellow is too pale for a line."""

LAW_PALETTE: Final = ("#000000", "#882255", "#117733", "#6699CC", "#999933")
"""Lines that are delay laws: other colours (of Paul Tol's), so that none is taken for a learner."""

DASHES: Final[tuple[tuple[float, ...], ...]] = (
    (),
    (5, 1.5),
    (1.2, 1.2),
    (6, 1.5, 1.2, 1.5),
    (3, 1, 1, 1, 1, 1),
)
"""Styles that tell the lines apart in grey, in widths of the line. Fewer than colours: together
they repeat late."""

MARKERS: Final = (
    ("o", "circle"),
    ("s", "square"),
    ("^", "triangle-up"),
    ("D", "diamond"),
    ("v", "triangle-down"),
)
"""For Matplotlib and for Vega."""

COLUMNS: Final = 4
"""Panels side by side; more go below."""

BAND_NOTE: Final = "Lines are means over runs, bands the central 95% of them."

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

SMALL_PRINT: Final[dict[str, Any]] = {
    "ha": "left",
    "fontsize": 6,
    "family": "DejaVu Sans Mono",
    "color": "0.45",
}

METADATA: Final = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}
"""No date and no version, so that the same numbers give the same bytes."""


@dataclass(frozen=True)
class Look:
    """How one line is drawn, wherever it is drawn."""

    colour: str
    dashes: tuple[float, ...]
    marker: str
    shape: str
    """The marker's name in Vega."""

    @property
    def linestyle(self) -> Any:
        """As Matplotlib takes it."""
        return (0, self.dashes) if self.dashes else "solid"


def looks(names: Iterable[str], palette: Sequence[str] = PALETTE) -> dict[str, Look]:
    """A look for each name, by its place; names given in one order look the same everywhere.

    >>> looks(["Active", "Lazy"])["Lazy"].colour
    '#D55E00'
    """
    places = zip(names, cycle(palette), cycle(DASHES), cycle(MARKERS), strict=False)
    return {name: Look(colour, dashes, *marker) for name, colour, dashes, marker in places}


def sign(figure: Figure, command: str, *, width: int) -> None:
    """Put what makes the figure again below it; `width` in letters."""
    figure.supxlabel("\n".join(textwrap.wrap(command, width)), x=0.01, **SMALL_PRINT)


def saved(figure: Figure, path: Path) -> list[Path]:
    """Write the figure as PDF and as PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, metadata in METADATA.items():
        file = path.with_name(f"{path.name}.{kind}")
        figure.savefig(file, format=kind, dpi=200, metadata=metadata)
        files.append(file)
    return files
