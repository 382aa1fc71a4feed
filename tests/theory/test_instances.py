"""Tests of the number of instances and their assignment to episodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belated.delays import NEVER
from belated.theory import missing, owners

DELAYS = st.lists(st.integers(0, 15) | st.just(NEVER), max_size=40)


def played_by(delays: list[int]) -> list[int]:
    """Return the owners by definition: the lowest instance without an episode in flight."""
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
def test_the_number_of_instances_is_one_more_than_the_most_missing(delays: list[int]) -> None:
    assert len(set(owners(delays).tolist())) == 1 + max(missing(delays), default=-1)


def test_an_instance_whose_feedback_never_arrives_is_not_used_again() -> None:
    assert owners([NEVER, 0, 0]).tolist() == [0, 1, 1]


def test_no_episodes_need_no_instance() -> None:
    assert owners([]).tolist() == []
    assert owners([]).dtype == np.int64


def test_a_negative_delay_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^delays must be at least 0, got -1"):
        owners([0, -1])
