"""`plot` and the methods that call it return Matplotlib axes."""

import matplotlib
import numpy as np
import pytest

import belated as bl
from belated.sweep.results import Results
from made_up_runs import MadeUp

matplotlib.use("Agg")
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def run(seed=0, regret=(1.0, 2.0, 3.0), **parts):
    """Return a made-up run."""
    at = np.array([10, 20, 30])
    parts = {"base": "ucrl2", "updater": "lazy:10", "delay": "geometric:100", **parts}
    return bl.Run(
        seed=seed,
        episodes=30,
        episode=at,
        regret=np.array(regret) + seed,
        updates=1,
        epochs=2,
        max_missing=0,
        optimism_broken=0,
        **parts,
    )


def means(axes):
    """Return the lines of means by label; edges of bands have labels that begin with _."""
    lines = {line.get_label(): line for line in axes.get_lines()}
    return {name: line for name, line in lines.items() if not name.startswith("_")}


def legend_of(axes):
    [legend] = axes.figure.legends
    return legend


# Runs


def test_a_run_is_a_line_from_zero_with_its_setting_as_title():
    axes = run().plot()
    [line] = means(axes).values()
    np.testing.assert_array_equal(line.get_xdata(), [0, 10, 20, 30])
    np.testing.assert_array_equal(line.get_ydata(), [0, 1, 2, 3])
    assert axes.get_title(loc="left") == "UCRL2; Lazy, α = 10; geometric delay, mean 100"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Episode", "Cumulative regret")
    assert axes.figure.legends == []


def test_runs_are_grouped_by_setting_and_named_by_the_parts_that_differ():
    runs = [
        run(seed, base=base, delay=delay)
        for base in ("ucrl2:scale=0.1", "ucbvi-bf")
        for delay in ("constant:0", "geometric:100")
        for seed in range(3)
    ]
    axes = bl.plot(runs)
    found = means(axes)
    assert list(found) == [
        "UCRL2, no delay",
        "UCRL2; geometric delay, mean 100",
        "UCBVI-BF, no delay",
        "UCBVI-BF; geometric delay, mean 100",
    ]
    colours = [line.get_color() for line in found.values()]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert axes.get_title(loc="left") == "Lazy, α = 10"
    np.testing.assert_array_equal(found["UCRL2, no delay"].get_ydata(), [0, 2, 3, 4])
    assert [text.get_text() for text in legend_of(axes).get_texts()] == list(found)
    bands = [band.get_paths()[0].get_extents() for band in axes.collections]
    assert bands[0].y1 == pytest.approx(3 + 1.95)  # the 97.5 % quantile of 3, 4, 5


def test_a_mapping_sets_labels_and_may_hold_single_runs():
    axes = bl.plot({"one": run(), "many": [run(1), run(2)]}, title="A title")
    assert list(means(axes)) == ["one", "many"]
    assert axes.get_title(loc="left") == "A title"


def test_the_legend_of_given_axes_lies_above_all_bands():
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 4))
    assert bl.plot([run(base="ucrl2"), run(base="psrl"), run(base="ubev")], ax=left) is left
    figure.draw_without_rendering()
    legend = left.get_legend().get_window_extent()
    top = left.transData.transform((0, 3))[1]
    assert legend.y0 > top
    assert legend.x1 <= left.get_window_extent().x1
    assert not right.get_lines()


def test_the_style_of_the_user_is_left_alone():
    before = dict(matplotlib.rcParams)
    run().plot()
    assert dict(matplotlib.rcParams) == before


def test_runs_that_cannot_be_grouped_are_refused():
    with pytest.raises(ValueError, match="have the same seed twice"):
        bl.plot([run(0), run(0)])
    with pytest.raises(ValueError, match=r"^runs must hold at least one run, got none\.$"):
        bl.plot([])
    with pytest.raises(TypeError, match=r"^plot needs runs, a mapping .* got 3\.$"):
        bl.plot([3])


# Results


class MadeUpResults(Results):
    """Results that are not stored."""

    def __init__(self, **parameters):
        self.provenance = {}
        self._runs, self._curves = MadeUp(chains=(5, 10), seeds=3, **parameters).make()

    def runs(self):
        return self._runs

    def curves(self, setting=None):
        return self._curves(setting)


