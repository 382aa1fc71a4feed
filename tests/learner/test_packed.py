"""Whole stages computed from packed counts have the same bits as rows computed one by one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.compiled import JIT
from belated.learner.backup import compile_batch
from belated.learner.counts import add, empty_counts, to_dense
from belated.learner.planning.packed import count_packed, empty_packed, pack_all, packed_width
from belated.learner.problem import LearningProblem
from belated.learner.state import (
    PLANS,
    LearnerState,
    configure,
    empty_state,
    plans_whole_stages,
    with_room_for,
)
from belated.learner.updating import absorb, make_plan
from belated.papers.howson2021.base import Published
from belated.worklist import clear, members

SHAPE = bl.Shape(5, 2, 4)
H, S, A = SHAPE.table
BASES = {
    "published": Published(ties="random"),
    "ubev": bl.UBEV(scale=0.1),
    "ubev span": bl.UBEV(range="span"),
    "ucbvi-ch": bl.UCBVI_CH(scale=0.1),
    "monotone": bl.UCBVI_BF(preset="two_term", monotone=True, scale=0.1),
    **{
        preset: bl.UCBVI_BF(preset=preset, scale=0.1)
        for preset in (
            "literal",
            "no_third",
            "two_term",
            "emp_bernstein",
            "simplified_bernstein",
        )
    },
}
needs_compiler = pytest.mark.skipif(not JIT, reason="plain Python computes no whole stages")


def make_problem(base: bl.Base, **options: Any) -> LearningProblem:
    rewards = np.random.default_rng(0).integers(0, 5, (S, A)) / 8
    given = {"shape": SHAPE, "updater": bl.Active(), "rewards": rewards, "episodes": 100, "seed": 7}
    return LearningProblem(base=base, **{**given, **options})


def random_steps(
    rng: np.random.Generator, count: int, successors: int, S: int = S, A: int = A
) -> tuple[Any, ...]:
    """Return steps whose rows have at most `successors` different successors."""
    states, actions = rng.integers(0, S, count), rng.integers(0, A, count)
    nexts = (states + actions + rng.integers(0, successors, count)) % S
    return rng.integers(0, H, count), states, actions, nexts


@needs_compiler
@pytest.mark.parametrize("successors", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("stages", ["each", "pooled"])
@pytest.mark.parametrize("name", BASES)
def test_plans_of_whole_stages_are_those_of_full_planning(
    name: str, stages: Any, successors: int
) -> None:
    problem = make_problem(BASES[name], stages=stages)
    assert plans_whole_stages(problem)
    config = configure(problem, 0)
    full = config._replace(incremental=False)
    rng = np.random.default_rng(successors)
    learners = [empty_state(problem), empty_state(problem)]
    rule = problem.backup_rule
    batch = compile_batch(rule.backup, rule.constants.size)  # type: ignore[arg-type]
    for count in (0, 1, 3, 20, 60):
        steps = random_steps(rng, count, successors)
        for i, setup in enumerate((config, full)):
            learners[i] = with_room_for(learners[i], count)
            assert absorb(setup, learners[i], 0, *steps, np.zeros(0), True, True) == count
            make_plan(batch, setup, learners[i], True, 0.0)
        one, other = learners
        for part in ("q", "v", "actions"):
            assert getattr(one.table, part).tobytes() == getattr(other.table, part).tobytes()


@needs_compiler
@pytest.mark.parametrize("successors", [2, 4])
@pytest.mark.parametrize(("states", "actions"), [(5, 2), (32, 2), (12, 3)])
@pytest.mark.parametrize(  # the scales are such that actions change
    ("base", "scale"),
    [("ubev", 0.03), ("ucbvi-ch", 0.003), ("two_term", 0.01), ("monotone", 0.01)],
)
def test_plans_from_a_few_new_observations_are_those_of_full_planning(
    base: str, scale: float, states: int, actions: int, successors: int
) -> None:
    shape = bl.Shape(states, actions, H)
    rewards = np.random.default_rng(0).integers(0, 5, (states, actions)) / 8
    base_used = replace(BASES[base], scale=scale)
    problem = make_problem(base_used, shape=shape, rewards=rewards)
    config, rule = configure(problem, 0), problem.backup_rule
    full = config._replace(incremental=False)
    batch = compile_batch(rule.backup, rule.constants.size)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    every_row = [each.ravel() for each in np.indices(shape.table)]
    nexts = (every_row[1] + every_row[2]) % states
    learners = [with_room_for(empty_state(problem), 5_000) for _ in range(2)]
    changes = 0
    for count in (0, *rng.integers(1, 6, 50), *rng.integers(1, 60, 50)):
        steps = (*every_row, nexts)
        if count:
            steps = random_steps(rng, count, successors, states, actions)
        before = learners[0].table.actions.copy()
        for learner, setup in zip(learners, (config, full), strict=True):
            absorb(setup, learner, 0, *steps, np.zeros(0), True, True)
            make_plan(batch, setup, learner, True, 0.0)
        one, other = (learner.table for learner in learners)
        for part in ("q", "v", "actions"):
            assert getattr(one, part).tobytes() == getattr(other, part).tobytes()
        changed = members(learners[0].changed)
        clear(learners[0].changed)
        if learners[0].numbers[PLANS] > 1:  # the first plan lists no changes
            assert set(np.flatnonzero(before != one.actions)) <= set(changed)
            changes += changed.size
    if plans_whole_stages(problem):
        assert packed_width(learners[0].scratch.packed, learners[0].counts) == successors
    assert changes > 0


def packed_learner(steps: tuple[Any, ...]) -> LearnerState:
    """Return a learner whose packed counts have followed `steps`."""
    problem = make_problem(bl.UCBVI_CH())
    state = with_room_for(empty_state(problem), steps[0].size)
    absorb(configure(problem, 0), state, 0, *steps, np.zeros(0), True, True)
    return state


@needs_compiler
@pytest.mark.parametrize("successors", [1, 2, 4])
def test_packed_counts_follow_the_observations(successors: int) -> None:
    state = packed_learner(random_steps(np.random.default_rng(1), 300, successors))
    packed, n, m = state.scratch.packed, *to_dense(SHAPE, state.counts)
    assert packed.n.tolist() == n.reshape(H, S * A).tolist()
    assert packed.unseen.tolist() == (n == 0).sum((1, 2)).tolist()
    for h, s, a in np.argwhere(n > 0):
        found = np.zeros(S, int)
        row = slice(s * A + a, None, S * A)
        np.add.at(found, packed.succ[h, row], packed.m[h, row])
        assert found.tolist() == m[h, s, a].tolist()


@needs_compiler
def test_copied_counts_are_those_that_followed_the_observations() -> None:
    state = packed_learner(random_steps(np.random.default_rng(2), 300, 3))
    copy = empty_packed(H, S * A)
    pack_all(copy, state.counts)
    for name in ("succ", "m", "n", "unseen"):
        found, expected = getattr(copy, name), getattr(state.scratch.packed, name)
        assert found.tobytes() == expected.tobytes()
    assert copy.valid[0]


@needs_compiler
def test_packed_counts_stay_in_their_memory_if_a_row_has_too_many_successors() -> None:
    steps = np.zeros(6, np.int64), np.zeros(6, np.int64), np.zeros(6, np.int64), np.arange(6) % S
    state = packed_learner(steps)
    assert packed_width(state.scratch.packed, state.counts) == 0
    assert not state.scratch.packed.m[1:].any()


@pytest.mark.parametrize(("successors", "width"), [(0, 2), (2, 2), (3, 4), (4, 4), (5, 0)])
def test_the_width_is_that_of_the_row_with_most_successors(successors: int, width: int) -> None:
    counts = empty_counts(SHAPE, 1)
    for y in range(successors):
        add(counts, 0, 0, 0, y, 1)
    assert packed_width(empty_packed(1, S * A), counts) == width
    assert packed_width(empty_packed(0, 0), counts) == 0


def test_counts_that_are_too_large_are_not_read_from_packed_counts() -> None:
    counts, packed = empty_counts(SHAPE, 1), empty_packed(1, S * A)
    for times, width in ((2**31 - 1, 2), (1, 0)):
        position = add(counts, 3, 0, 3 // A, 4, times)
        count_packed(packed, counts, 0, 3 // A, 3, position)
        assert packed_width(packed, counts) == width
    packed = empty_packed(1, S * A)
    pack_all(packed, counts)
    assert packed_width(packed, counts) == 0


def test_large_problems_with_a_table_for_each_step_are_planned_row_by_row() -> None:
    problem = LearningProblem(
        shape=bl.Shape(33, 2, 30), base=bl.UCBVI_CH(), updater=bl.Active(), episodes=100
    )
    assert not plans_whole_stages(problem)


@needs_compiler
def test_stages_are_planned_row_by_row_earlier_if_terms_are_stored() -> None:
    for base, expected in ((bl.UCBVI_CH(), True), (bl.UBEV(), False)):
        problem = LearningProblem(
            shape=bl.Shape(30, 2, 30), base=base, updater=bl.Active(), episodes=100
        )
        assert plans_whole_stages(problem) == expected


def test_stages_with_fewer_rows_than_a_block_are_planned_row_by_row() -> None:
    problem = LearningProblem(
        shape=bl.Shape(3, 2, 3), base=bl.UCBVI_CH(), updater=bl.Active(), episodes=100
    )
    assert not plans_whole_stages(problem)


@pytest.mark.parametrize("states", [4, 5, 6, 7, 9])
@pytest.mark.parametrize("stages", ["each", "pooled"])
def test_blocks_of_rows_that_overlap_or_are_not_reached_change_no_result(
    stages: Any, states: int
) -> None:
    base, world = bl.UCBVI_BF(preset="two_term", scale=0.05), bl.chain(states)
    auto, rows = (
        bl.simulate(
            world, base=base, updater="active", episodes=300, stages=stages, planning=planning
        )
        for planning in ("auto", "full")
    )
    assert auto.regret.tobytes() == rows.regret.tobytes()


@pytest.mark.parametrize("actions", [2, 3])
def test_actions_that_are_not_chosen_where_states_are_explored_change_no_result(
    actions: int,
) -> None:
    world = bl.garnet(7, actions, horizon=6, branching=2, seed=3)
    auto, rows = (
        bl.simulate(
            world,
            base=Published(ties="random"),
            updater=bl.ExplicitExploration(threshold=40),
            delay="geometric:5",
            episodes=400,
            stages="pooled",
            planning=planning,
        )
        for planning in ("auto", "full")
    )
    assert auto.regret.tobytes() == rows.regret.tobytes()
    assert 0 < auto.last_explored < 400


def test_incremental_planning_computes_no_whole_stages() -> None:
    assert not plans_whole_stages(make_problem(bl.UCBVI_CH(), planning="incremental"))


@pytest.mark.parametrize("base", [bl.UCRL2B(scale=0.1), bl.KL_UCRL(scale=0.1)])
def test_terms_of_a_row_are_computed_again_when_its_count_changes(base: bl.Base) -> None:
    problem = make_problem(base)
    config, rule = configure(problem, 0), problem.backup_rule
    batch = compile_batch(rule.backup, rule.constants.size)  # type: ignore[arg-type]
    steps = random_steps(np.random.default_rng(0), 200, 2)
    often, once = (with_room_for(empty_state(problem), 200) for _ in range(2))
    for first in range(0, 200, 20):
        part = [each[first : first + 20] for each in steps]
        absorb(config, often, 0, *part, np.zeros(0), True, True)
        make_plan(batch, config, often, True, 0.0)
    absorb(config, once, 0, *steps, np.zeros(0), True, True)
    make_plan(batch, config, once, True, 0.0)
    assert often.table.q.tobytes() == once.table.q.tobytes()
    assert len(np.unique(often.counts.n)) > 3


def test_a_backup_that_is_not_declared_elementwise_is_computed_row_by_row() -> None:
    assert not plans_whole_stages(make_problem(bl.KL_UCRL(), stages="pooled"))
