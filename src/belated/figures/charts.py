"""Charts: the same panels for the browser, as Vega-Lite made by Altair.

A chart answers to the pointer, which shows the values of a line, and to clicks on its legend, which
bring one line forward; it is a plain dictionary, so that a report can be written from many.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from belated.episode import Ints
from belated.figures.bands import Band, Panels, ceiling, names_of
from belated.figures.columns import Points
from belated.figures.looks import BAND_NOTE, COLUMNS, LAW_PALETTE, PALETTE, Look, looks

if TYPE_CHECKING:
    import altair as alt

POINTS: Final = 100
"""Of one curve: more would not be seen."""

DIGITS: Final = 5
"""Of a number in a chart."""

TOLD: Final = "isValid(datum.published) ? format(datum.published, ',.0f') : '–'"
"""The published value in a tooltip, which would write NaN where there is none."""

FONT: Final = "system-ui, sans-serif"
CONFIG: Final[dict[str, Any]] = {
    "font": FONT,
    "view": {"stroke": None},
    "axis": {"gridColor": "#e6e6e6", "labelFontSize": 11, "titleFontWeight": "normal"},
    "axisY": {"minExtent": 40},
    "header": {"labelFontSize": 13, "labelFontWeight": "bold", "labelAnchor": "start"},
    "legend": {"orient": "bottom", "labelFontSize": 12, "labelLimit": 240},
}


@dataclass(frozen=True)
class Chart:
    """One interactive chart of a report."""

    name: str
    """Names it in the page's address: letters, digits and hyphens."""
    title: str
    spec: Mapping[str, Any]
    """Vega-Lite."""
    note: str = ""
    command: str = ""


def regret_chart(
    panels: Panels,
    name: str,
    *,
    title: str,
    command: str = "",
    order: Sequence[str] = (),
) -> Chart:
    """Cumulative regret over episodes, thinned to at most POINTS values a line.

    Lines far above the others are cut off; a box to tick below the chart shows all of them.
    """
    alt = altair()
    shown = looks(names_of(panels, order), PALETTE)
    limit = ceiling(panels)
    y = alt.Y("mean:Q", title="Cumulative regret")
    whole = None
    note = BAND_NOTE
    if limit is not None:
        top = max(float(band.high.max()) for lines in panels.values() for band in lines.values())
        whole = alt.param(
            name="whole", value=False, bind=alt.binding_checkbox(name="Show all of every line ")
        )
        top_now = alt.ExprRef(f"whole ? {rounded(top)} : {rounded(limit)}")
        y = y.scale(domainMin=0, domainMax=top_now, nice=False)
        note += " Lines far above the others leave the panel; tick the box to see all of them."
    chart = layered(
        rows(panels, thinned=True),
        shown,
        x=alt.X("x:Q", title="Episode", axis=alt.Axis(tickCount=3, format=",d")),
        y=y,
        x_name="Episode",
    )
    return Chart(name, title, finished(chart, panels, whole), note, command)


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
    """Final regret against the expected delay; published values are hollow markers."""
    alt = altair()
    shown = looks(names_of(panels, order), palette)
    chart = layered(
        rows(panels, published=published or {}),
        shown,
        x=alt.X("x:Q", title="Expected delay E[τ]", axis=alt.Axis(tickCount=6)),
        y=alt.Y("mean:Q", title="Final regret"),
        x_name="E[τ]",
        marked=True,
        hollow=bool(published),
    )
    note = BAND_NOTE
    if published:
        note += " Hollow markers are the published values."
    return Chart(name, title, finished(chart, panels), note, command)


