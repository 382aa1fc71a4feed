"""Who plays when each episode needs an instance that waits for nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belated.delays import NEVER, geometric
from belated.theory import instances, owners

DELAYS = st.lists(st.integers(0, 15) | st.just(NEVER), max_size=40)


def played_by(delays: list[int]) -> list[int]:
    """The definition: each instance is asked, lowest first, whether its episodes are all back."""
    owner: list[int] = []
    for k in range(1, len(delays) + 1):
        busy = {owner[i - 1] for i in range(1, k) if i + delays[i - 1] >= k}
        owner.append(min(set(range(k)) - busy))
    return owner


@settings(deadline=None)
@given(DELAYS)
def test_the_lowest_free_instance_plays(delays: list[int]) -> None:
    assert owners(delays).tolist() == played_by(delays)


@settings(deadline=None)
@given(DELAYS)
def test_as_many_instances_are_made_as_the_most_missing_and_one(delays: list[int]) -> None:
    assert len(set(owners(delays).tolist())) == instances(delays)


@pytest.mark.parametrize("m", [0, 1, 4])
def test_constant_delay_takes_its_instances_in_turn(m: int) -> None:
    delays = [m] * 20
    assert instances(delays) == m + 1
    assert owners(delays).tolist() == [i % (m + 1) for i in range(20)]


def test_far_fewer_instances_are_made_than_the_largest_delay() -> None:
    delays = geometric(20).draw(seed=1, episodes=2000)
    assert instances(delays) == owners(delays).max() + 1
    assert instances(delays) < (delays.max() + 1) / 2


def test_an_instance_whose_feedback_never_returns_is_not_used_again() -> None:
    assert owners([NEVER, 0, 0]).tolist() == [0, 1, 1]
    assert instances([NEVER] * 5) == 5


def test_no_episodes_need_no_instance() -> None:
    assert instances([]) == 0
    assert owners([]).tolist() == []
    assert owners([]).dtype == np.int64


def test_a_negative_delay_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^delays must be at least 0, got -1"):
        owners([0, -1])
