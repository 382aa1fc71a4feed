import numpy as np
import pytest

from belated.figures.bands import band
from belated.simulation.run import Run


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
    np.testing.assert_array_equal(found.episode, [10, 20])
    np.testing.assert_allclose(found.low, [1, 3])
    np.testing.assert_allclose(found.high, [39, 117])
    np.testing.assert_allclose(found.mean, [20, 60])


def test_each_checkpoint_has_its_own_quantiles():
    rng = np.random.default_rng(0)
    regret = rng.random((30, 5)).cumsum(axis=1)
    found = band([run_with(i, [1, 2, 3, 4, 5], row) for i, row in enumerate(regret)])
    np.testing.assert_array_equal(found.low, np.quantile(regret, 0.025, axis=0))
    np.testing.assert_array_equal(found.high, np.quantile(regret, 0.975, axis=0))
    np.testing.assert_array_equal(found.mean, regret.mean(axis=0))


def test_one_run_is_its_own_band():
    found = band([run_with(0, [1, 2], [0.5, 0.75])])
    for line in (found.mean, found.low, found.high):
        np.testing.assert_array_equal(line, [0.5, 0.75])


def test_runs_with_other_checkpoints_are_refused():
    runs = [run_with(0, [1, 2], [1, 2]), run_with(8, [1, 3], [1, 2])]
    with pytest.raises(ValueError, match=r"^The run of seed 8 was kept at other episodes than "):
        band(runs)


def test_no_runs_have_no_band():
    with pytest.raises(ValueError, match=r"^runs is empty; a band needs at least one run\.$"):
        band([])
