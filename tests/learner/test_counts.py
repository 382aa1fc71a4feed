"""Counts: sparse, growable, and never an S x S block."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.compiled import kernel
from belated.learner.instance import to_dense
from belated.learner.state import Counts, add, empty_counts, has_room, with_room
from random_problems import dense_counts, random_episodes

ICU = bl.Shape(states=716, actions=25, horizon=20)
SMALL = bl.Shape(states=2, actions=2, horizon=2)
LIMIT = 500e6


@kernel
def add_steps(counts: Counts, rows: Any, states: Any, successors: Any) -> int:
    """Count transitions while there is room; returns how many were counted."""
    stage_rows = counts.n.size // counts.visits.shape[0]
    for i in range(rows.size):
        if not has_room(counts, 1):
            return i
        add(counts, rows[i], rows[i] // stage_rows, states[i], successors[i], 1)
    return rows.size


def add_episode(counts: Counts, states: Any, actions: Any, rows: Any) -> None:
    """Count one episode; `rows` becomes the rows it touched."""
    stages, S = counts.visits.shape
    A = counts.n.size // (stages * S)
    stage = np.arange(actions.size) if stages > 1 else 0
    rows[:] = (stage * S + states[:-1]) * A + actions
    assert add_steps(counts, rows, states[:-1], states[1:]) == rows.size


def counted(shape: bl.Shape, episodes: list[bl.Episode], stages: int) -> tuple[Counts, list[Any]]:
    """Counts of the episodes, and the rows that each touched."""
    counts = empty_counts(shape, stages)
    touched = []
    for episode in episodes:
        rows = np.zeros(shape.horizon, np.int64)
        counts = with_room(counts, shape.horizon)
        add_episode(counts, episode.states, episode.actions, rows)
        touched.append(rows.tolist())
    return counts, touched


def successors(counts: Counts, row: int) -> tuple[list[int], list[int]]:
    block = slice(counts.start[row], counts.start[row] + counts.size[row])
    return counts.succ[block].tolist(), counts.m[block].tolist()


@st.composite
def stories(draw: st.DrawFn) -> tuple[bl.Shape, list[bl.Episode]]:
    shape = bl.Shape(draw(st.integers(1, 12)), draw(st.integers(1, 3)), draw(st.integers(1, 4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return shape, random_episodes(rng, shape, draw(st.integers(0, 60)))


@settings(max_examples=30, deadline=None)
@given(stories())
def test_counts_are_what_a_dense_array_would_hold(story: Any) -> None:
    shape, episodes = story
    H, S, A = shape.table
    n, m = dense_counts(shape, episodes)
    counts, touched = counted(shape, episodes, H)
    for mine, expected in zip(to_dense(shape, counts), (n, m), strict=True):
        np.testing.assert_array_equal(mine, expected)
    np.testing.assert_array_equal(counts.visits, n.sum(axis=2))
    for episode, rows in zip(episodes, touched, strict=True):
        assert rows == [(h * S + episode.states[h]) * A + episode.actions[h] for h in range(H)]


@pytest.mark.plain
def test_one_row_may_grow_to_every_successor() -> None:
    shape = bl.Shape(300, 1, 1)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(300), 3))
    episodes = [bl.Episode(i, states=[7, y], actions=[0]) for i, y in enumerate(order)]
    counts, _ = counted(shape, episodes, 1)
    assert successors(counts, 7) == (list(range(300)), [3] * 300)
    assert counts.n[7] == counts.visits[0, 7] == 900


def random_steps(rng: np.random.Generator, count: int) -> tuple[Any, Any]:
    H, S, A = ICU.table
    return rng.integers(0, S, (count, H + 1)), rng.integers(0, A, (count, H))


@contextmanager
def traced() -> Iterator[list[int]]:
    """Fills in the most memory that was ever held inside."""
    peak: list[int] = []
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


@pytest.mark.compiled
def test_a_learner_of_a_hospital_stays_small() -> None:
    rewards = np.random.default_rng(6).random(ICU.table)
    states, actions = random_steps(np.random.default_rng(7), 5000)
    options: dict[str, Any] = {"base": bl.UCBVI_BF(), "updater": bl.Lazy(1), "episodes": 20_000}
    small = bl.Learner(SMALL, rewards=np.zeros(SMALL.table), **options)
    small.observe([bl.Episode(1, [0, 0, 0], [0, 0])])  # compiles, which is slow when traced
    with traced() as peak:
        learner = bl.Learner(ICU, rewards=rewards, **options)
        for ids in np.array_split(np.arange(5000), 10):
            learner.observe([bl.Episode(int(i), states[i], actions[i]) for i in ids])
    assert (learner.observed, learner.updates) == (5000, 10)
    assert 20e6 < peak[0] < LIMIT
