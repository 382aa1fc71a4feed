"""The queue of feedback in flight against sorted lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.simulation.engine import CompiledQueue, empty_queue, enlarge, pop, push
from belated.worklist import END

pytestmark = pytest.mark.plain

STEPS = 3


def send(queue: CompiledQueue, number: int, arrival: int) -> CompiledQueue:
    """Return the queue with more feedback, whose content is derived from its number."""
    while queue.free[1] == 0:
        queue = enlarge(queue)
    slot = push(queue, number, arrival)
    queue.states[slot] = np.arange(STEPS + 1) + number
    queue.actions[slot] = np.arange(STEPS) + 2 * number
    if len(queue.rewards):
        queue.rewards[slot] = np.arange(STEPS) + number / 4
    return queue


def receive(queue: CompiledQueue, arrival: int) -> list[tuple[int, int]]:
    """Remove all feedback with this arrival, check its content, and return arrivals and numbers."""
    found = []
    while queue.first[arrival] != END:
        slot = pop(queue, arrival)
        number = int(queue.number[slot])
        assert queue.states[slot].tolist() == [number + i for i in range(STEPS + 1)]
        assert queue.actions[slot].tolist() == [2 * number + i for i in range(STEPS)]
        if len(queue.rewards):
            assert queue.rewards[slot].tolist() == [number / 4 + i for i in range(STEPS)]
        found.append((arrival, number))
    return found


@given(st.lists(st.integers(0, 9), max_size=80), st.booleans())
def test_feedback_leaves_by_arrival_then_number(delays: list[int], rewards: bool) -> None:
    queue = empty_queue(90, STEPS, rewards=rewards, capacity=1)
    for number, delay in enumerate(delays):
        queue = send(queue, number, number + delay)
    expected = sorted((number + delay, number) for number, delay in enumerate(delays))
    assert [entry for arrival in range(90) for entry in receive(queue, arrival)] == expected
    assert queue.free[1] == queue.after.size


@given(st.lists(st.integers(0, 6) | st.none(), max_size=100))
def test_slots_are_used_again_while_other_feedback_is_in_flight(delays: list[int | None]) -> None:
    """One episode starts after the other; None is one whose feedback never arrives."""
    queue = empty_queue(110, STEPS, rewards=True, capacity=2)
    outstanding: list[tuple[int, int]] = []
    for k, delay in enumerate(delays, start=1):
        usable = sorted(entry for entry in outstanding if entry[0] < k)
        assert receive(queue, k - 1) == usable
        outstanding = [entry for entry in outstanding if entry not in usable]
        if delay is not None:
            queue = send(queue, k, k + delay)
            outstanding.append((k + delay, k))
        assert queue.after.size - queue.free[1] == len(outstanding)


@pytest.mark.parametrize("delay", [0, 5, 40])
def test_slots_grow_with_the_feedback_in_flight_and_not_with_the_episodes(delay: int) -> None:
    queue = empty_queue(1041, STEPS, rewards=True, capacity=1)
    for k in range(1, 1001):
        receive(queue, k - 1)
        queue = send(queue, k, k + delay)
    assert delay + 1 <= queue.after.size < 2 * (delay + 1)
