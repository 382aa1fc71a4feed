"""A report in headless Chromium; see `make test-browser`."""

import os
from pathlib import Path

import pytest

from belated.figures.panels import delay_figure, regret_figure
from belated.figures.report import Section, citation, write_report
from belated.sweep.bands import delay_bands, regret_bands
from browser.chromium import CHROMIUM, chromium
from made_up_runs import MadeUp

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not os.environ.get("BELATED_BROWSER") or CHROMIUM is None,
        reason="needs Chromium and BELATED_BROWSER=1",
    ),
]

LAWS = ("constant", "uniform", "poisson", "geometric")
LEARNERS = {"active": "Active", "lazy:100": "Lazy, α = 100", "explicit": "Explicit exploration"}
WHERE = {"world": "chain-5", "base": "figures", "laws": LAWS, "learners": LEARNERS}
DRAWN = "[...document.images].map(one => one.complete && one.naturalWidth > 0)"


def test_every_figure_is_drawn_and_the_console_is_empty(tmp_path: Path) -> None:
    runs, curves = MadeUp(chains=(5,), seeds=3).make()
    figures = {
        "regret": regret_figure(regret_bands(runs, curves, mean=500, **WHERE), title="Regret"),
        "delay": delay_figure(delay_bands(runs, **WHERE), title="Delay"),
    }
    sections = [Section("Figures", figures=figures), citation()]
    path = write_report(tmp_path / "report.html", title="A <report>", sections=sections)
    with chromium(tmp_path / "profile") as tab:
        tab.goto(path.as_uri())
        tab.click("summary")
        tab.wait_for("document.querySelector('details').open")
        assert tab.evaluate(DRAWN) == [True, True, True]
        assert tab.text("h1") == "A <report>"
        assert tab.console == []