@pytest.fixture
def results():
    return MadeUpResults(learners=("active", "lazy:10"), means=(0, 100, 500))


def test_results_have_a_panel_for_each_world_and_a_line_for_each_setting(results):
    grid = results.plot(facet="world", color="updater", delay="geometric:100")
    assert [axes.get_title(loc="left") for axes in grid] == ["chain-5", "chain-10"]
    for axes in grid:
        found = means(axes)
        assert list(found) == ["Active", "Lazy, α = 10"]
        for line in found.values():
            assert (line.get_xdata()[0], line.get_ydata()[0]) == (0, 0)
    final = results.runs()["total_regret"][
        results.runs()["setting"] == "chain-10/figures/geometric-100/lazy-10"
    ]
    line = means(grid[1])["Lazy, α = 10"]
    assert line.get_ydata()[-1] == pytest.approx(final.mean())


def test_final_regret_against_the_delay_begins_without_delay_for_every_law(results):
    axes = results.plot("mean_delay", color="law", world="chain-5", updater="active")
    assert list(means(axes)) == [
        "Constant delay",
        "Geometric delay",
        "Poisson delay",
        "Uniform delay",
    ]
    for line in means(axes).values():
        np.testing.assert_array_equal(line.get_xdata(), [0, 100, 500])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Expected delay E[τ]", "Final regret")
    assert axes.get_title(loc="left") == "chain-5, figures, Active"


def test_final_regret_can_be_shown_against_the_number_of_states(results):
    axes = results.plot("states", updater="active", delay="poisson:100")
    [line] = means(axes).values()
    np.testing.assert_array_equal(line.get_xdata(), [5, 10])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": "seed"}, r"^x must be one of 'episode', .*, 'horizon', got 'seed'\."),
        ({"color": "bse"}, r"^color must be one of .* got 'bse'\. Did you mean 'base'\?$"),
        ({"facet": "law"}, r"^facet must be one of .* got 'law'\.$"),
        (
            {"updater": "lazy:3"},
            r"^updater must be among active, .* got 'lazy:3'\. Did you mean 'lazy:10'",
        ),
        ({"name": 3}, r"^There is no column 'name' among setting, world, "),
        ({"updter": "active"}, r"Did you mean 'updater' or 'updates'\?$"),
        ({"world": "chain-5", "delay": "constant:0", "mean_delay": 100}, "^No run has all of "),
    ],
)
def test_wrong_choices_are_explained(results, options, message):
    with pytest.raises(ValueError, match=message):
        results.plot(**options)


def test_too_many_lines_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"^At most 35 lines .* got 130, .* such as updater="):
        MadeUpResults(means=(0, 100, 200, 500)).plot()


def test_axes_and_facets_exclude_each_other(results):
    with pytest.raises(ValueError, match=r"^ax cannot be combined with facet"):
        results.plot(facet="world", ax=pyplot.figure().add_subplot())


# Worlds and policies


def test_a_large_world_is_a_table_of_its_values():
    axes = bl.chain(30).plot()
    [image] = axes.get_images()
    assert image.get_array().shape == (30, 30)
    assert image.get_array()[0, 0] == pytest.approx(bl.optimal_value(bl.chain(30)))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Step", "State")


def test_exploration_and_terminal_states_of_a_policy_are_marked_and_state_0_is_at_the_top():
    explore = np.zeros((1, 3, 2), bool)
    explore[0, 1] = True
    policy = bl.Policy(np.array([[0, 1, 0]], np.int32), explore, terminal=(2,))
    axes = policy.plot(actions=["wait", "treat"])
    assert [text.get_text() for text in axes.texts] == ["0", "?", ""]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["0: wait", "drawn at random", "terminal state"]
    bottom, top = axes.get_ylim()
    assert bottom > top


def test_the_legend_explains_rewards_that_are_bounds():
    stay = np.eye(2)[:, None, :].repeat(3, axis=1)
    world = bl.MDP.dense(stay, [[0, 0.4, 0.2], [0, 0, 0]], horizon=2)
    axes = world.plot()
    assert "≤ 0.4" in [text.get_text() for text in axes.texts]
    assert "with ≤: of the best action" in axes.get_legend().get_title().get_text()