def altair() -> Any:
    """Altair, or a sentence on how to get it."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError:
        raise ImportError("A report needs Altair: pip install 'belated[report]'.") from None
    return altair


def rows(
    panels: Panels, *, thinned: bool = False, published: Points | None = None
) -> list[dict[str, Any]]:
    """A row for each value of each line of each panel."""
    return [
        {"panel": panel, "line": line, **row}
        for panel, lines in panels.items()
        for line, band in lines.items()
        for row in values(
            band,
            kept(band.x.size) if thinned else np.arange(band.x.size),
            (published or {}).get(panel, {}).get(line, {}),
        )
    ]


def values(band: Band, places: Ints, published: Mapping[float, float]) -> Iterator[dict[str, Any]]:
    """The values of one line at some places."""
    for i in places:
        row = {"x": band.x[i], "mean": band.mean[i], "low": band.low[i], "high": band.high[i]}
        if row["x"] in published:
            row["published"] = published[row["x"]]
        yield {name: rounded(value) for name, value in row.items()}


def kept(size: int) -> Ints:
    """At most POINTS places of a line, evenly spread, the last one among them.

    >>> kept(200)[[0, 1, -1]]
    array([  1,   3, 199])
    """
    step = -(-size // POINTS)
    return np.arange(size - 1, -1, -step)[::-1]


def rounded(value: float) -> float | int:
    """A number short enough to be written out many times.

    >>> rounded(123456.0), rounded(0.123456)
    (123456, 0.12346)
    """
    number = float(value)
    if abs(number) < 10**DIGITS:
        number = float(f"{number:.{DIGITS}g}")
    return round(number) if abs(number) >= 10**DIGITS or number.is_integer() else number


def layered(
    data: list[dict[str, Any]],
    shown: Mapping[str, Look],
    *,
    x: "alt.X",
    y: "alt.Y",
    x_name: str,
    marked: bool = False,
    hollow: bool = False,
) -> "alt.LayerChart":
    """The lines of one panel: bands, means, markers, and what follows the pointer."""
    alt = altair()
    present = {row["line"] for row in data}
    domain = [name for name in shown if name in present]
    drawn = [shown[name] for name in domain]
    picked = alt.selection_point(name="picked", fields=["line"], bind="legend")
    # Not nearest=True, with which Vega-Lite (6.4) loses words from tooltips.
    hovered = alt.selection_point(name="hovered", on="pointerover", clear="pointerout", empty=False)

    def told(channel: Any, looks: list[Any]) -> Any:
        """A channel that tells the lines apart, all of them in one legend."""
        return channel(
            "line:N",
            title=None,
            legend=alt.Legend(
                symbolType="stroke",
                symbolOpacity=1,
                symbolStrokeWidth=2,
                symbolSize=90 if marked else 500,
            ),
            scale=alt.Scale(domain=domain, range=looks),
        )

    colour = told(alt.Color, [look.colour for look in drawn])
    dash = told(alt.StrokeDash, [[2 * part for part in look.dashes] for look in drawn])
    shape = told(alt.Shape, [look.shape for look in drawn])

    def strong(front: float, back: float) -> Any:
        return alt.condition(picked, alt.value(front), alt.value(back))

    tooltip = [
        alt.Tooltip("line:N", title="title"),  # what heads a tooltip goes by this name
        alt.Tooltip("x:Q", title=x_name, format=","),
        alt.Tooltip("mean:Q", title="Mean regret", format=",.4~r"),
        alt.Tooltip("low:Q", title="2.5%", format=",.4~r"),
        alt.Tooltip("high:Q", title="97.5%", format=",.4~r"),
    ]
    if hollow:
        tooltip.append(alt.Tooltip("told:N", title="Published"))
    base = alt.Chart().encode(x=x, color=colour)
    layers = [
        base.mark_area(clip=True).encode(y=alt.Y("low:Q"), y2="high:Q", opacity=strong(0.15, 0.02)),
        base.mark_line(clip=True, strokeWidth=2).encode(
            y=y, strokeDash=dash, opacity=strong(1, 0.12)
        ),
    ]
    if marked:
        layers.append(
            base.mark_point(filled=True, size=36).encode(y=y, shape=shape, opacity=strong(1, 0.12))
        )
    if hollow:
        layers.append(
            base.transform_filter("isValid(datum.published)")
            .mark_point(filled=False, size=90, strokeWidth=1.2)
            .encode(y=alt.Y("published:Q"), shape=shape, opacity=strong(0.9, 0.08))
        )
    layers.append(
        base.transform_calculate(told=TOLD)
        .mark_point(clip=True, filled=True, size=120)
        .encode(y=y, tooltip=tooltip, opacity=alt.condition(hovered, alt.value(1), alt.value(0)))
        .add_params(hovered, picked)
        .properties(name="values")
    )
    return alt.layer(*layers, data=alt.InlineData(values=data))


def finished(
    chart: "alt.LayerChart", panels: Panels, whole: "alt.Parameter | None" = None
) -> dict[str, Any]:
    """The chart as Vega-Lite, in panels if there are several."""
    alt = altair()
    top: Any
    if len(panels) > 1:
        order = alt.Facet("panel:N", title=None, sort=list(panels))
        columns = min(COLUMNS, len(panels))
        top = chart.properties(width=210, height=210).facet(facet=order, columns=columns)
    else:
        top = chart.properties(width=560, height=320)
    if whole is not None:
        top = top.add_params(whole)
    with alt.theme.enable("none"):  # whatever the user has on
        spec: dict[str, Any] = top.to_dict()
    spec["config"] = CONFIG
    return spec
