import json
import sys

import altair
import numpy as np
import pytest
import vl_convert

from belated.figures.charts import (
    MAX_POINTS_PER_CURVE,
    delay_chart,
    regret_chart,
    round_significant,
    thin_indices,
)
from belated.figures.styles import line_styles
from belated.sweep.bands import Band, axis_limit, delay_bands, regret_bands
from made_up_runs import MadeUp

LAWS = ("constant", "uniform", "poisson", "geometric")
NAMES = {"active": "Active", "lazy:100": "Lazy, α = 100", "explicit": "Explicit exploration"}
WHERE = {"world": "chain-5", "base": "figures", "laws": LAWS, "learners": NAMES}


@pytest.fixture(scope="module")
def results():
    return MadeUp(chains=(5,), seeds=3).make()


@pytest.fixture(scope="module")
def regret(results):
    return regret_bands(*results, mean=500, **WHERE)


@pytest.fixture(scope="module")
def delay(results):
    return delay_bands(results[0], **WHERE)


def data_of(chart):
    [data] = chart.spec["datasets"].values()
    return data


def values(chart, panel, line):
    return [row for row in data_of(chart) if (row["panel"], row["line"]) == (panel, line)]


def test_a_chart_holds_every_line_thinned_and_to_its_end(regret):
    chart = regret_chart(regret, "one", title="A title")
    for panel, lines in regret.items():
        for name, line in lines.items():
            found = values(chart, panel, name)
            assert len(found) == 1 + MAX_POINTS_PER_CURVE < line.x.size
            assert (found[0]["x"], found[0]["mean"]) == (0, 0)
            places = [list(line.x).index(row["x"]) for row in found]
            assert places[-1] == line.x.size - 1
            for part in ("mean", "low", "high"):
                shown = [row[part] for row in found]
                np.testing.assert_allclose(shown, getattr(line, part)[places], rtol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 99, 100, 101, 200, 250, 1001])
def test_thinning_keeps_the_last_place_and_even_steps(size):
    places = thin_indices(size)
    assert 1 <= places.size <= MAX_POINTS_PER_CURVE
    assert places[-1] == size - 1
    assert places[0] >= 0
    assert np.unique(np.diff(places)).size <= 1


def test_numbers_are_short_and_lose_nothing_that_is_seen():
    assert json.dumps(round_significant(np.float64(12.3456789))) == "12.346"
    assert json.dumps(round_significant(np.int64(100_000))) == "100000"
    assert json.dumps(round_significant(35829.7621)) == "35830"


def test_a_chart_is_one_that_vega_lite_can_draw(regret, delay):
    published = {"Active": {"Poisson": {100: 207.0}}}
    charts = [
        regret_chart(regret, "one", title="A title"),
        regret_chart({"": regret["Constant"]}, "two", title="A title"),
        delay_chart(delay, "three", title="A title", published=published),
    ]
    for chart in charts:
        assert vl_convert.vegalite_to_vega(dict(chart.spec))["marks"]


def test_the_same_panels_give_the_same_chart_whatever_the_users_theme(regret):
    first = regret_chart(regret, "one", title="A title")
    with altair.theme.enable("dark"):
        second = regret_chart(regret, "one", title="A title")
    assert json.dumps(first.spec) == json.dumps(second.spec)


def test_panels_stand_in_the_order_given_and_lines_look_as_in_print(regret):
    spec = regret_chart(regret, "one", title="A title", order=list(NAMES.values())).spec
    assert spec["facet"]["sort"] == ["Constant", "Uniform", "Poisson", "Geometric"]
    assert spec["columns"] == 4
    expected = line_styles(NAMES.values())
    scale = spec["spec"]["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == list(NAMES.values())
    assert scale["range"] == [style.colour for style in expected.values()]


def test_a_click_in_the_legend_selects_a_line(regret):
    [selected] = [
        p for p in regret_chart(regret, "one", title="").spec["params"] if p["name"] == "selected"
    ]
    assert selected["bind"] == "legend"
    assert selected["select"]["fields"] == ["line"]


def test_pointing_at_a_line_shows_its_values(delay):
    chart = delay_chart(delay, "one", title="", published={"Active": {"Poisson": {100: 207.0}}})
    tooltip = chart.spec["spec"]["layer"][-1]["encoding"]["tooltip"]
    assert [entry["field"] for entry in tooltip] == [
        "line",
        "x",
        "mean",
        "low",
        "high",
        "published_text",
    ]


def test_a_line_far_above_is_cut_off_until_a_box_is_ticked(regret):
    chart = regret_chart(regret, "one", title="A title")
    [box] = [p for p in chart.spec["params"] if p["name"] == "show_all"]
    assert box["bind"]["input"] == "checkbox"
    assert box["value"] is False
    top = max(line.high.max() for lines in regret.values() for line in lines.values())
    scale = chart.spec["spec"]["layer"][1]["encoding"]["y"]["scale"]
    expected = f"show_all ? {round_significant(top)} : {round_significant(axis_limit(regret))}"
    assert scale["domainMax"] == {"expr": expected}
    assert "tick the box" in chart.note


def test_a_chart_in_which_no_line_is_far_above_has_no_box(results):
    where = {**WHERE, "learners": {"active": "Active", "lazy:100": "Lazy"}}
    chart = regret_chart(regret_bands(*results, mean=500, **where), "one", title="A title")
    assert [p["name"] for p in chart.spec["params"]] == ["hovered", "selected"]
    assert "tick the box" not in chart.note


def test_published_values_stand_beside_ours(delay):
    chart = delay_chart(
        delay, "one", title="A title", published={"Active": {"Poisson": {100: 207.0}}}
    )
    published = {
        (row["panel"], row["line"], row["x"]): row["published"]
        for row in data_of(chart)
        if "published" in row
    }
    assert published == {("Active", "Poisson", 100): 207}
    assert "published" in chart.note
    assert "published" not in delay_chart(delay, "one", title="A title").note


def test_one_panel_needs_no_facets():
    line = Band(np.array([1, 2]), np.ones(2), np.ones(2), np.ones(2))
    spec = regret_chart({"Only": {"Active": line}}, "one", title="A title").spec
    assert "facet" not in spec
    assert (
        len(values(regret_chart({"Only": {"Active": line}}, "one", title=""), "Only", "Active"))
        == 2
    )


@pytest.mark.parametrize("module", ["altair", "jinja2", "vl_convert"])
def test_a_missing_package_is_an_error_that_names_the_extra(regret, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ImportError, match=r"^A report needs Altair and Jinja2: pip install 'belated\[report\]'\.$"
    ):
        regret_chart(regret, "one", title="A title")


def test_no_lines_make_no_chart():
    with pytest.raises(ValueError, match=r"^panels must hold at least one line, got none\.$"):
        regret_chart({"Constant": {}}, "one", title="A title")
