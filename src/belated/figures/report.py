"""Report: one HTML file that holds charts, tables and all they need, and asks nothing of a network.

write_report(
    "report.html",
    title="Optimism and delays, reproduced",
    sections=[
        Section("Figures", charts=charts),
        Section("Claims", tables=[claims]),
        provenance({"belated": "0.1.0", "Command": "belated reproduce howson2021"}),
        citation(),
    ],
)
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template
from typing import Final

import belated
from belated.figures.bands import band
from belated.figures.charts import Chart, altair, regret_chart
from belated.figures.page import PAGE, SCRIPT, STYLE
from belated.simulation.run import Run

Value = str | int | float | None

MISSING: Final = "–"
SHORT: Final = 30
"""Letters of a cell that need not wrap."""

PAPER: Final = """\
@inproceedings{howson2023optimism,
  title     = {Optimism and Delays in Episodic Reinforcement Learning},
  author    = {Howson, Benjamin and Pike-Burke, Ciara and Filippi, Sarah},
  booktitle = {Proceedings of the 26th International Conference on Artificial Intelligence
               and Statistics},
  series    = {Proceedings of Machine Learning Research},
  volume    = {206},
  year      = {2023}
}"""


@dataclass(frozen=True)
class Table:
    """A table of words and numbers.

    A number is written by its column's entry in `formats`, such as "+.1%", or with three digits
    or all before the point. None stands for what is not known.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    formats: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"A row of table {self.caption!r} has {len(row)} values; "
                    f"it must have {len(self.columns)}, one for each column."
                )


@dataclass(frozen=True)
class Section:
    """A part of a report; all of it is plain text, written as it stands."""

    title: str
    text: str = ""
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    facts: Mapping[str, Value] = field(default_factory=dict)
    code: str = ""


def write_report(
    path: str | Path, *, title: str, sections: Sequence[Section], text: str = ""
) -> Path:
    """Write the report; the same sections give the same bytes."""
    names = [chart.name for section in sections for chart in section.charts]
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9-]+", name):
            raise ValueError(
                f"A chart's name is {name!r}; it must be made of letters, digits and hyphens."
            )
        if names.count(name) > 1:
            raise ValueError(f"Two charts have the name {name!r}; names must differ.")
    page = Template(PAGE).substitute(
        title=escape(title),
        style=STYLE,
        text=paragraphs(text),
        contents="".join(
            f'<li><a href="#section-{i}">{escape(section.title)}</a></li>'
            for i, section in enumerate(sections)
        ),
        sections="\n".join(section_html(i, section) for i, section in enumerate(sections)),
        version=escape(belated.__version__),
        scripts=scripts() if names else "",
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def provenance(facts: Mapping[str, Value]) -> Section:
    """Where the numbers come from."""
    return Section("Provenance", facts=facts)


def citation() -> Section:
    """How to cite the software and the paper."""
    software = (
        "@software{belated,\n"
        "  title   = {belated: episodic reinforcement learning when feedback comes back late},\n"
        "  author  = {{The belated authors}},\n"
        f"  version = {{{belated.__version__}}}\n"
        "}"
    )
    text = "If you use these numbers, please cite the software and the paper it implements."
    return Section("How to cite", text=text, code=f"{software}\n\n{PAPER}")


def comparison(
    groups: Mapping[str, Sequence[Run]], *, title: str, command: str
) -> tuple[Section, Section]:
    """The figure and the table of one comparison, from the runs of each learner."""
    lines = {name: band(runs) for name, runs in groups.items()}
    chart = regret_chart({title: lines}, "regret", title=title, command=command)
    rows = [
        (
            name,
            len(runs),
            lines[name].mean[-1],
            lines[name].low[-1],
            lines[name].high[-1],
            sum(run.updates for run in runs) / len(runs),
        )
        for name, runs in groups.items()
    ]
    columns = ("Learner", "Runs", "Mean final regret", "2.5%", "97.5%", "Mean updates")
    table = Table("Final regret: the mean and the central 95% of runs.", columns, rows)
    return Section("Figure", charts=[chart]), Section("Final regret", tables=[table])


def section_html(place: int, section: Section) -> str:
    """One section."""
    parts = [
        f'<section id="section-{place}">',
        f"<h2>{escape(section.title)}</h2>",
        paragraphs(section.text),
        *(chart_html(chart) for chart in section.charts),
        *(table_html(table) for table in section.tables),
    ]
    if section.facts:
        facts = (
            f"<dt>{escape(name)}</dt><dd>{escape(written(value))}</dd>"
            for name, value in section.facts.items()
        )
        parts.append(f"<dl>{''.join(facts)}</dl>")
    if section.code:
        parts.append(f"<pre>{escape(section.code)}</pre>")
    return "\n".join(part for part in [*parts, "</section>"] if part)


def chart_html(chart: Chart) -> str:
    """A place for a chart and what to draw there."""
    # In a script element "<" could end it; JSON may spell it otherwise.
    spec = json.dumps(chart.spec, ensure_ascii=False, separators=(",", ":")).replace("<", r"\u003c")
    caption = [f"<strong>{escape(chart.title)}</strong>", escape(chart.note)]
    if chart.command:
        caption.append(f"<code>{escape(chart.command)}</code>")
    return (
        f'<figure id="{chart.name}">\n'
        f'<div class="chart" role="img" aria-label="{escape(chart.title)}"></div>\n'
        f"<figcaption>{' '.join(part for part in caption if part)}</figcaption>\n"
        f'<script type="application/json">{spec}</script>\n'
        "</figure>"
    )


def table_html(table: Table) -> str:
    """A table; columns of numbers stand to the right, and those of short words do not wrap."""
    forms = [table.formats.get(column, "") for column in table.columns]
    body = [
        [written(value, form) for value, form in zip(row, forms, strict=True)] for row in table.rows
    ]
    kinds = [kind(column) for column in zip(*body, strict=True)] or [""] * len(table.columns)

    def line(tag: str, cells: Sequence[str]) -> str:
        inside = (
            f"<{tag}{kind}>{escape(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True)
        )
        return f"<tr>{''.join(inside)}</tr>"

    lines = "\n".join(line("td", row) for row in body)
    return (
        f'<div class="table"><table>\n<caption>{escape(table.caption)}</caption>\n'
        f"<thead>{line('th', table.columns)}</thead>\n<tbody>\n{lines}\n</tbody>\n</table></div>"
    )


def kind(column: Sequence[str]) -> str:
    """The class of a column's cells."""
    if all(cell == MISSING or re.match(r"[+−]?\d", cell) for cell in column):
        return ' class="number"'
    return ' class="short"' if all(len(cell) <= SHORT for cell in column) else ""


def written(value: Value, form: str = "") -> str:
    """A value as it stands in the page.

    >>> [written(value) for value in (35829.76, 1.23456, 12000, None, "words")]
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


def paragraphs(text: str) -> str:
    """Plain text with empty lines between paragraphs."""
    blocks = re.split(r"\n\s*\n", text.strip())
    return "\n".join(f"<p>{escape(block)}</p>" for block in blocks if block)


def scripts() -> str:
    """Vega, Vega-Lite and Vega-Embed, once, and what draws the charts."""
    version = altair().SCHEMA_VERSION
    import vl_convert

    wanted = ".".join(version.lstrip("v").split(".")[:2])
    known = vl_convert.get_vegalite_versions()
    bundle = vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", wanted if wanted in known else None
    )
    safe = bundle.replace("</script", r"<\/script")
    # In a function of its own, so that its names are not the page's.
    return f"<script>(() => {{\n{safe}\n}})();</script>\n<script>{SCRIPT}</script>"
