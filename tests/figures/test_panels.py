import matplotlib
import numpy as np
import pytest

from belated.figures.panels import BAND_NOTE, CUT_NOTE, panel_figure, regret_curves
from belated.figures.studies import panels_of, repeat_undelayed, select
from belated.figures.styles import LAW_PALETTE, line_styles
from belated.sweep.bands import axis_limit
from made_up_runs import MadeUp

LEARNERS = {
    "active": "Active",
    "lazy:100": "Lazy, α = 100",
    "lazy:10": "Lazy, α = 10",
    "lazy:1": "Lazy, α = 1",
    "explicit": "Explicit exploration",
}
FOUR = {updater: name for updater, name in LEARNERS.items() if updater != "explicit"}
NOTES = {"title": "A title", "command": "belated reproduce --seeds 3"}


@pytest.fixture(scope="module")
def results():
    return MadeUp(chains=(5,), seeds=4).make()


def titles(runs):
    return np.array([law.capitalize() for law in runs["law"]], object)


def names_of(runs):
    return np.array([LEARNERS[updater] for updater in runs["updater"]], object)


def regret_panels(results, learners=LEARNERS):
    runs = select(results[0], {"mean_delay": 500.0, "updater": list(learners)})
    return panels_of(runs, results[1], "episode", titles(runs), names_of(runs))


@pytest.fixture(scope="module")
def regret(results):
    return regret_panels(results)


@pytest.fixture(scope="module")
def delay(results):
    runs = repeat_undelayed(select(results[0], {"updater": list(FOUR)}))
    return panels_of(runs, results[1], "mean_delay", names_of(runs), titles(runs))


def means(axes):
    """Return the lines of means by label; edges of bands have labels that begin with _."""
    lines = {line.get_label(): line for line in axes.get_lines()}
    return {name: line for name, line in lines.items() if not name.startswith("_")}


def delay_figure(panels, **options):
    return panel_figure(panels, x="mean_delay", palette=LAW_PALETTE, **NOTES, **options)


def texts(axes):
    return [text.get_text() for text in axes.texts]


def small_print(figure):
    return figure.texts[-1].get_text()


def test_the_same_numbers_give_the_same_bytes_whatever_the_users_settings(delay, tmp_path):
    figure = delay_figure(delay)
    first, drawing = figure.save(tmp_path / "new" / "v1.5"), figure.svg()
    assert first == [tmp_path / "new" / "v1.5.pdf", tmp_path / "new" / "v1.5.png"]
    assert first[0].read_bytes().startswith(b"%PDF")
    assert first[1].read_bytes().startswith(b"\x89PNG")
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 20, "savefig.dpi": 50}):
        second = figure.save(tmp_path / "second")
        assert figure.svg() == drawing
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert b"CreationDate" not in first[0].read_bytes()


def test_every_panel_has_its_law_and_a_line_of_means_for_each_learner(regret):
    figure = panel_figure(regret, **NOTES).draw()
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(regret)
    for axes, lines in zip(figure.axes, regret.values(), strict=True):
        found = means(axes)
        assert list(found) == list(LEARNERS.values())
        for name, line in lines.items():
            np.testing.assert_array_equal(found[name].get_xdata(), line.x)
            np.testing.assert_array_equal(found[name].get_ydata(), line.mean)


def test_a_learner_far_above_the_others_leaves_the_panel_and_a_note_says_where_to(regret):
    figure = panel_figure(regret, **NOTES).draw()
    limit = axis_limit(regret)
    assert figure.axes[0].get_ylim() == (0, limit)
    for axes, lines in zip(figure.axes, regret.values(), strict=True):
        end = lines["Explicit exploration"].mean[-1]
        assert end > limit
        assert texts(axes) == [f"Explicit exploration ↑ {end:,.0f}"]
    assert small_print(figure) == f"{BAND_NOTE} {CUT_NOTE}\n{NOTES['command']}"


def test_a_learner_keeps_its_colour_where_others_are_missing(results, regret):
    names = list(LEARNERS.values())
    some = regret_panels(results, ["lazy:1", "lazy:10"])
    whole, part = (
        means(panel_figure(panels, order=names, **NOTES).draw().axes[0])
        for panels in (regret, some)
    )
    assert list(part) == ["Lazy, α = 10", "Lazy, α = 1"]
    for name, line in part.items():
        assert line.get_color() == whole[name].get_color() == line_styles(names)[name].colour


def test_published_values_are_hollow_markers_of_their_lines_colour(delay):
    published = {"Active": {"Poisson": {0: 900.0, 500: 1600.0}}}
    figure = delay_figure(delay, published=published).draw()
    hollow = [
        line
        for line in figure.axes[0].get_lines()
        if line.get_markerfacecolor() == "none" and line.get_xdata().size
    ]
    [marks] = hollow
    np.testing.assert_array_equal(marks.get_xdata(), [0, 500])
    np.testing.assert_array_equal(marks.get_ydata(), [900, 1600])
    assert marks.get_markeredgecolor() == means(figure.axes[0])["Poisson"].get_color()
    assert figure.legends[0].get_texts()[-1].get_text() == "Published"


def test_the_legend_and_the_small_print_stay_clear_of_each_other_and_of_the_panels(regret):
    command = "belated reproduce " + " ".join(f"--option-{i} {i}" for i in range(30))
    figure = panel_figure(regret, title="A title", command=command).draw()
    figure.draw_without_rendering()
    note = figure.texts[-1].get_window_extent()
    legend = figure.legends[0].get_window_extent()
    lowest = min(axes.get_tightbbox().y0 for axes in figure.axes)
    assert 0 <= note.y0 < note.y1 <= legend.y0 < legend.y1 <= lowest
    assert figure.bbox.x0 <= legend.x0 < legend.x1 <= figure.bbox.x1
    assert note.x1 <= figure.bbox.x1


@pytest.mark.parametrize("panels", [{}, {"Constant": {}, "Uniform": {}}])
def test_no_lines_make_no_figure(panels):
    with pytest.raises(ValueError, match=r"^panels must hold at least one line, got none\.$"):
        panel_figure(panels, **NOTES)


def test_a_drawing_in_full_cuts_no_line_off(regret):
    figure = panel_figure(regret, **NOTES).draw(full=True)
    top = max(line.high.max() for lines in regret.values() for line in lines.values())
    assert figure.axes[0].get_ylim()[1] >= top
    assert not any(axes.texts for axes in figure.axes)


def test_no_runs_make_no_figure():
    with pytest.raises(ValueError, match=r"^groups must hold the runs of "):
        regret_curves({}, **NOTES)
