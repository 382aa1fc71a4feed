"""Interactive charts of a report, as Vega-Lite specifications built with Altair.

Hovering over a line shows the values of the line; clicking on a legend entry highlights its line.
`report.write_report` embeds the charts in an HTML page.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from belated.episode import Ints
from belated.extras import missing_extra
from belated.figures.styles import (
    BAND_NOTE,
    LAW_PALETTE,
    MAX_PANEL_COLUMNS,
    PALETTE,
    LineStyle,
    line_styles,
)
from belated.sweep.bands import Band, Panels, Points, axis_limit, line_names

if TYPE_CHECKING:
    import altair as alt

MISSING_EXTRA: Final = missing_extra("A report", "Altair and Jinja2", "report")

MAX_POINTS_PER_CURVE: Final = 100
SIGNIFICANT_DIGITS: Final = 5

PUBLISHED_TEXT: Final = "isValid(datum.published) ? format(datum.published, ',.0f') : '–'"
"""Vega expression for the published value in a tooltip; a dash if the value is missing."""

CONFIG: Final[dict[str, Any]] = {
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {"gridColor": "#e6e6e6", "labelFontSize": 11, "titleFontWeight": "normal"},
    "axisY": {"minExtent": 40},
    "header": {"labelFontSize": 13, "labelFontWeight": "bold", "labelAnchor": "start"},
    "legend": {"orient": "bottom", "labelFontSize": 12, "labelLimit": 240},
}
"""Vega-Lite configuration of all charts."""


@dataclass(frozen=True)
class Chart:
    """Interactive chart of a report."""

    name: str  # id in the page and name of downloads: letters, digits and hyphens
    title: str
    spec: Mapping[str, Any]  # Vega-Lite specification
    note: str = ""  # text below the chart
    command: str = ""  # command that reproduces the chart


def regret_chart(
    panels: Panels, name: str, *, title: str, command: str = "", order: Sequence[str] = ()
) -> Chart:
    """Return a chart of cumulative regret over episodes.

    Lines far above the others are cut off. A checkbox below the chart shows them in full.

    Parameters
    ----------
    panels : Panels
        Lines of each panel. Each line is reduced to its first point and at most
        `MAX_POINTS_PER_CURVE` others.
    name : str
        Id of the chart: letters, digits and hyphens.
    title : str
        Title of the chart.
    command : str
        Command that reproduces the chart.
    order : Sequence[str]
        Labels of all lines of a study. If given, a line has the same colour in every chart, even in
        charts that lack some of the other lines.

    Returns
    -------
    Chart
        The chart.
    """
    alt = load_altair()
    styles = line_styles(line_names(panels, order), PALETTE)
    limit = axis_limit(panels)
    y = alt.Y("mean:Q", title="Cumulative regret")
    show_all = None
    note = BAND_NOTE
    if limit is not None:
        top = max(float(band.high.max()) for lines in panels.values() for band in lines.values())
        show_all = alt.param(
            name="show_all", value=False, bind=alt.binding_checkbox(name="Show lines in full ")
        )
        domain_max = alt.ExprRef(
            f"show_all ? {round_significant(top)} : {round_significant(limit)}"
        )
        y = y.scale(domainMin=0, domainMax=domain_max, nice=False)
        note += " Lines far above the others leave the panel; tick the box to see all of them."
    chart = layer_chart(
        chart_rows(panels, thin=True),
        styles,
        x=alt.X("x:Q", title="Episode", axis=alt.Axis(tickCount=3, format=",d")),
        y=y,
        x_label="Episode",
    )
    return Chart(name, title, to_vega_lite(chart, panels, show_all), note, command)


def delay_chart(
    panels: Panels,
    name: str,
    *,
    title: str,
    command: str = "",
    published: Points | None = None,
    order: Sequence[str] = (),
    palette: Sequence[str] = LAW_PALETTE,
) -> Chart:
    """Return a chart of final regret against the expected delay.

    Parameters
    ----------
    panels, name, title, command, order
        As in `regret_chart`.
    published : Points or None
        Published values, drawn as hollow markers; None to draw none.
    palette : Sequence[str]
        Colours: `LAW_PALETTE` if the lines are laws, `PALETTE` if they are learners.

    Returns
    -------
    Chart
        The chart.
    """
    alt = load_altair()
    chart = layer_chart(
        chart_rows(panels, published=published or {}),
        line_styles(line_names(panels, order), palette),
        x=alt.X("x:Q", title="Expected delay E[τ]", axis=alt.Axis(tickCount=6)),
        y=alt.Y("mean:Q", title="Final regret"),
        x_label="E[τ]",
        markers=True,
        published=bool(published),
    )
    note = BAND_NOTE + (" Hollow markers are the published values." if published else "")
    return Chart(name, title, to_vega_lite(chart, panels), note, command)


def load_altair() -> Any:
    """Import and return altair.

    Raise ImportError if altair, jinja2 or vl_convert is missing; the message names the optional
    dependency group to install.
    """
    try:
        import altair
        import jinja2  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError:
        raise ImportError(MISSING_EXTRA) from None
    return altair


def chart_rows(
    panels: Panels, *, thin: bool = False, published: Points | None = None
) -> list[dict[str, Any]]:
    """Return the data of a chart, with one row for each point of each line.

    Parameters
    ----------
    panels : Panels
        Lines of each panel.
    thin : bool
        Whether to reduce each line to its first point and at most `MAX_POINTS_PER_CURVE` others.
    published : Points or None
        Published values to add to the rows; None for none.

    Returns
    -------
    list[dict[str, Any]]
        Rows with the keys panel, line, x, mean, low and high. A row also has the key published if
        there is a published value for its point.
    """
    return [
        {"panel": panel, "line": line, **row}
        for panel, lines in panels.items()
        for line, band in lines.items()
        for row in line_rows(
            band,
            np.append(0, 1 + thin_indices(band.x.size - 1)) if thin else np.arange(band.x.size),
            (published or {}).get(panel, {}).get(line, {}),
        )
    ]


def line_rows(
    band: Band, indices: Ints, published: Mapping[float, float]
) -> Iterator[dict[str, Any]]:
    """Yield a row with the keys x, mean, low and high for each point of `band` in `indices`.

    `published` maps values of x to published values. If it contains the x of a row, the row also
    has the key published.
    """
    for i in indices:
        row = {"x": band.x[i], "mean": band.mean[i], "low": band.low[i], "high": band.high[i]}
        if row["x"] in published:
            row["published"] = published[row["x"]]
        yield {name: round_significant(value) for name, value in row.items()}


def thin_indices(size: int) -> Ints:
    """Return at most `MAX_POINTS_PER_CURVE` evenly spaced indices of an array with `size` entries.

    The last index is always included.

    >>> thin_indices(200)[[0, 1, -1]]
    array([  1,   3, 199])
    """
    step = -(-size // MAX_POINTS_PER_CURVE)
    return np.arange(size - 1, -1, -step)[::-1]


def round_significant(value: float) -> float | int:
    """Return `value` rounded to `SIGNIFICANT_DIGITS` significant digits.

    A number with more digits before the decimal point is rounded to an integer, so that no digit
    before the decimal point is lost.

    >>> round_significant(123456.0), round_significant(0.123456)
    (123456, 0.12346)
    """
    number = float(value)
    if abs(number) < 10**SIGNIFICANT_DIGITS:
        number = float(f"{number:.{SIGNIFICANT_DIGITS}g}")
    is_whole = abs(number) >= 10**SIGNIFICANT_DIGITS or number.is_integer()
    return round(number) if is_whole else number


def layer_chart(
    data: list[dict[str, Any]],
    styles: Mapping[str, LineStyle],
    *,
    x: "alt.X",
    y: "alt.Y",
    x_label: str,
    markers: bool = False,
    published: bool = False,
) -> "alt.LayerChart":
    """Return a chart of several layers: bands, mean lines, markers and tooltips.

    Parameters
    ----------
    data : list[dict[str, Any]]
        Rows, as returned by `chart_rows`.
    styles : Mapping[str, LineStyle]
        Map from the name of a line to its style, in the order of the legend.
    x, y
        Altair encodings of the axes.
    x_label : str
        Label of the x coordinate in tooltips.
    markers : bool
        Whether to draw a marker at each point.
    published : bool
        Whether to draw the published values in `data`.

    Returns
    -------
    alt.LayerChart
        The chart with the data of all panels, not yet divided into panels.
    """
    alt = load_altair()
    present = {row["line"] for row in data}
    domain = [name for name in styles if name in present]
    selected = alt.selection_point(name="selected", fields=["line"], bind="legend")
    # Not nearest=True, with which Vega-Lite (6.4) loses words from tooltips.
    hovered = alt.selection_point(name="hovered", on="pointerover", clear="pointerout", empty=False)
    legend = alt.Legend(
        symbolType="stroke",
        symbolOpacity=1,
        symbolStrokeWidth=2,
        symbolSize=90 if markers else 500,
    )

    def encode_lines(channel: Any, values: list[Any]) -> Any:
        """Return an encoding of the Altair class `channel`, with one of `values` for each line.

        The encodings for colour, dashes and shape share one legend.
        """
        scale = alt.Scale(domain=domain, range=values)
        return channel("line:N", title=None, legend=legend, scale=scale)

    shown = [styles[name] for name in domain]
    colour = encode_lines(alt.Color, [style.colour for style in shown])
    dash = encode_lines(alt.StrokeDash, [[2 * part for part in style.dashes] for style in shown])
    shape = encode_lines(alt.Shape, [style.vega_shape for style in shown])

    def opacity(highlighted: float, other: float, parameter: Any = selected) -> Any:
        return alt.condition(parameter, alt.value(highlighted), alt.value(other))

    tooltip = [
        alt.Tooltip("line:N", title="title"),  # vega-tooltip shows the field "title" as heading
        alt.Tooltip("x:Q", title=x_label, format=","),
        alt.Tooltip("mean:Q", title="Mean regret", format=",.4~r"),
        alt.Tooltip("low:Q", title="2.5%", format=",.4~r"),
        alt.Tooltip("high:Q", title="97.5%", format=",.4~r"),
    ]
    base = alt.Chart().encode(x=x, color=colour)
    layers = [
        base.mark_area(clip=True).encode(
            y=alt.Y("low:Q"), y2="high:Q", opacity=opacity(0.15, 0.02)
        ),
        base.mark_line(clip=True, strokeWidth=2).encode(
            y=y, strokeDash=dash, opacity=opacity(1, 0.12)
        ),
    ]
    if markers:
        layers.append(
            base.mark_point(filled=True, size=36).encode(y=y, shape=shape, opacity=opacity(1, 0.12))
        )
    if published:
        tooltip.append(alt.Tooltip("published_text:N", title="Published"))
        layers.append(
            base.transform_filter("isValid(datum.published)")
            .mark_point(filled=False, size=90, strokeWidth=1.2)
            .encode(y=alt.Y("published:Q"), shape=shape, opacity=opacity(0.9, 0.08))
        )
    # Invisible points that receive the pointer and show the tooltip.
    layers.append(
        base.transform_calculate(published_text=PUBLISHED_TEXT)
        .mark_point(clip=True, filled=True, size=120)
        .encode(y=y, tooltip=tooltip, opacity=opacity(1, 0, hovered))
        .add_params(hovered, selected)
        .properties(name="values")
    )
    return alt.layer(*layers, data=alt.InlineData(values=data))


def to_vega_lite(
    chart: "alt.LayerChart", panels: Panels, show_all: "alt.Parameter | None" = None
) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart, divided into panels if there are several.

    Parameters
    ----------
    chart : alt.LayerChart
        Chart of `layer_chart`, with the data of all panels.
    panels : Panels
        Panels; only their titles are used.
    show_all : alt.Parameter or None
        Checkbox parameter to add; None for no checkbox.

    Returns
    -------
    dict[str, Any]
        Specification, independent of the user's Altair theme.
    """
    alt = load_altair()
    top: Any
    if len(panels) > 1:
        facet = alt.Facet("panel:N", title=None, sort=list(panels))
        columns = min(MAX_PANEL_COLUMNS, len(panels))
        top = chart.properties(width=210, height=210).facet(facet=facet, columns=columns)
    else:
        top = chart.properties(width=560, height=320)
    if show_all is not None:
        top = top.add_params(show_all)
    with alt.theme.enable("none"):
        spec: dict[str, Any] = top.to_dict()
    spec["config"] = CONFIG
    return spec
