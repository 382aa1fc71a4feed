"""Colours, line styles, lines with bands, legends and file output, shared by all figures."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

PALETTE: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Colours of learners, from the palette of Okabe and Ito for colour-blind readers. The yellow of
that palette is omitted because it is too pale for a line."""

LAW_PALETTE: Final = ("#000000", "#882255", "#117733", "#6699CC", "#999933")
"""Colours of delay laws, from palettes of Paul Tol. Only black is also in `PALETTE`, as its last
colour."""

DASHES: Final[tuple[tuple[float, ...], ...]] = (
    (),
    (5, 1.5),
    (1.2, 1.2),
    (6, 1.5, 1.2, 1.5),
    (3, 1, 1, 1, 1, 1),
)
"""Dash patterns in units of the line width, to distinguish lines in greyscale. The 5 patterns and
the 7 colours of `PALETTE` are cycled together and give 35 distinct combinations."""

MARKERS: Final = ("o", "s", "^", "D", "v")
"""Names of the markers of lines in Matplotlib."""

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
    "svg.hashsalt": "belated",  # equal figures give equal SVGs
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
"""Map from a file format to its metadata. None removes dates and versions, so that equal data give
equal files."""

DPI: Final = 200
"""Resolution of PNG files in dots per inch."""

AXES_SIZE_IN: Final = (4.4, 3.6)
"""Width and height of a figure in inches, without the additional width of a legend."""

MIN_WIDTH_IN: Final = 5.5
LEGEND_HANDLE_IN: Final = 0.8
LEGEND_CHAR_IN: Final = 0.068
"""Approximate width of a character in a legend, in inches.

`LEGEND_HANDLE_IN` is the width of the line and the margins of the legend.
"""


@dataclass(frozen=True)
class LineStyle:
    """Style of one line."""

    colour: str  # hexadecimal, or a grey level as Matplotlib takes it
    dashes: tuple[float, ...]  # lengths in line widths; empty for a solid line
    marker: str  # name in Matplotlib

    @property
    def linestyle(self) -> Any:
        """Dash pattern as Matplotlib's property `linestyle`."""
        return (0, self.dashes) if self.dashes else "solid"


def line_styles(names: Iterable[str], palette: Sequence[str] = PALETTE) -> dict[str, LineStyle]:
    """Return a map from each of `names` to a line style.

    Colours, dashes and markers are assigned in the order of `names`. Colours are taken from
    `palette`, and repeat after its last colour.

    >>> line_styles(["Active", "Lazy"])["Lazy"].colour
    '#D55E00'
    """
    styles = zip(names, cycle(palette), cycle(DASHES), cycle(MARKERS), strict=False)
    return {name: LineStyle(colour, dashes, marker) for name, colour, dashes, marker in styles}


def two_way_styles(lines: Iterable[tuple[str, str, str]]) -> dict[str, LineStyle]:
    """Return the styles of lines that differ in two properties, shown by colour and by dashes.

    Each entry of `lines` contains the label of a line, the value that determines its colour, and
    the value that determines its dashes and marker. If all colours or all dashes would be equal,
    each line has its own colour and dashes instead. The result maps labels to styles.

    >>> styles = two_way_styles([("A", "a", "x"), ("B", "a", "y"), ("C", "b", "x")])
    >>> styles["A"].colour == styles["B"].colour, styles["A"].dashes == styles["C"].dashes
    (True, True)
    """
    lines = list(dict.fromkeys(lines))
    colours = line_styles(dict.fromkeys(colour for _, colour, _ in lines))
    patterns = line_styles(dict.fromkeys(pattern for _, _, pattern in lines))
    if min(len(colours), len(patterns)) <= 1:
        return line_styles(label for label, _, _ in lines)
    return {
        label: replace(patterns[pattern], colour=colours[colour].colour)
        for label, colour, pattern in lines
    }


def figure_of(axes: Axes) -> Figure:
    """Return the whole figure that contains `axes`, even if the axes are part of a subfigure."""
    figure = axes.figure
    return figure if isinstance(figure, Figure) else figure.figure


def new_axes(labels: Collection[str] = ()) -> Axes:
    """Return the axes of a new figure, which is created with pyplot so that notebooks show it.

    `labels` are the labels of the legend. The figure is wide enough for a legend beside the axes.
    """
    from matplotlib import pyplot

    width, height = AXES_SIZE_IN
    if len(labels) > 1:
        width += LEGEND_HANDLE_IN + LEGEND_CHAR_IN * max(map(len, labels))
    size = max(width, MIN_WIDTH_IN), height
    return pyplot.figure(figsize=size, layout="constrained").add_subplot()


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Write `figure` as PDF and as PNG, and return the paths of both files.

    `path` is the path of the files without suffix. Its folder is created if necessary.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, metadata in METADATA.items():
        file = path.with_name(f"{path.name}.{kind}")
        figure.savefig(file, format=kind, dpi=DPI, metadata=metadata)
        files.append(file)
    return files
