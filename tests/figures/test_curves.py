import matplotlib
import numpy as np
import pytest

import belated as bl
from belated.figures.curves import build_figure, regret_curves
from belated.sweep.bands import band

NOTES = {"title": "A title", "command": "belated reproduce --seeds 3"}


@pytest.fixture(scope="module")
def groups():
    options = {"base": bl.UCRL2(scale=0.1), "episodes": 60, "seeds": range(3)}
    return {
        "Active": bl.simulate_many(bl.chain(3), updater=bl.Active(), **options),
        "Lazy": bl.simulate_many(bl.chain(3), updater=bl.Lazy(1), **options),
    }


def test_a_pdf_and_a_png_appear_in_a_new_folder(groups, tmp_path):
    paths = regret_curves(groups, tmp_path / "new" / "v1.5", **NOTES)
    assert paths == [tmp_path / "new" / "v1.5.pdf", tmp_path / "new" / "v1.5.png"]
    assert paths[0].read_bytes().startswith(b"%PDF")
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_the_same_runs_give_the_same_bytes_whatever_the_users_settings(groups, tmp_path):
    first = regret_curves(groups, tmp_path / "first", **NOTES)
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 20, "savefig.dpi": 50}):
        second = regret_curves(groups, tmp_path / "second", **NOTES)
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert b"CreationDate" not in first[0].read_bytes()


def test_other_runs_give_other_bytes(groups, tmp_path):
    first = regret_curves(groups, tmp_path / "first", **NOTES)
    swapped = {"Active": groups["Lazy"], "Lazy": groups["Active"]}
    second = regret_curves(swapped, tmp_path / "second", **NOTES)
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() != other.read_bytes()


def test_each_learner_has_a_line_of_means_and_edges_of_its_band(groups):
    [axes] = build_figure(groups, **NOTES).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    for name, runs in groups.items():
        found = band(runs)
        np.testing.assert_array_equal(lines[name].get_xdata(), found.x)
        np.testing.assert_array_equal(lines[name].get_ydata(), found.mean)
        same = [line for line in axes.get_lines() if line.get_color() == lines[name].get_color()]
        np.testing.assert_array_equal(
            np.sort([line.get_ydata() for line in same], axis=0),
            np.sort([found.low, found.mean, found.high], axis=0),
        )


def test_lines_differ_in_colour_and_in_style(groups):
    many = {str(i): groups["Active"] for i in range(35)}
    [axes] = build_figure(many, **NOTES).axes
    styles = {
        (line.get_color(), str(line._unscaled_dash_pattern)): line
        for line in axes.get_lines()
        if not line.get_label().startswith("_")
    }
    assert len(styles) == 35


def test_the_figure_says_what_it_shows_and_what_made_it(groups):
    figure = build_figure(groups, **NOTES)
    [axes] = figure.axes
    assert axes.get_title(loc="left") == "A title"
    assert axes.get_xlabel() == "Episode"
    assert axes.get_ylabel() == "Cumulative regret"
    assert figure.get_supxlabel() == "belated reproduce --seeds 3"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Active", "Lazy"]


def test_the_legend_covers_no_curve(groups):
    many = {f"a long label of learner {i}": groups["Active"] for i in range(12)}
    figure = build_figure(many, **NOTES)
    figure.draw_without_rendering()
    legend, axes = figure.legends[0].get_window_extent(), figure.axes[0].get_window_extent()
    assert axes.x1 < legend.x0 < legend.x1 <= figure.bbox.x1
    assert axes.width > 0.4 * figure.bbox.width


def test_curves_begin_at_zero(groups):
    [axes] = build_figure(groups, **NOTES).axes
    for line in axes.get_lines():
        assert (line.get_xdata()[0], line.get_ydata()[0]) == (0, 0)


def test_a_long_command_is_broken_into_lines_and_kept_whole(groups):
    command = "belated reproduce " + " ".join(f"--option-{i} {i}" for i in range(30))
    text = build_figure(groups, title="A title", command=command).get_supxlabel()
    assert text.count("\n") > 1
    assert text.split() == command.split()


def test_no_learners_make_no_figure(tmp_path):
    with pytest.raises(ValueError, match=r"^groups must hold the runs of "):
        regret_curves({}, tmp_path / "empty", **NOTES)
    assert list(tmp_path.iterdir()) == []
