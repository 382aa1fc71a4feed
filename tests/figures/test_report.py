import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import belated as bl
from belated.figures.charts import Chart, regret_chart
from belated.figures.report import (
    Section,
    Table,
    citation,
    comparison,
    provenance,
    vega_bundle,
    write_report,
)
from belated.sweep.bands import Band

EVIL = """</script><script>alert("1")</script><img src='x' onerror='alert(1)'> & <!-- {{ title }}"""


class Page(HTMLParser):
    """Elements and texts of a page, as a browser would parse it."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.inside = []
        self.texts = {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while tag in self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if self.inside:
            self.texts.setdefault(self.inside[-1], []).append(data)

    def all(self, tag):
        return [attributes for found, attributes in self.elements if found == tag]

    def specs(self):
        """Return the content of each script element of data."""
        kinds = [attributes.get("type") for attributes in self.all("script")]
        return [
            json.loads(text)
            for kind, text in zip(kinds, self.texts["script"], strict=True)
            if kind == "application/json"
        ]


@pytest.fixture(scope="module")
def charts():
    line = Band(np.array([1, 2]), np.ones(2), np.ones(2), np.ones(2))
    panels = {"Constant": {"Active": line}, "Uniform": {"Active": line}}
    return [regret_chart(panels, f"chart-{i}", title=f"Figure {i}") for i in range(3)]


def sections(charts):
    return [
        Section("Figures", charts=charts),
        Section("Claims", tables=[Table("Claims.", ("Claim", "Verdict"), [("One", "holds")])]),
        provenance({"Command": "belated reproduce howson2021"}),
        citation(),
    ]


@pytest.fixture(scope="module")
def text(charts, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "new" / "report.html"
    assert write_report(path, title="A title", sections=sections(charts)) == path
    return path.read_text(encoding="utf-8")


def test_all_charts_stand_in_the_page(text, charts):
    page = Page(text)
    assert page.specs() == [chart.spec for chart in charts]
    assert [figure["id"] for figure in page.all("figure")] == [chart.name for chart in charts]
    assert sum(div.get("class") == "chart" for div in page.all("div")) == len(charts)


def test_the_libraries_are_there_once_however_many_charts_there_are(text, charts, tmp_path):
    assert text.count("window.vegaEmbed") == 1
    path = write_report(tmp_path / "one.html", title="A title", sections=sections(charts[:1]))
    assert len(text) - path.stat().st_size < 20_000


def test_nothing_is_loaded_from_anywhere(text):
    page = Page(text)
    assert page.all("link") == page.all("img") == page.all("iframe") == []
    for tag, attributes in page.elements:
        assert "src" not in attributes, tag
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"@import|url\(", "".join(page.texts["style"]))


def test_the_page_itself_forbids_the_network(text):
    [policy] = [
        meta["content"]
        for meta in Page(text).all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy
    assert "*" not in policy


def test_links_lead_to_places_in_the_page(text):
    page = Page(text)
    places = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    links = [attributes["href"][1:] for attributes in page.all("a")]
    assert len(links) == 4
    assert set(links) <= places


def test_the_same_sections_give_the_same_bytes(text, charts, tmp_path):
    vega_bundle.cache_clear()
    path = write_report(tmp_path / "again.html", title="A title", sections=sections(charts))
    assert path.read_text(encoding="utf-8") == text


def test_words_that_look_like_markup_stay_words(tmp_path):
    spec = {"config": {"legend": {}}, "title": EVIL}
    path = write_report(
        tmp_path / "evil.html",
        title=EVIL,
        text=EVIL,
        sections=[
            Section(
                EVIL,
                text=EVIL,
                charts=[Chart("evil", EVIL, spec, note=EVIL, command=EVIL)],
                tables=[Table(EVIL, (EVIL,), [(EVIL,)])],
                facts={EVIL: EVIL},
                code=EVIL,
            )
        ],
    )
    page = Page(path.read_text(encoding="utf-8"))
    assert page.all("img") == []
    assert len(page.all("script")) == 3
    assert page.specs() == [spec]
    for tag in (
        "title",
        "h1",
        "h2",
        "p",
        "strong",
        "code",
        "caption",
        "td",
        "th",
        "dt",
        "dd",
        "pre",
    ):
        assert EVIL in "".join(page.texts[tag]), tag
    assert "alert" not in "".join(name for _, a in page.elements for name in a)


def test_a_report_without_charts_carries_no_libraries_and_needs_no_altair(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    path = write_report(tmp_path / "light.html", title="Light", sections=[citation()])
    assert path.stat().st_size < 10_000
    assert "<script" not in path.read_text(encoding="utf-8")


def test_a_report_without_jinja2_is_an_error_that_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'belated\[report\]'\.$"):
        write_report(tmp_path / "no.html", title="Light", sections=[citation()])


@pytest.mark.parametrize("name", ["", "two words", 'a"b', "ä"])
def test_a_chart_name_unfit_for_an_address_is_rejected(tmp_path, name):
    chart = Chart(name, "A title", {})
    with pytest.raises(ValueError, match=rf"^A chart's name must consist of .*, got {name!r}\.$"):
        write_report(tmp_path / "no.html", title="", sections=[Section("", charts=[chart])])
    assert list(tmp_path.iterdir()) == []


def test_two_charts_with_one_name_are_rejected(tmp_path, charts):
    twice = [Section("", charts=charts), Section("", charts=charts[:1])]
    with pytest.raises(ValueError, match=r"^Two charts have the name 'chart-0'; names must differ"):
        write_report(tmp_path / "no.html", title="", sections=twice)


@pytest.fixture
def page_with(tmp_path):
    """Return a function that writes a report with one table and parses it."""

    def write(table):
        section = Section("Tables", tables=[table])
        path = write_report(tmp_path / "table.html", title="Tables", sections=[section])
        return Page(path.read_text(encoding="utf-8"))

    return write


def cells(page):
    return page.texts["td"], [cell.get("class") for cell in page.all("td")]


def test_numbers_are_readable_and_right_aligned(page_with):
    rows = [("Active", 35829.76, -0.0321, 7), ("Lazy", 1.23456, None, 12_000)]
    table = Table("Some.", ("Learner", "Regret", "Error", "Runs"), rows, {"Error": "+.1%"})
    texts, classes = cells(page_with(table))
    assert texts == ["Active", "35,830", "−3.2%", "7", "Lazy", "1.23", "–", "12,000"]
    assert classes == ["short", "number", "number", "number"] * 2


def test_long_texts_may_wrap(page_with):
    table = Table("Some.", ("Claim",), [("A claim that goes on for quite a while.",)])
    _, classes = cells(page_with(table))
    assert classes == [None]


def test_a_table_without_rows_keeps_its_head(page_with):
    page = page_with(Table("Some.", ("One", "Two"), []))
    assert page.texts["th"] == ["One", "Two"]
    assert page.all("td") == []


def test_a_row_of_the_wrong_length_is_rejected():
    with pytest.raises(
        ValueError, match=r"^A row of table 'Some\.' must have 2 values, .* got 1\.$"
    ):
        Table("Some.", ("One", "Two"), [("a",)])


def test_the_report_of_a_comparison_has_its_curves_and_final_regrets():
    options = {"base": bl.UCRL2(scale=0.1), "episodes": 60, "seeds": range(3)}
    groups = {
        "Active": bl.simulate_many(bl.chain(3), updater=bl.Active(), **options),
        "Lazy": bl.simulate_many(bl.chain(3), updater=bl.Lazy(1), **options),
    }
    figure, final = comparison(groups, title="A title", command="belated run")
    [chart] = figure.charts
    assert (chart.title, chart.command) == ("A title", "belated run")
    [data] = chart.spec["datasets"].values()
    [table] = final.tables
    for row, (name, runs) in zip(table.rows, groups.items(), strict=True):
        mean = np.mean([run.total_regret for run in runs])
        assert row[:2] == (name, 3)
        assert row[2] == pytest.approx(mean)
        assert row[5] == pytest.approx(np.mean([run.updates for run in runs]))
        last = [entry for entry in data if entry["line"] == name][-1]
        assert last["x"] == 60
        assert last["mean"] == pytest.approx(mean, rel=1e-4)


def test_the_citation_names_the_software_and_the_paper():
    code = citation().code
    assert f"version = {{{bl.__version__}}}" in code
    assert "Howson, Benjamin and Pike-Burke, Ciara and Filippi, Sarah" in code
