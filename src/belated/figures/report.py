"""Report: a self-contained HTML file with figures and tables.

Example:

    write_report(
        "report.html",
        title="Optimism and delays, reproduced",
        sections=[
            Section("Figures", figures={"regret": figure}),
            Section("Claims", tables=[claims]),
            Section("Provenance", facts={"Command": "belated reproduce howson2021"}),
        ],
    )
"""

import base64
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import belated
from belated.extras import missing_extra
from belated.figures.panels import PanelFigure

if TYPE_CHECKING:
    from jinja2 import Environment

Value = str | int | float | None

MISSING: Final = "–"
"""Text that represents None in a table."""

MAX_UNWRAPPED_CHARS: Final = 30
"""Maximum number of characters of a cell. The text of a column is not wrapped if no cell is
longer."""


@dataclass(frozen=True)
class Table:
    """Table of a report, whose cells are texts or numbers."""

    caption: str
    columns: Sequence[str]  # headings
    rows: Sequence[Sequence[Value]]  # a value per column; None if unknown
    formats: Mapping[str, str] = field(default_factory=dict)
    """Map from the heading of a column to the format specification of its numbers, such as "+.1%".
    The numbers of all other columns have the default format of `format_value`."""

    def cells(self, default: str = "") -> list[list[str]]:
        """Return the cells of each row as text; `default` replaces the default format."""
        formats = [self.formats.get(column, default) for column in self.columns]
        return [[*map(format_value, row, formats)] for row in self.rows]

    def column_classes(self) -> list[str]:
        """Return the CSS class of each column, chosen by `column_class`."""
        columns = [*zip(*self.cells(), strict=True)]
        return [column_class(column) for column in columns] or [""] * len(self.columns)


@dataclass(frozen=True)
class Section:
    """Section of a report. All texts are plain text, which is escaped in the HTML."""

    title: str
    text: str = ""  # paragraphs, separated by blank lines
    figures: Mapping[str, PanelFigure] = field(default_factory=dict)
    """Map from the id of a figure in the page to the figure."""
    tables: Sequence[Table] = ()
    facts: Mapping[str, Value] = field(default_factory=dict)  # list of names and values


def write_report(
    path: str | Path, *, title: str, sections: Sequence[Section], text: str = ""
) -> Path:
    """Write a report as an HTML file. The same arguments give bit-identical files.

    The last section says how to cite the software and the paper.

    Parameters
    ----------
    path : str or Path
        File to write.
    title : str
        Title of the page.
    sections : Sequence[Section]
        Sections in order. The ids of all figures must differ, and consist of letters, digits and
        hyphens.
    text : str
        Paragraphs below the title, separated by blank lines.

    Returns
    -------
    Path
        The file written.
    """
    page = (
        load_templates()
        .get_template("report.html")
        .render(title=title, text=text, sections=sections, version=belated.__version__)
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def load_templates() -> "Environment":
    """Return the Jinja2 environment of the report's templates, with autoescaping.

    Raise ImportError if Jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError:
        raise ImportError(missing_extra("A report", "Jinja2", "report")) from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("belated.figures"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "data_uri": data_uri,
        "format_value": format_value,
        "split_paragraphs": split_paragraphs,
    }
    return environment


def data_uri(svg: str) -> str:
    """Return an SVG as the address of an image that is embedded in a page."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def column_class(cells: Sequence[str]) -> str:
    """Return the CSS class of a column. `cells` are its cells as text.

    The class is "number" if all cells are numbers or missing. Otherwise it is "short" if no cell is
    longer than `MAX_UNWRAPPED_CHARS`, and empty if one is.
    """
    if all(cell == MISSING or re.match(r"[+−]?\d", cell) for cell in cells):
        return "number"
    return "short" if all(len(cell) <= MAX_UNWRAPPED_CHARS for cell in cells) else ""


def format_value(value: Value, form: str = "") -> str:
    """Return `value` as text. Numbers are formatted with the format specification `form`.

    If `form` is empty, whole numbers and numbers of absolute value 100 or more have no decimals,
    and other numbers have three significant digits.

    >>> [format_value(value) for value in (35829.76, 1.23456, 12000, None, "words")]
    ['35,830', '1.23', '12,000', '–', 'words']
    """
    if value is None:
        return MISSING
    if isinstance(value, str):
        return value
    if not form:
        whole = not math.isfinite(value) or value == int(value) or abs(value) >= 100
        form = ",.0f" if whole else ".3g"
    return format(value, form).replace("-", "−")


def split_paragraphs(text: str) -> list[str]:
    """Return the paragraphs of `text`. Blank lines separate paragraphs."""
    return [block for block in re.split(r"\n\s*\n", text.strip()) if block]
