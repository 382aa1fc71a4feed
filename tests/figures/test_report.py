import base64
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import belated as bl
from belated.figures.panels import panel_figure
from belated.figures.report import Section, Table, write_report
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


def line(*values):
    mean = np.array(values, float)
    return Band(np.arange(mean.size), mean, mean, mean)


@pytest.fixture(scope="module")
def figures():
    panels = {"Constant": {"Active": line(0, 1)}, "Uniform": {"Active": line(0, 2)}}
    return {f"figure-{i}": panel_figure(panels, title=f"Figure {i}") for i in range(3)}


def sections(figures):
    return [
        Section("Figures", figures=figures),
        Section("Claims", tables=[Table("Claims.", ("Claim", "Verdict"), [("One", "holds")])]),
        Section("Provenance", facts={"Command": "belated reproduce howson2021"}),
    ]


@pytest.fixture(scope="module")
def text(figures, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "new" / "report.html"
    assert write_report(path, title="A title", sections=sections(figures)) == path
    return path.read_text(encoding="utf-8")


def drawings(page):
    """Return the SVGs that are embedded in a page."""
    prefix = "data:image/svg+xml;base64,"
    return [
        base64.b64decode(image["src"].removeprefix(prefix)).decode() for image in page.all("img")
    ]


def test_all_figures_stand_in_the_page(text, figures):
    page = Page(text)
    assert drawings(page) == [figure.svg() for figure in figures.values()]
    assert [figure["id"] for figure in page.all("figure")] == list(figures)
    assert [image["alt"] for image in page.all("img")] == [f"Figure {i}" for i in range(3)]


def test_a_figure_with_lines_cut_off_is_shown_in_full_on_demand(tmp_path):
    panels = {"": {"One": line(0, 1), "Two": line(0, 1.1), "Outlier": line(0, 90)}}
    cut = panel_figure(panels, title="Cut")
    path = write_report(tmp_path / "cut.html", title="", sections=[Section("", figures={"a": cut})])
    page = Page(path.read_text(encoding="utf-8"))
    assert drawings(page) == [cut.svg(), cut.svg(full=True)]
    assert page.all("img")[1]["alt"] == "Cut, all lines in full"
    assert page.texts["summary"] == ["Show lines in full"]


def test_nothing_is_loaded_from_anywhere_and_nothing_runs(text):
    page = Page(text)
    policies = [meta["content"] for meta in page.all("meta") if "content" in meta]
    assert any(policy.startswith("default-src 'none'; ") for policy in policies)
    assert page.all("link") == page.all("script") == page.all("iframe") == []
    for tag, attributes in page.elements:
        assert attributes.get("src", "data:").startswith("data:"), tag
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"@import|url\(", "".join(page.texts["style"]))


def test_the_same_sections_give_the_same_bytes(text, figures, tmp_path):
    path = write_report(tmp_path / "again.html", title="A title", sections=sections(figures))
    assert path.read_text(encoding="utf-8") == text


def test_words_that_look_like_markup_stay_words(tmp_path):
    panels = {EVIL: {EVIL: line(0, 1)}}
    path = write_report(
        tmp_path / "evil.html",
        title=EVIL,
        text=EVIL,
        sections=[
            Section(
                EVIL,
                text=EVIL,
                figures={"evil": panel_figure(panels, title=EVIL, command=EVIL)},
                tables=[Table(EVIL, (EVIL,), [(EVIL,)])],
                facts={EVIL: EVIL},
            )
        ],
    )
    page = Page(path.read_text(encoding="utf-8"))
    assert len(page.all("img")) == 1
    assert page.all("script") == []
    for tag in ("title", "h1", "h2", "p", "strong", "code", "caption", "td", "th", "dt", "dd"):
        assert EVIL in "".join(page.texts[tag]), tag
    assert "alert" not in "".join(name for _, a in page.elements for name in a)
    assert "<img" not in "".join(drawings(page))


def test_a_report_without_jinja2_is_an_error_that_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'belated\[report\]'\.$"):
        write_report(tmp_path / "no.html", title="Light", sections=[])


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


def test_the_citation_names_the_software_and_the_paper(text):
    [code] = Page(text).texts["pre"]
    assert f"version = {{{bl.__version__}}}" in code
    assert "Howson, Benjamin and Pike-Burke, Ciara and Filippi, Sarah" in code
