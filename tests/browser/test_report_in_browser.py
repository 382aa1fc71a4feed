"""A report in headless Chromium; see `make test-browser`."""

import os
from pathlib import Path

import numpy as np
import pytest

from belated.figures.panels import panel_figure
from belated.figures.report import Section, write_report
from belated.sweep.bands import Band
from browser.chromium import CHROMIUM, chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not os.environ.get("BELATED_BROWSER") or CHROMIUM is None,
        reason="needs Chromium and BELATED_BROWSER=1",
    ),
]

X = np.arange(10.0)
SLOPES = {"Active": 1.0, "Lazy": 1.5, "Lazy, α = 1": 2.0, "Explicit exploration": 90.0}
DRAWN = "[...document.images].map(one => one.complete && one.naturalWidth > 0)"


def test_every_figure_is_drawn_and_the_console_is_empty(tmp_path: Path) -> None:
    lines = {name: Band(X, slope * X, slope * X, slope * X) for name, slope in SLOPES.items()}
    figures = {
        "regret": panel_figure({"Constant": lines, "Poisson": lines}, title="Regret"),
        "delay": panel_figure({"Active": lines}, x="mean_delay", title="Delay"),
    }
    sections = [Section("Figures", figures=figures)]
    path = write_report(tmp_path / "report.html", title="A <report>", sections=sections)
    with chromium(tmp_path / "profile") as tab:
        tab.goto(path.as_uri())
        tab.click("summary")
        tab.wait_for("document.querySelector('details').open")
        assert tab.evaluate(DRAWN) == [True, True, True]
        assert tab.text("h1") == "A <report>"
        assert tab.console == []
