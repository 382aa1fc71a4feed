import numpy as np
import pytest

from belated.episode import Shape
from belated.mdp.chain import LEFT, RIGHT, chain


@pytest.mark.parametrize("S", [2, 5, 30])
def test_left_always_goes_back_and_right_goes_on_unless_it_slips(S):
    p = chain(S).transition_table()
    for s in range(S):
        expected = np.zeros((2, S))
        expected[LEFT, max(s - 1, 0)] = 1
        expected[RIGHT, max(s - 1, 0)] = 1 / S
        expected[RIGHT, min(s + 1, S - 1)] = 1 - 1 / S
        np.testing.assert_array_equal(p[:, s], np.broadcast_to(expected, (S, 2, S)))


def test_the_last_state_alone_pays_for_either_action_or_for_right_only():
    for reward_on, last in (("state", [1, 1]), ("state_right", [0, 1])):
        rewards = chain(4, reward_on=reward_on).reward_table()
        assert (rewards[:, :3] == 0).all()
        np.testing.assert_array_equal(rewards[:, 3], [last] * 4)


def test_a_chain_is_stored_once_starts_at_the_left_and_is_as_long_as_its_horizon():
    world = chain(5)
    assert world.homogeneous
    assert world.shape == Shape(5, 2, 5)
    np.testing.assert_array_equal(world.start, [1, 0, 0, 0, 0])
    assert chain(5, horizon=9).shape == Shape(5, 2, 9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"S": 1}, r"^S must be at least 2, got 1\.$"),
        ({"S": 5, "horizon": 0}, r"^horizon must be at least 1, got 0\.$"),
        (
            {"S": 5, "reward_on": "arrival"},
            r"^reward_on must be 'state' or 'state_right', got 'arrival'\.$",
        ),
    ],
)
def test_an_impossible_chain_raises_an_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        chain(**arguments)
