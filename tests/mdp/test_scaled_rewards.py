"""scaled_rewards: rewards of any range as numbers in [0, 1], and values back."""

import numpy as np
import pytest

import belated as bl

SCALE = bl.scaled_rewards(-1, 5)


def test_the_lowest_reward_becomes_0_and_the_highest_1() -> None:
    np.testing.assert_array_equal(SCALE([-1, 2, 5]), [0, 0.5, 1])
    np.testing.assert_array_equal(SCALE(np.array([[-1.0], [5.0]])), [[0], [1]])
    assert SCALE(2) == 0.5
    assert isinstance(SCALE(2), float)


def test_rewards_that_have_not_arrived_stay_unknown() -> None:
    np.testing.assert_array_equal(SCALE([np.nan, 5]), [np.nan, 1])


def test_an_episode_is_scaled_in_its_rewards_alone() -> None:
    episode = SCALE(bl.Episode(3, [0, 1], [1], [5.0]))
    assert (episode.id, episode.states.tolist(), episode.actions.tolist()) == (3, [0, 1], [1])
    assert episode.rewards is not None
    assert episode.rewards.tolist() == [1.0]
    assert SCALE(bl.Episode(3, [0, 1], [1])).rewards is None


def test_values_and_regret_return_to_original_units() -> None:
    rewards = np.array([-1.0, 2.0, 5.0, 3.5])
    assert SCALE.restore(float(SCALE(rewards).sum()), steps=4) == pytest.approx(rewards.sum())
    assert SCALE.restore(0.5, steps=0) == 3.0
    np.testing.assert_allclose(SCALE.restore(np.array([0.0, 1.0]), steps=1), [-1, 5])


def test_a_reward_out_of_range_names_the_range_and_the_remedy() -> None:
    with pytest.raises(
        ValueError, match=r"^rewards must lie in \[-1, 5\], got 7\.0 at \[1\]; give"
    ):
        SCALE([0, 7])
    with pytest.raises(ValueError, match=r"^rewards must lie in \[-1, 5\], got 7\.0; give"):
        SCALE(7)


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (0, np.inf), (np.nan, 1)])
def test_an_empty_or_infinite_range_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="low and high must be finite, low below high"):
        bl.scaled_rewards(low, high)


@pytest.mark.parametrize(
    "refuse",
    [
        lambda: bl.Episode(1, [0, 0], [0], [5.0]).check(bl.Shape(1, 1, 1)),
        lambda: bl.Step(1, 0, 0, 0, 0, reward=5.0),
        lambda: bl.MDP.dense([[[1.0]]], [[5.0]], horizon=1),
        lambda: bl.Learner(
            bl.Shape(1, 1, 1), base="ucrl2", updater="active", rewards=[[5.0]], episodes=1
        ),
    ],
    ids=["episode", "step", "world", "known rewards"],
)
def test_rewards_outside_0_1_are_refused_with_a_pointer_to_scaled_rewards(refuse) -> None:
    with pytest.raises(ValueError, match=r"got 5\.0.*; .* bl\.scaled_rewards\(low, high\)\.$"):
        refuse()
