import numpy as np
import pytest

from belated.sweep.bands import curve_band, delay_bands, published_points, regret_bands
from made_up_runs import MadeUp

LAWS = ("constant", "uniform", "poisson", "geometric")
NAMES = {"active": "Active", "lazy:10": "Lazy, α = 10", "explicit": "Explicit exploration"}
WHERE = {"world": "chain-5", "base": "figures", "laws": LAWS, "learners": NAMES}


@pytest.fixture(scope="module")
def results():
    return MadeUp(chains=(5, 10), seeds=6).make()


def totals(runs, setting):
    return runs["total_regret"][runs["setting"] == setting]


def test_a_panel_for_each_law_has_a_line_for_each_learner(results):
    runs, curves = results
    panels = regret_bands(runs, curves, mean=300, **WHERE)
    assert list(panels) == ["Constant", "Uniform", "Poisson", "Geometric"]
    assert all(list(lines) == list(NAMES.values()) for lines in panels.values())


def test_a_line_is_the_band_of_its_own_settings_runs(results):
    runs, curves = results
    line = regret_bands(runs, curves, mean=300, **WHERE)["Uniform"]["Lazy, α = 10"]
    final = totals(runs, "chain-5/figures/uniform-300/lazy-10")
    assert final.size == 6
    assert line.x.tolist() == [0, *range(50, 10_001, 50)]
    assert line.mean[0] == line.low[0] == line.high[0] == 0
    assert line.mean[-1] == pytest.approx(final.mean())
    assert line.low[-1] == pytest.approx(np.quantile(final, 0.025))
    assert line.high[-1] == pytest.approx(np.quantile(final, 0.975))


def test_runs_without_delay_belong_to_every_law(results):
    runs, curves = results
    panels = regret_bands(runs, curves, mean=0, **WHERE)
    for lines in panels.values():
        np.testing.assert_array_equal(lines["Active"].mean, panels["Constant"]["Active"].mean)


def test_what_was_not_run_is_left_out():
    runs, curves = MadeUp(chains=(5,), learners=("active", "lazy:10"), seeds=2).make()
    some = {
        name: values[runs["setting"] != "chain-5/figures/poisson-300/active"]
        for name, values in runs.items()
    }
    panels = regret_bands(some, curves, mean=300, **WHERE)
    assert list(panels["Poisson"]) == ["Lazy, α = 10"]
    assert list(panels["Geometric"]) == ["Active", "Lazy, α = 10"]
    assert regret_bands(some, curves, mean=250, **WHERE) == {law.capitalize(): {} for law in LAWS}


def test_two_settings_for_one_line_are_rejected(results):
    runs, curves = results
    twice = dict(runs)
    twice["setting"] = twice["setting"].copy()
    twice["setting"][np.flatnonzero(runs["setting"] == "chain-5/figures/uniform-300/active")[0]] = (
        "b"
    )
    with pytest.raises(ValueError, match=r"^b and chain-5/.* a line shows one setting\.$"):
        regret_bands(twice, curves, mean=300, **WHERE)


def test_runs_with_different_checkpoints_are_rejected():
    columns = {
        "seed": np.array([3, 3, 4, 4]),
        "episode": np.array([1, 2, 1, 3]),
        "regret": np.ones(4),
    }
    with pytest.raises(
        ValueError,
        match=r"^The runs of a band must have the same checkpoints; those of seeds 3 to 4",
    ):
        curve_band(columns)


def test_an_incomplete_run_is_rejected():
    columns = {"seed": np.array([3, 3, 4]), "episode": np.array([1, 2, 1]), "regret": np.ones(3)}
    with pytest.raises(ValueError, match="must have the same checkpoints"):
        curve_band(columns)


def test_delay_dependence_has_a_panel_for_each_learner_and_a_line_for_each_law(results):
    runs, _ = results
    panels = delay_bands(runs, **WHERE)
    assert list(panels) == list(NAMES.values())
    line = panels["Active"]["Geometric"]
    np.testing.assert_array_equal(line.x, [0, 100, 200, 300, 400, 500])
    assert line.mean[0] == pytest.approx(totals(runs, "chain-5/figures/constant-0/active").mean())
    final = totals(runs, "chain-5/figures/geometric-400/active")
    assert line.mean[4] == pytest.approx(final.mean())
    assert line.low[4] == pytest.approx(np.quantile(final, 0.025))
    assert line.high[4] == pytest.approx(np.quantile(final, 0.975))


def test_delay_dependence_can_be_drawn_by_law(results):
    runs, _ = results
    by_learner, by_law = delay_bands(runs, **WHERE), delay_bands(runs, **WHERE, per="law")
    assert list(by_law) == ["Constant", "Uniform", "Poisson", "Geometric"]
    for law, lines in by_law.items():
        for name, line in lines.items():
            np.testing.assert_array_equal(line.mean, by_learner[name][law].mean)


def test_expected_delays_may_have_different_numbers_of_runs():
    runs, _ = MadeUp(chains=(5,), seeds=4).make()
    odd = (runs["setting"] == "chain-5/figures/poisson-200/active") & (runs["seed"] > 1)
    some = {name: values[~odd] for name, values in runs.items()}
    line = delay_bands(some, **WHERE)["Active"]["Poisson"]
    final = totals(some, "chain-5/figures/poisson-200/active")
    assert final.size == 2
    assert line.mean[2] == pytest.approx(final.mean())


def test_published_values_go_to_the_panel_and_line_of_their_learner_and_law():
    published = {("active", "poisson", 200): 303.0, ("active", "poisson", 100): 207.0}
    kinds = {"laws": LAWS, "learners": NAMES}
    by_learner = published_points(published, **kinds)
    assert by_learner["Active"]["Poisson"] == {100: 207.0, 200: 303.0}
    assert by_learner["Active"]["Uniform"] == {}
    assert published_points(published, **kinds, per="law")["Poisson"]["Active"] == {
        100: 207.0,
        200: 303.0,
    }
