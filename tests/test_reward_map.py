import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.reward_map import Affine

NUMBERS = st.floats(-1e6, 1e6)


def test_a_value_is_shifted_once_for_each_of_its_steps():
    assert Affine(30.0, -10.0).original(5.0, steps=10) == 30 * 5 - 10 * 10
    assert Affine(30.0, -10.0).unit(50.0, steps=10) == 5.0


@given(st.lists(NUMBERS, min_size=1))
def test_rewards_are_mapped_into_the_unit_interval_and_back(rewards):
    found = Affine.onto(min(rewards), max(rewards))
    for reward in rewards:
        assert 0 <= found.unit(reward) <= 1
        assert found.original(found.unit(reward)) == pytest.approx(reward, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.25, 0.5), (1, 1)])
def test_rewards_in_the_unit_interval_stay_as_they_are(low, high):
    assert Affine.onto(low, high) == Affine()


def test_a_reward_that_never_changes_becomes_0():
    assert Affine.onto(-1, -1) == Affine(1.0, -1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Affine(0), r"^scale must be above 0, got 0\.0\.$"),
        (lambda: Affine(1, math.nan), r"^shift must be a finite number, got nan\.$"),
        (
            lambda: Affine.onto(2, 1),
            r"^low and high must be finite, low at most high, got 2, 1\.$",
        ),
        (
            lambda: Affine.onto(0, math.inf),
            r"^low and high must be finite, low at most high, got 0, inf\.$",
        ),
    ],
)
def test_an_impossible_map_raises_an_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()
