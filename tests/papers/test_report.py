"""Panels and lines of the figures of a reproduction."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from belated.figures.panels import PanelFigure
from belated.papers.howson2021.grid import LAWS, LEARNERS, PROPOSED_UPDATERS, figures
from belated.papers.howson2021.published import PUBLISHED, compare
from belated.papers.howson2021.report import PaperReport
from made_up_runs import MadeUp

TITLES = [law.capitalize() for law in LAWS]


@pytest.fixture(scope="module")
def results() -> Any:
    return MadeUp(chains=(5, 10), seeds=6).make()


def described(results: Any, name: str) -> PanelFigure:
    runs, curves = results
    stored: Any = SimpleNamespace(curves=curves)
    report = PaperReport(stored, runs, "figures", "belated reproduce", compare(runs, curves), [])
    [figure] = [figure for figure in figures() if figure.name == name]
    return report.describe(figure)


def totals(runs: Any, setting: str) -> Any:
    return runs["total_regret"][runs["setting"] == setting]


def test_regret_has_a_panel_for_each_law_with_a_line_for_each_learner(results: Any) -> None:
    figure = described(results, "chain-5-regret-300")
    assert list(figure.panels) == TITLES
    assert all(set(lines) == set(LEARNERS.values()) for lines in figure.panels.values())
    assert list(figure.styles) == list(LEARNERS.values())
    line = figure.panels["Uniform"]["Lazy, α = 10"]
    final = totals(results[0], "chain-5/figures/uniform-300/lazy-10")
    assert line.x.tolist() == [0, *range(50, 10_001, 50)]
    assert line.mean[0] == line.low[0] == line.high[0] == 0
    assert line.mean[-1] == pytest.approx(final.mean())
    assert line.low[-1] == pytest.approx(np.quantile(final, 0.025))
    assert line.high[-1] == pytest.approx(np.quantile(final, 0.975))


def test_delay_dependence_has_a_panel_for_each_learner_with_a_line_for_each_law(
    results: Any,
) -> None:
    figure = described(results, "chain-5-delay")
    assert list(figure.panels) == [LEARNERS[updater] for updater in PROPOSED_UPDATERS]
    assert list(figure.styles) == TITLES
    line = figure.panels["Active"]["Geometric"]
    np.testing.assert_array_equal(line.x, [0, 100, 200, 300, 400, 500])
    for i, setting in ((0, "constant-0"), (4, "geometric-400")):
        final = totals(results[0], f"chain-5/figures/{setting}/active")
        assert line.mean[i] == pytest.approx(final.mean())
        assert line.low[i] == pytest.approx(np.quantile(final, 0.025))
    published = figure.published["Lazy, α = 10"]["Poisson"]
    assert published == {
        mean: value
        for (states, updater, law, mean), value in PUBLISHED.items()
        if (states, updater, law) == (5, "lazy:10", "poisson")
    }
