"""Checkpoints: early ones are added by default, and change no value at the others."""

import numpy as np
import pytest

import belated as bl
from belated.simulation.run import checkpoints

SETTING = {
    "base": bl.UCRL2(scale=0.1),
    "updater": bl.Lazy("auto"),
    "delay": bl.delays.geometric(5),
    "episodes": 4_000,
    "seed": 3,
}


@pytest.mark.parametrize(
    ("episodes", "every", "early"),
    [
        (10, 1, []),
        (10, 2, [1]),
        (100, 10, [1, 2, 5]),
        (1_000, 11, [1, 2, 5, 10]),
        (10_000, 500, [1, 2, 5, 10, 20, 50, 100, 200]),
        (3, 7, [1, 2]),
    ],
)
def test_early_checkpoints_lie_before_the_first_multiple(episodes, every, early):
    even = checkpoints(episodes, every)
    assert even.tolist() == [*range(every, episodes, every), episodes]
    assert checkpoints(episodes, every, early=True).tolist() == [*early, *even.tolist()]


def test_early_checkpoints_change_no_value_at_the_others():
    even = bl.simulate(bl.chain(3), every=4, **SETTING)
    run = bl.simulate(bl.chain(3), **SETTING)
    assert run.episode[: len(run.episode) - 1_000].tolist() == [1, 2]
    kept = np.isin(run.episode, even.episode)
    for name in ("episode", "regret", "alpha"):
        np.testing.assert_array_equal(getattr(run, name)[kept], getattr(even, name))
    each = bl.simulate(bl.chain(3), every=1, **SETTING)
    np.testing.assert_array_equal(run.regret, each.regret[run.episode - 1])


def test_a_given_distance_is_kept():
    run = bl.simulate(bl.chain(3), every=1_000, **SETTING)
    assert run.episode.tolist() == [1_000, 2_000, 3_000, 4_000]
