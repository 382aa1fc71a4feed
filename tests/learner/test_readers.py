"""Sets of rows as bits give the same rows as linked lists."""

from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.counts import to_dense
from belated.learner.planning.readers import MAX_MASK_ROWS, add_readers, empty_readers
from belated.learner.planning.stale import list_stale
from belated.learner.problem import LearningProblem
from belated.learner.state import LearnerState, configure, empty_state, with_room_for
from belated.learner.updating import absorb
from belated.worklist import clear


def observe(
    state: LearnerState, problem: LearningProblem, rng: np.random.Generator, count: int
) -> LearnerState:
    """Add `count` random steps to a learner; return it with the capacity for them."""
    H, S, A = problem.shape.table
    state = with_room_for(state, count)
    steps: list[Any] = [rng.integers(0, size, count) for size in (H, S, A, S)]
    absorb(configure(problem, 0), state, 0, *steps, np.zeros(0), True, True)
    return state


def make_problem(shape: bl.Shape, stages: str) -> LearningProblem:
    return LearningProblem(
        shape=shape, base=bl.Chi2_UCRL(), updater=bl.Active(), episodes=100, stages=stages
    )


@pytest.mark.plain
@pytest.mark.parametrize("stages", ["each", "pooled"])
@pytest.mark.parametrize(("states", "actions"), [(5, 2), (32, 2), (64, 1)])
def test_stale_rows_are_those_of_the_linked_lists(states: int, actions: int, stages: str) -> None:
    shape, rng = bl.Shape(states, actions, 3), np.random.default_rng(states)
    problem = make_problem(shape, stages)
    state = observe(empty_state(problem), problem, rng, 40)
    clear(state.touched)
    state = observe(state, problem, rng, 5)
    scratch = state.scratch
    add_readers(scratch.readers, state.counts)
    lists = scratch._replace(readers=empty_readers(problem.count_stages, MAX_MASK_ROWS + 1, 1))
    scratch.levels[:] = rng.random(scratch.levels.shape)
    largest = 0
    for moved in (0, 1, states // 2, states):
        for h, highest in ((0, -1.0), (1, 0.1), (1, 2.0), (2, 0.5)):
            scratch.moved[:moved] = rng.permutation(states)[:moved]
            visits = h < shape.horizon - 1
            given = state.counts, state.touched, visits, h, moved, highest
            listed = list_stale(scratch, *given)
            found = scratch.rows[:listed].tolist()
            scratch.stamp[0] += 1
            expected = lists.rows[: list_stale(lists, *given)].tolist()
            assert found == sorted(expected)
            largest = max(largest, *found, 0)
    assert largest == states * actions - 1


@pytest.mark.plain
@pytest.mark.parametrize("stages", ["each", "pooled"])
def test_sets_have_the_rows_with_the_state_as_a_successor(stages: str) -> None:
    shape, rng = bl.Shape(32, 2, 3), np.random.default_rng(1)
    problem = make_problem(shape, stages)
    state = empty_state(problem)
    readers = state.scratch.readers
    for _ in range(3):  # each call adds what is new
        state = observe(state, problem, rng, 150)
        add_readers(readers, state.counts)
        found = readers.rows[:, :, None] >> np.arange(64) & 1
        m = to_dense(shape, state.counts)[1].reshape(-1, 64, 32)
        assert found.tolist() == (np.moveaxis(m, 1, 2) > 0).tolist()
    assert (readers.rows < 0).any()  # row 63 is among them
    whole = empty_readers(problem.count_stages, 64, 32)  # as after a snapshot
    add_readers(whole, state.counts)
    assert whole.rows.tobytes() == readers.rows.tobytes()


def test_large_stages_have_no_sets() -> None:
    state = empty_state(make_problem(bl.Shape(33, 2, 3), "each"))
    assert state.scratch.readers.rows.shape == (3, 0)


@pytest.mark.parametrize(
    "base",
    [
        "ubev:scale=0.03",
        "ucrl2:scale=0.03",
        "ucrl2b:scale=0.03",
        "kl-ucrl:scale=0.03",
        "chi2-ucrl:scale=0.00003",
        "ucbvi-bf:scale=0.0003",
    ],
)
@pytest.mark.parametrize("states", [32, 33])
def test_plans_are_the_same_with_and_without_sets(base: str, states: int) -> None:
    runs = [
        bl.simulate(
            f"garnet-{states}-2-3-4-20",
            base=base,
            updater=bl.Active(),
            delay="geometric:5",
            episodes=300,
            planning=planning,
            trace=True,
        )
        for planning in ("incremental", "full")
    ]
    assert runs[0].policies is not None
    assert len(np.unique(runs[0].policies, axis=0)) > 10
    assert runs[0].policies.tobytes() == runs[1].policies.tobytes()
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()
