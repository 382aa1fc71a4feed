"""The queue delivers each episode at the first k with i + tau < k, in order of arrival."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belated.delays import NEVER, Queue
from belated.episode import Episode

DELAYS = st.lists(st.integers(0, 12) | st.just(NEVER), min_size=1, max_size=30)


def blank(i: int) -> Episode:
    return Episode(i, states=[0, 0], actions=[0])


def deliveries(delays: list[int], until: int) -> list[list[int]]:
    """Return the ids that arrive at the start of each episode 1 .. until."""
    queue = Queue()
    arrived = []
    for k in range(1, until + 1):
        arrived.append([episode.id for episode in queue.due(k)])
        if k <= len(delays):
            queue.push(blank(k), delays[k - 1])
    return arrived


@settings(max_examples=100, deadline=None)
@given(DELAYS)
def test_an_episode_is_delivered_once_and_when_it_is_first_usable(delays: list[int]) -> None:
    arrived = deliveries(delays, until=len(delays) + 14)
    for k, ids in enumerate(arrived, start=1):
        due = [i for i, tau in enumerate(delays, start=1) if i + tau == k - 1]
        assert ids == due


@settings(max_examples=100, deadline=None)
@given(DELAYS, st.integers(1, 60))
def test_late_collection_keeps_the_order_of_arrival(delays: list[int], k: int) -> None:
    queue = Queue()
    for i, tau in enumerate(delays, start=1):
        queue.push(blank(i), tau)
    ids = [episode.id for episode in queue.due(k)]
    usable = [(i + tau, i) for i, tau in enumerate(delays, start=1) if i + tau < k]
    assert ids == [i for _, i in sorted(usable)]


def test_what_never_returns_is_missing_but_not_stored() -> None:
    queue = Queue()
    queue.push(blank(1), NEVER)
    queue.push(blank(2), 3)
    assert (queue.missing, len(queue)) == (2, 1)
    assert [episode.id for episode in queue.due(2**61)] == [2]
    assert (queue.missing, len(queue)) == (1, 0)
    assert queue.due(2**63) == []


def test_a_negative_delay_raises_an_error() -> None:
    with pytest.raises(ValueError, match=r"^delay of episode 4 must be at least 0, got -1.$"):
        Queue().push(blank(4), -1)
