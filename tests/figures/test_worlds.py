import re

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import same_color
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

import belated as bl
from belated.figures.worlds import GREY, TERMINAL_COLOUR, action_colour, save_world
from belated.mdp.classics import garnet, riverswim
from belated.mdp.gridworld import gridworld

matplotlib.use("Agg")
from matplotlib import pyplot

NOTES = {"title": "A title", "command": "belated show chain-5 --plot x"}
SIDEWAYS = ("left", "right")
COMPASS = ("up", "right", "down", "left")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def parts(axes, kind):
    return [patch for patch in axes.patches if type(patch) is kind]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def arrows(axes, colour):
    return [
        arrow for arrow in parts(axes, FancyArrowPatch) if same_color(arrow.get_edgecolor(), colour)
    ]


def test_a_pdf_and_a_png_appear_in_a_new_folder(tmp_path):
    paths = save_world(bl.chain(5), tmp_path / "new" / "v1.5", layout="row", **NOTES)
    assert paths == [tmp_path / "new" / "v1.5.pdf", tmp_path / "new" / "v1.5.png"]
    assert paths[0].read_bytes().startswith(b"%PDF")
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_a_row_has_a_circle_for_each_state_and_an_arrow_for_each_successor():
    world = riverswim()
    axes = bl.plot(world, layout="row", actions=SIDEWAYS)
    circles = parts(axes, Circle)
    assert [circle.center for circle in circles] == [(s, 0) for s in range(6)]
    bold = [circle.get_linewidth() > 2 for circle in circles]
    assert bold == [True, False, False, False, False, False]
    assert len(arrows(axes, action_colour(0))) == 6
    assert len(arrows(axes, action_colour(1))) == world.succ.size - 6
    said = texts(axes)
    assert said.count("0.35") == 4
    assert said.count("0.05") == 4
    assert "+0.005" in said
    assert "+1" in said


def shop():
    """Return a world in which an episode goes on in state 0 and ends in state 1 or 2."""
    p = np.zeros((3, 3, 3))
    p[0] = np.eye(3)
    return bl.MDP.dense(
        p, [[0, 0, 1], [0] * 3, [0] * 3], horizon=3, terminal=[1, 2], allowed={0: [0, 2]}
    )


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("layout", ["row", "ring"])
def test_terminal_states_are_marked_and_only_allowed_actions_are_drawn(layout):
    axes = bl.plot(shop(), layout=layout)
    grey = [same_color(circle.get_facecolor(), TERMINAL_COLOUR) for circle in parts(axes, Circle)]
    assert grey == [False, True, True]
    assert len(parts(axes, FancyArrowPatch)) == 2
    assert legend(axes)[-1] == "terminal state"


def test_a_grid_marks_terminal_states():
    axes = bl.plot(bl.world("frozen-lake-4x4"), layout=(4, 4))
    marked = [tuple(line.get_xydata()[0].astype(int)) for line in axes.lines]
    assert marked == [(1, -1), (3, -1), (3, -2), (0, -3), (3, -3)]
    assert "terminal state" in legend(axes)
    assert "nothing leads out" not in legend(axes)


def test_a_grid_shows_values_walls_the_goal_and_the_best_moves():
    world = gridworld(3, 3, horizon=10, slip=0, walls=[(1, 1)])
    axes = bl.plot(world, layout=(3, 3), actions=COMPASS)
    squares = [square for square in parts(axes, Rectangle) if square.get_width() == 1]
    assert len(squares) == 9
    dark = [square.get_xy() for square in squares if same_color(square.get_facecolor(), "0.35")]
    assert dark == [(0.5, -1.5)]
    said = texts(axes)
    assert said == ["6", "7", "8", "7", "9", "8", "9", "10", "+1"]
    # Two best moves from the first cell, one from the six others; nothing slips.
    assert len(arrows(axes, action_colour(0))) == 8
    assert arrows(axes, GREY) == []
    [cross] = axes.get_lines()
    assert (cross.get_xdata(), cross.get_ydata()) == ([2], [-2])


CHANGING = bl.MDP.dense(np.ones((3, 1, 1, 1)), np.zeros((3, 1, 1)))


@pytest.mark.parametrize(
    ("world", "layout", "message"),
    [
        (bl.chain(13), "row", "13 states are too many to draw; at most 12 fit."),
        (bl.chain(7), "ring", "7 states are too many to draw; at most 6 fit."),
        (
            garnet(6, 3, horizon=2, branching=2),
            "ring",
            "36 successors are too many to draw; at most 24 fit.",
        ),
        (gridworld(13, 12, horizon=9), (13, 12), "156 states are too many to draw; at most 144 "),
        (bl.chain(5), (2, 3), "5 states do not fill a grid of 2 x 3 cells."),
        (bl.chain(3), "steps", "layout must be 'row', 'ring' or (rows, columns), got 'steps'."),
        (CHANGING, "row", "A world that differs between steps cannot be drawn as a row."),
    ],
)
def test_what_cannot_be_drawn_is_rejected_with_the_reason(world, layout, message, tmp_path):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        save_world(world, tmp_path / "x", layout=layout, **NOTES)
    assert list(tmp_path.iterdir()) == []
