"""The heap of feedback in flight against sorted lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.simulation.compiled_queue import (
    CompiledQueue,
    empty_queue,
    enlarge,
    free_slot,
    has_arrived,
    is_full,
    pop,
    push,
)

pytestmark = pytest.mark.plain

STEPS = 3


def send(heap: CompiledQueue, number: int, arrival: int) -> CompiledQueue:
    """Return the heap with one more piece of feedback, whose content is derived from its number."""
    while is_full(heap, 1):
        heap = enlarge(heap)
    slot = free_slot(heap)
    heap.states[slot] = np.arange(STEPS + 1) + number
    heap.actions[slot] = np.arange(STEPS) + 2 * number
    if len(heap.rewards):
        heap.rewards[slot] = np.arange(STEPS) + number / 4
    push(heap, number, arrival)
    return heap


def receive(heap: CompiledQueue) -> tuple[int, int, int]:
    """Remove the first entry, check its content, and return its arrival, number and slot."""
    arrival, number = int(heap.arrival[0]), int(heap.number[0])
    slot = pop(heap)
    assert heap.states[slot].tolist() == [number + i for i in range(STEPS + 1)]
    assert heap.actions[slot].tolist() == [2 * number + i for i in range(STEPS)]
    if len(heap.rewards):
        assert heap.rewards[slot].tolist() == [number / 4 + i for i in range(STEPS)]
    return arrival, number, slot


@given(st.lists(st.integers(0, 9), max_size=80), st.booleans())
def test_entries_leave_by_arrival_then_number(delays: list[int], rewards: bool) -> None:
    heap = empty_queue(STEPS, rewards=rewards, capacity=1)
    for number, delay in enumerate(delays):
        heap = send(heap, number, number + delay)
    expected = sorted((number + delay, number) for number, delay in enumerate(delays))
    assert [receive(heap)[:2] for _ in delays] == expected
    assert heap.size[0] == 0


@given(st.lists(st.integers(0, 6) | st.none(), max_size=100))
def test_feedback_is_usable_from_the_episode_after_its_arrival(delays: list[int | None]) -> None:
    """One episode starts after the other; None is one whose feedback never arrives."""
    heap = empty_queue(STEPS, rewards=True, capacity=2)
    outstanding: list[tuple[int, int]] = []
    for k, delay in enumerate(delays, start=1):
        usable = sorted(entry for entry in outstanding if entry[0] < k)
        received = []
        while has_arrived(heap, k):
            received.append(receive(heap)[:2])
        assert received == usable
        outstanding = [entry for entry in outstanding if entry not in usable]
        if delay is not None:
            heap = send(heap, k, k + delay)
            outstanding.append((k + delay, k))
        assert heap.size[0] == len(outstanding)
        entries = zip(heap.arrival, heap.number, strict=True)
        assert sorted(list(entries)[: heap.size[0]]) == sorted(outstanding)


@pytest.mark.parametrize("delay", [0, 5, 40])
def test_memory_grows_with_the_feedback_outstanding_and_not_with_the_episodes(delay: int) -> None:
    heap = empty_queue(STEPS, rewards=True, capacity=1)
    for k in range(1, 1001):
        while has_arrived(heap, k):
            receive(heap)
        heap = send(heap, k, k + delay)
        assert heap.size[0] == min(k, delay + 1)
    capacity = len(heap.slot)
    assert delay + 1 <= capacity < 2 * (delay + 1)
