"""Figures of a study: bases or updaters are compared, and file names list the content."""

from pathlib import Path

import numpy as np
import pytest

from belated.figures import studies
from made_up_runs import MadeUp


def study(bases=("figures",), **parameters):
    """Return made-up runs and curves, repeated for each of `bases`."""
    runs, curves = MadeUp(chains=(5, 10), seeds=2, **parameters).make()
    size = runs["seed"].size
    repeated = {name: np.tile(column, len(bases)) for name, column in runs.items()}
    repeated["base"] = np.repeat(np.array(bases, object), size)
    repeated["setting"] = np.array(
        [
            setting.replace("figures", base)
            for setting, base in zip(repeated["setting"], repeated["base"], strict=True)
        ],
        object,
    )
    return repeated, lambda setting: curves(
        "/".join(["figures" if i == 1 else part for i, part in enumerate(setting.split("/"))])
    )


def drawn(monkeypatch, runs, curves):
    """Return the panels of each figure by the name of its file, without drawing them."""
    figures = {}

    def record(panels, path, **options):
        assert path.name not in figures
        figures[path.name] = (panels, options["title"])
        return [path]

    monkeypatch.setattr(studies, "regret_panels", record)
    monkeypatch.setattr(studies, "delay_panels", record)
    assert len(studies.draw_study(runs, curves, Path("figures"), command="")) == len(figures)
    return figures


def test_bases_are_compared_in_one_figure_for_each_updater(monkeypatch):
    runs, curves = study(("psrl", "ucrl2"), learners=("active", "lazy:10"), means=(0, 100))
    some = studies.select(runs, {"law": ["constant", "poisson"]})
    figures = drawn(monkeypatch, some, curves)
    assert list(figures) == [
        f"regret_{world}_{fixed}"
        for world in ("chain-5", "chain-10")
        for fixed in (
            "active_by-base",
            "lazy-10_by-base",
            "psrl_by-updater",
            "ucrl2_by-updater",
        )
    ]
    panels, title = figures["regret_chain-5_lazy-10_by-base"]
    assert title == "chain-5; Lazy, α = 10"
    assert list(panels) == ["No delay", "Constant delay of 100", "Poisson delay, mean 100"]
    assert [list(lines) for lines in panels.values()] == [["PSRL", "UCRL2"]] * 3
    panels, _ = figures["regret_chain-5_psrl_by-updater"]
    assert list(panels["No delay"]) == ["Active", "Lazy, α = 10"]


def test_many_delays_have_a_figure_for_each_law_and_one_against_the_delay(monkeypatch):
    runs, curves = study(learners=("active", "lazy:10"), means=(0, 100, 500))
    figures = drawn(monkeypatch, studies.select(runs, {"world": "chain-5"}), curves)
    laws = ["constant", "geometric", "poisson", "uniform"]
    assert list(figures) == [
        *(f"regret_chain-5_figures_{law}_by-updater" for law in laws),
        "final-regret_chain-5_figures_by-updater",
    ]
    panels, _ = figures["regret_chain-5_figures_poisson_by-updater"]
    assert list(panels) == ["No delay", "Poisson delay, mean 100", "Poisson delay, mean 500"]
    panels, _ = figures["final-regret_chain-5_figures_by-updater"]
    assert list(panels) == [
        "Constant delay",
        "Geometric delay",
        "Poisson delay",
        "Uniform delay",
    ]
    for lines in panels.values():
        assert [line.x.tolist() for line in lines.values()] == [[0, 100, 500]] * 2


def test_options_that_vary_are_lines_and_in_the_name(monkeypatch):
    runs, curves = study(learners=("active",), means=(0,))
    late = {name: np.tile(column, 2) for name, column in runs.items()}
    late["late"] = np.repeat(np.array(["everything", "rewards"], object), runs["seed"].size)
    figures = drawn(monkeypatch, late, lambda setting: curves(setting))
    assert list(figures) == [f"regret_chain-{s}_figures_by-late" for s in (5, 10)]
    panels, _ = figures["regret_chain-5_figures_by-late"]
    assert list(panels["No delay"]) == ["Everything late", "Only rewards late"]


def test_two_settings_are_never_one_line():
    runs, curves = study(("psrl", "ucrl2"), learners=("active",), means=(0,))
    one = np.full(runs["seed"].size, "one", object)
    with pytest.raises(ValueError, match="a line shows one setting"):
        studies.episode_panels(runs, curves, one, one)
    with pytest.raises(ValueError, match="a line shows one setting"):
        studies.final_panels(runs, "mean_delay", one, one)
