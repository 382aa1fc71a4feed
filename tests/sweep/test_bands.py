import numpy as np
import pytest

from belated.simulation.run import Run
from belated.sweep.bands import Band, axis_limit, band, curve_band


def run_with(seed, episode, regret):
    return Run(
        seed=seed,
        episodes=int(episode[-1]),
        episode=np.asarray(episode),
        regret=np.asarray(regret, dtype=float),
        updates=0,
        epochs=1,
        max_missing=0,
        optimism_broken=0,
    )


def test_the_band_leaves_out_a_fortieth_of_the_runs_at_either_end():
    runs = [run_with(i, [10, 20], [i, 3 * i]) for i in reversed(range(41))]
    found = band(runs)
    np.testing.assert_array_equal(found.x, [0, 10, 20])
    np.testing.assert_allclose(found.low, [0, 1, 3])
    np.testing.assert_allclose(found.high, [0, 39, 117])
    np.testing.assert_allclose(found.mean, [0, 20, 60])


def test_runs_with_different_checkpoints_are_rejected():
    runs = [run_with(0, [1, 2], [1, 2]), run_with(8, [1, 3], [1, 2])]
    with pytest.raises(ValueError, match=r"^runs must have the same .* seeds 0 and 8 "):
        band(runs)


def flat(*highs):
    return Band(np.array([1, 2]), np.array(highs), np.array(highs), np.array(highs))


def test_an_axis_is_cut_above_the_lines_that_one_is_far_above():
    lines = {"Active": flat(5, 10), "Lazy": flat(5, 20), "Explicit": flat(50, 100)}
    assert axis_limit({"Constant": lines}) == pytest.approx(1.6 * 20)


def test_an_axis_is_not_cut_where_half_of_the_lines_would_leave():
    assert axis_limit({"Constant": {"Active": flat(5, 10), "Lazy": flat(5, 100)}}) is None


def test_stored_runs_with_different_checkpoints_are_rejected():
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
