"""Figures of a study: bases or updaters are compared, and file names list the content."""

import numpy as np
import pytest

from belated.delays.laws import LAW_NAMES
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


def described(runs, curves):
    """Return the panels of each figure, and its title, by the name of its files."""
    figures = list(studies.study_figures(runs, curves, command=""))
    found = {name: (figure.panels, figure.title) for name, figure in figures}
    assert len(found) == len(figures)
    return found


def test_bases_are_compared_in_one_figure_for_each_updater():
    runs, curves = study(("psrl", "ucrl2"), learners=("active", "lazy:10"), means=(0, 100))
    some = studies.select(runs, {"law": ["constant", "poisson"]})
    figures = described(some, curves)
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


def test_many_delays_have_a_figure_for_each_law_and_one_against_the_delay():
    runs, curves = study(learners=("active", "lazy:10"), means=(0, 100, 500))
    figures = described(studies.select(runs, {"world": "chain-5"}), curves)
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


def test_options_that_vary_are_lines_and_in_the_name():
    runs, curves = study(learners=("active",), means=(0,))
    late = {name: np.tile(column, 2) for name, column in runs.items()}
    late["late"] = np.repeat(np.array(["everything", "rewards"], object), runs["seed"].size)
    figures = described(late, lambda setting: curves(setting))
    assert list(figures) == [f"regret_chain-{s}_figures_by-late" for s in (5, 10)]
    panels, _ = figures["regret_chain-5_figures_by-late"]
    assert list(panels["No delay"]) == ["Everything late", "Only rewards late"]


def test_two_settings_are_never_one_line():
    runs, curves = study(("psrl", "ucrl2"), learners=("active",), means=(0,))
    one = np.full(runs["seed"].size, "one", object)
    with pytest.raises(ValueError, match="a line shows one setting"):
        studies.panels_of(runs, curves, "episode", one, one)
    with pytest.raises(ValueError, match="a line shows one setting"):
        studies.panels_of(runs, curves, "mean_delay", one, one)


def own_laws(*delays):
    """Return the runs of a study with several means, in which laws are replaced by own ones.

    `delays` are pairs of the name of an own law and its mean.
    """
    runs, curves = study(learners=("active",), means=(0, 100, 500))
    runs = studies.select(runs, {"world": "chain-5", "law": ["geometric", "constant"]})
    own = studies.select(runs, {"delay": "geometric:100"})
    for delay, mean in delays:
        size = own["seed"].size
        added = {
            **own,
            "delay": np.full(size, delay, object),
            "law": np.full(size, LAW_NAMES.split(delay)[0], object),
            "mean_delay": np.full(size, float(mean)),
            "setting": np.full(size, f"chain-5/figures/{delay}/active", object),
        }
        runs = {name: np.concatenate([runs[name], added[name]]) for name in runs}
    known = own["setting"][0]
    return runs, lambda setting: curves(known if "parts" in setting else setting)


def test_own_laws_are_panels_of_their_own_named_without_the_module():
    runs, curves = own_laws(
        ("parts:two_point", 5), ("parts:two_point:short=1,long=50", 25), ("parts:mylaw", 7)
    )
    figures = described(runs, curves)
    panels, _ = figures["final-regret_chain-5_figures_by-updater"]
    assert {name: lines["Active"].x.tolist() for name, lines in panels.items()} == {
        "Constant delay": [0, 100, 500],
        "Geometric delay": [0, 100, 500],
        "Mylaw delay; no delay at 0": [0, 7],
        "two_point delay; no delay at 0": [0, 5, 25],
    }
    panels, _ = figures["regret_chain-5_figures_parts-two_point_by-updater"]
    assert list(panels) == [
        "No delay",
        "two_point delay",
        "two_point delay, short 1, long 50",
    ]


def test_own_laws_with_the_same_mean_are_not_one_line():
    runs, curves = own_laws(("parts:two_point:short=1", 5), ("parts:two_point:short=2", 5))
    panels, _ = described(runs, curves)["final-regret_chain-5_figures_by-updater"]
    assert list(panels)[2:] == [
        "two_point delay, short 1; no delay at 0",
        "two_point delay, short 2; no delay at 0",
    ]


def test_runs_with_delays_that_depend_on_what_is_played_have_curves_but_no_expected_delay(
    monkeypatch,
):
    delays = [f"by_action:0=constant:{n},1=constant:9" for n in (10, 2)]
    runs, _ = own_laws(*((delay, float("nan")) for delay in delays))
    ordered = list(dict.fromkeys(studies.reading_order(runs)["delay"]))
    assert ordered[0] == "constant:0"
    assert [delay for delay in ordered if delay in delays] == delays[::-1]
    repeated = studies.repeat_undelayed(studies.split_laws(runs))
    assert not set(delays) & set(repeated["delay"])
    monkeypatch.setattr(studies, "MAX_DELAYS_PER_FIGURE", 1)
    assert "by_action" in [law for law, _ in studies.split_delays(runs)]
