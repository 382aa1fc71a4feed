"""Tests of a report in headless Chromium; run by `make test-browser`."""

import os
import re
import shutil
import subprocess

import pytest

from belated.figures.charts import delay_chart, regret_chart
from belated.figures.report import Section, citation, write_report
from belated.sweep.bands import delay_bands, regret_bands
from made_up_runs import MadeUp

CHROMIUM = shutil.which("chromium")

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


def open_page(path, folder, *, width=1100):
    """Return the page after its scripts have run, and the lines of the console."""
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        f"--user-data-dir={folder}",
        f"--window-size={width},900",
        "--virtual-time-budget=30000",
        "--enable-logging=stderr",
        "--v=0",
        "--dump-dom",
        path.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def charts():
    runs, curves = MadeUp(chains=(5,), seeds=3).make()
    regret = [
        regret_chart(
            regret_bands(runs, curves, mean=mean, **WHERE), f"regret-{mean}", title=f"E[τ] = {mean}"
        )
        for mean in (100, 500)
    ]
    published = {"Active": {"Poisson": {100: 1100.0}}}
    delay = delay_chart(delay_bands(runs, **WHERE), "delay", title="Delay", published=published)
    one = regret_chart(
        {"": regret_bands(runs, curves, mean=500, **WHERE)["Poisson"]}, "one", title="One panel"
    )
    return [*regret, delay, one]


@pytest.mark.parametrize("width", [1100, 500])
def test_every_chart_is_drawn_and_the_console_is_empty(charts, width, tmp_path):
    sections = [Section("Figures", charts=charts), citation()]
    path = write_report(tmp_path / "report.html", title="A <report>", sections=sections)
    page, console = open_page(path, tmp_path / "profile", width=width)
    assert console == []
    assert f'data-drawn="{len(charts)}"' in page
    assert len(re.findall("<canvas", page)) == len(charts)
    assert "could not be drawn" not in re.sub(r"(?s)<script.*?</script>", "", page)


def test_a_chart_that_cannot_be_drawn_shows_an_error_and_the_others_are_drawn(charts, tmp_path):
    broken = type(charts[0])("broken", "Broken", {**charts[0].spec, "facet": 7, "spec": 7})
    sections = [Section("Figures", charts=[broken, charts[-1]])]
    path = write_report(tmp_path / "report.html", title="Broken", sections=sections)
    page, console = open_page(path, tmp_path / "profile")
    assert console
    assert 'data-drawn="1"' in page
    assert "could not be drawn" in re.sub(r"(?s)<script.*?</script>", "", page)
