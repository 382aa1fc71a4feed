import numpy as np
import pytest

import belated as bl
from belated.mdp.gridworld import gridworld

UP, RIGHT, DOWN, LEFT = range(4)
ALONG = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}
SIDES = {UP: (LEFT, RIGHT), DOWN: (LEFT, RIGHT), LEFT: (UP, DOWN), RIGHT: (UP, DOWN)}


def picture_optimum(picture, *, horizon, slip):
    """Return V*_1 of the upper left cell of a picture with walls # and a goal G."""
    rows, columns = len(picture), len(picture[0])
    v = np.zeros((rows, columns))

    def land(row, column, action):
        down, right = ALONG[action]
        r, c = row + down, column + right
        ok = 0 <= r < rows and 0 <= c < columns and picture[r][c] != "#"
        return v[r, c] if ok else v[row, column]

    for _ in range(horizon):
        new = np.zeros_like(v)
        for row in range(rows):
            for column in range(columns):
                if picture[row][column] == "G":
                    new[row, column] = 1 + v[row, column]
                elif picture[row][column] == ".":
                    new[row, column] = max(
                        (1 - slip) * land(row, column, a)
                        + sum(slip / 2 * land(row, column, side) for side in SIDES[a])
                        for a in range(4)
                    )
        v = new
    return v[0, 0]


MAZE = ["....", ".##.", ".#G.", "...."]
WALLS = [(1, 1), (1, 2), (2, 1)]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 6), (5, 5), (3, 7)])
@pytest.mark.parametrize("horizon", [1, 8, 20])
def test_without_slips_the_value_is_what_is_left_after_the_shortest_way(rows, columns, horizon):
    world = gridworld(rows, columns, horizon=horizon, slip=0)
    assert bl.optimal_value(world) == max(horizon - (rows - 1) - (columns - 1), 0)


@pytest.mark.parametrize(
    ("picture", "options", "value"),
    [
        (["....."] * 4 + ["....G"], {}, 11.209079),
        (["....."] * 4 + ["....G"], {"slip": 0.5}, 5.397447),
        (MAZE, {"goal": (2, 2), "walls": WALLS}, 13.209877),
    ],
)
def test_the_optimal_value_is_that_of_a_dynamic_programme_over_cells(picture, options, value):
    world = gridworld(len(picture), len(picture[0]), horizon=20, **options)
    expected = picture_optimum(picture, horizon=20, slip=options.get("slip", 0.1))
    assert bl.optimal_value(world) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(value, abs=1e-6)


def test_the_goal_holds_and_pays_and_no_move_leads_into_a_wall():
    world = gridworld(4, 4, horizon=3, slip=0.4, goal=(2, 2), walls=WALLS)
    p = world.transition_table()[0]
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=0, atol=1e-12)
    assert (p[10, :, 10] == 1).all()
    assert np.flatnonzero(world.rewards[0].sum(axis=1)).tolist() == [10]
    assert (world.rewards[0, 10] == 1).all()
    walls = [5, 6, 9]
    outside = [s for s in range(16) if s not in walls]
    assert (p[outside][:, :, walls] == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slip": 1.5}, r"^slip must lie in \[0, 1\], got 1\.5\.$"),
        ({"goal": (3, 0)}, r"^goal must give a cell as .* rows 0 \.\. 2 and .*, got \(3, 0\)\.$"),
        ({"walls": [(0, -1)]}, r"^walls must give a cell as .*, got \(0, -1\)\.$"),
        ({"walls": [4]}, r"^walls must give a cell as .*, got 4\.$"),
        ({"walls": [(0, 0)]}, r"^walls must not contain the first cell, got \(0, 0\)\.$"),
        ({"walls": [(2, 3)]}, r"^walls must not contain the goal, got \(2, 3\)\.$"),
    ],
)
def test_an_impossible_grid_raises_an_error(options, message):
    with pytest.raises(ValueError, match=message):
        gridworld(**{"rows": 3, "columns": 4, "horizon": 5, **options})
