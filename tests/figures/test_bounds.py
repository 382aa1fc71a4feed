import matplotlib
import numpy as np
import pytest

from belated.episode import Shape
from belated.figures.bounds import Problem, bound_curves, drawn
from belated.figures.looks import PALETTE
from belated.theory import best_alpha, theorem_1, theorem_2
from belated.theory.bonus import BASES

PROBLEM = Problem(Shape(5, 2, 5), episodes=10**6, mean_delay=100, alpha=10, delta=0.05)
COMMAND = "belated bounds --states 5"
COLOURS = list(zip(BASES, PALETTE, strict=True))


@pytest.fixture(scope="module")
def panels():
    return drawn(PROBLEM, command=COMMAND).axes


def lines_of(axes, colour):
    """The curves of a base, marks left out."""
    return [
        line
        for line in axes.get_lines()
        if line.get_color() == colour and len(line.get_xdata()) > 2
    ]


@pytest.mark.parametrize(("base", "colour"), COLOURS, ids=BASES)
def test_the_left_panel_has_both_theorems_against_the_mean_delay(panels, base, colour):
    active, lazy = lines_of(panels[0], colour)
    means = active.get_xdata()
    assert (means[0], means[-1]) == (0, 200)
    for i in (0, 40, 79):
        given = {"episodes": 10**6, "mean_delay": means[i]}
        assert active.get_ydata()[i] == theorem_1(base, PROBLEM.shape, **given).total
        assert lazy.get_ydata()[i] == theorem_2(base, PROBLEM.shape, **given, alpha=10).total


@pytest.mark.parametrize(("base", "colour"), COLOURS, ids=BASES)
def test_the_right_panel_has_theorem_2_against_alpha_and_marks_the_best(panels, base, colour):
    [lazy] = lines_of(panels[1], colour)
    given = {"episodes": 10**6, "mean_delay": 100}
    for i in (0, 40, 79):
        alpha = lazy.get_xdata()[i]
        assert lazy.get_ydata()[i] == theorem_2(base, PROBLEM.shape, **given, alpha=alpha).total
    [mark] = [
        line
        for line in panels[1].get_lines()
        if line.get_color() == colour and len(line.get_xdata()) == 1
    ]
    assert mark.get_xdata()[0] == best_alpha(PROBLEM.shape, **given, base=base)
    assert mark.get_ydata()[0] <= lazy.get_ydata().min()
    assert mark.get_marker() == "o"


def test_active_updating_as_the_best_is_marked_at_the_edge():
    late = Problem(Shape(30, 2, 30), episodes=10**5, mean_delay=300, alpha=10, delta=0.05)
    right = drawn(late, command=COMMAND).axes[1]
    markers = [line.get_marker() for line in right.get_lines() if len(line.get_xdata()) == 1]
    assert markers.count(">") == 5
    assert markers.count("o") == 2


def test_what_no_run_can_lose_is_a_line_in_both(panels):
    for axes in panels:
        assert any(np.all(np.asarray(line.get_ydata()) == 5 * 10**6) for line in axes.get_lines())


def test_the_same_problem_gives_the_same_bytes_whatever_the_users_settings(tmp_path):
    bound_curves(PROBLEM, tmp_path / "one.png", command=COMMAND)
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 20}):
        bound_curves(PROBLEM, tmp_path / "again" / "one.png", command=COMMAND)
    first, second = (tmp_path / name for name in ("one.png", "again/one.png"))
    assert first.read_bytes() == second.read_bytes()


def test_no_delay_is_drawn_up_to_a_hundred_episodes():
    at_once = Problem(Shape(2, 2, 2), episodes=100, mean_delay=0, alpha=1, delta=0.05)
    assert drawn(at_once, command=COMMAND).axes[0].get_lines()[0].get_xdata()[-1] == 100


def test_other_kinds_of_file_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^path is .*; its name must end in .pdf or .png.$"):
        bound_curves(PROBLEM, tmp_path / "one.svg", command=COMMAND)


@pytest.mark.parametrize("name", ["mean_delay", "alpha"])
def test_what_has_no_end_is_refused(name):
    given = {"mean_delay": 1.0, "alpha": 1.0, name: float("inf")}
    with pytest.raises(ValueError, match=f"^{name} is inf; only a finite one can be drawn.$"):
        Problem(Shape(2, 2, 2), episodes=9, delta=0.05, **given)
