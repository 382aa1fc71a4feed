"""Incremental planning, kernel by kernel: the same bits as planning all, from fewer backups."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.compiled import JIT
from belated.learner.backup import Backup, cap, compile_batch, mean
from belated.learner.bases import BackupRule
from belated.learner.planning.full import choose, find_extremes, first_best, order_states, plan_all
from belated.learner.planning.incremental import (
    choose_actions,
    plan_changes,
    store_changed,
    survey_values,
)
from belated.learner.planning.readers import MAX_MASK_ROWS, empty_readers
from belated.learner.planning.stale import list_row
from belated.learner.problem import LearningProblem
from belated.learner.state import (
    PLANS,
    READS,
    Config,
    LearnerState,
    configure,
    empty_scratch,
    empty_state,
    empty_table,
    with_room_for,
)
from belated.learner.updating import absorb, make_plan
from belated.worklist import clear, members, put

pytestmark = pytest.mark.plain

SHAPE = bl.Shape(4, 2, 4)
H, S, A = SHAPE.table
NO_REWARDS = np.zeros(0)


@bl.backup
def reading(constants, stage, row):
    """Read as much as the constants say: READS.index of the values, and 1 for the visits."""
    kind, visits, bonus = constants[0], constants[1], constants[2]
    if row.n == 0:
        value = row.reward + (stage.top if kind >= 1 else stage.horizon - stage.h - 1.0)
        return min(cap(stage), value)
    value = row.reward + bonus / np.sqrt(row.n)
    for j in range(row.lo, row.hi):
        value += row.m[j] * stage.v[row.succ[j]] / row.n
        if visits > 0:
            value += bonus / (1.0 + stage.visits[row.succ[j]])
    if kind >= 1:
        value += 0.125 * stage.top
    if kind == 2 or kind >= 4:
        value -= 0.125 * stage.low
    if kind >= 3:
        for y in range(stage.v.size):
            if kind >= 4 or stage.v[y] >= mean(stage, row):
                value += 0.0625 * stage.v[y]
    if kind >= 5:
        value += 0.0625 * stage.order[0]
    return min(cap(stage), value)


@dataclass(frozen=True)
class Reader(bl.Base):
    """A base that reads as much as `reads` and `visits` say, and declares it."""

    reads: str = "successors"
    visits: bool = False
    bonus: float = 0.25

    name = "reader"

    def backup_rule(self, shape, episodes):
        constants = np.array([READS.index(self.reads), self.visits, self.bonus])
        return BackupRule(reading, constants, reads=self.reads, reads_visits=self.visits)


def make_problem(base: bl.Base, *, shape: bl.Shape = SHAPE, **options: Any) -> LearningProblem:
    """Return a problem whose rewards are multiples of 1/8, so that actions are often tied."""
    rewards = np.random.default_rng(0).integers(0, 5, shape.table) / 8
    given = {"updater": bl.Active(), "rewards": rewards, "episodes": 100, "seed": 7, **options}
    return LearningProblem(shape=shape, base=base, **given)


def batch_of(problem: LearningProblem) -> Any:
    rule = problem.backup_rule
    assert isinstance(rule.backup, Backup)
    return compile_batch(rule.backup, rule.constants.size)


def random_steps(rng: np.random.Generator, count: int) -> tuple[Any, ...]:
    """Return steps, states, actions and successors, some much more frequent than others."""
    states = np.minimum(rng.geometric(0.5, (2, count)) - 1, S - 1)
    return rng.integers(0, H, count), states[0], rng.integers(0, A, count), states[1]


def feed(
    config: Config, state: LearnerState, steps: tuple[Any, ...], rewards: Any = NO_REWARDS
) -> LearnerState:
    """Return the state after all steps are absorbed, with their rewards."""
    count = len(steps[0])
    state = with_room_for(state, count)
    assert absorb(config, state, 0, *steps, rewards, True, True) == count
    return state


def differences(config: Config, one: LearnerState, other: LearnerState) -> list[str]:
    """Return the parts of two tables that are not the same bits, of those the base may read."""
    names = ["q", "v", "actions"]
    names += ["top", "low"] * (config.reads >= READS.index("best"))
    names += ["order"] * (config.reads == READS.index("order"))
    return [
        name
        for name in names
        if getattr(one.table, name).tobytes() != getattr(other.table, name).tobytes()
    ]


def plan_both_ways(problem: LearningProblem, true_problem: LearningProblem) -> list[str]:
    """Return how tables planned from changes and from nothing differ after random feedback.

    `true_problem` has the same backup and declares all that it reads.
    """
    rng = np.random.default_rng(1)
    config, batch = configure(problem, 0), batch_of(problem)
    true_config = configure(true_problem, 0)
    state, full = empty_state(problem), empty_state(problem)
    found: set[str] = set()
    plan_all(batch, config, state, 0)
    plan_all(batch, true_config, full, 0)
    for plan in range(1, 30):
        state = feed(config, state, random_steps(rng, int(rng.choice([1, 1, 2, 50]))))
        touched, before = members(state.touched), state.table.actions.copy()
        plan_changes(batch, config, state, plan)
        full = full._replace(counts=state.counts)
        plan_all(batch, true_config, full, plan)
        found |= set(differences(config, state, full))
        # the worklists are as documented: touched is only read, changed holds the new actions
        np.testing.assert_array_equal(members(state.touched), touched)
        new = np.flatnonzero(state.table.actions != before)
        np.testing.assert_array_equal(members(state.changed), new)
        for h, cell in enumerate(state.changed.head):
            assert cell == -1 or cell // S == h
        clear(state.touched)
        clear(state.changed)
    return sorted(found)


VARIANTS: dict[str, dict[str, Any]] = {
    "each": {},
    "pooled": {"stages": "pooled"},
    "random ties": {"ties": "random"},
    "monotone": {"monotone": True},
    "all": {"stages": "pooled", "ties": "random", "monotone": True},
}


def problem_of(variant: str, **reads: Any) -> LearningProblem:
    options = dict(VARIANTS[variant])
    stages = options.pop("stages", "each")
    return make_problem(Reader(**options, **reads), stages=stages)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("visits", [False, True], ids=["", "visits"])
@pytest.mark.parametrize("reads", READS)
def test_planning_changes_gives_the_bits_of_planning_all(
    reads: str, visits: bool, variant: str
) -> None:
    problem = problem_of(variant, reads=reads, visits=visits)
    assert plan_both_ways(problem, problem) == []


@pytest.mark.parametrize(
    ("reads", "visits"), [*((reads, False) for reads in READS[1:]), *((r, True) for r in READS)]
)
def test_the_comparison_notices_a_base_that_reads_more_than_it_declares(
    reads: str, visits: bool
) -> None:
    class Undeclared(Reader):
        def backup_rule(self, shape, episodes):
            rule = super().backup_rule(shape, episodes)
            if self.visits:
                return rule._replace(reads_visits=False)
            return rule._replace(reads=READS[READS.index(rule.reads) - 1])

    options = {"reads": reads, "visits": visits}
    problem, true_problem = (make_problem(base(**options)) for base in (Undeclared, Reader))
    assert "q" in plan_both_ways(problem, true_problem)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("scale", [0.0, 0.003, 0.03])
@pytest.mark.parametrize("base", [bl.UCRL2B, bl.Chi2_UCRL])
def test_planning_rows_by_their_levels_gives_the_bits_of_planning_all(
    base: type[bl.Base], scale: float, variant: str
) -> None:
    options = dict(VARIANTS[variant])
    stages = options.pop("stages", "each")
    problem = make_problem(base(scale=scale, **options), stages=stages)
    if JIT:  # UCRL2B has no levels in plain Python
        assert empty_state(problem).scratch.levels.shape == (H, S * A)
    assert plan_both_ways(problem, problem) == []


def test_random_ties_are_drawn_again_for_every_plan() -> None:
    problem = make_problem(Reader(ties="random"), rewards=np.full((S, A), 0.5))
    config, batch = configure(problem, 0), batch_of(problem)
    state = empty_state(problem)
    plan_all(batch, config, state, 0)
    drawn = set()
    for plan in range(1, 9):
        before = state.table.actions.copy()
        plan_changes(batch, config, state, plan)
        np.testing.assert_array_equal(
            members(state.changed), np.flatnonzero(state.table.actions != before)
        )
        clear(state.changed)
        drawn.add(state.table.actions.tobytes())
    assert len(drawn) == 8
    assert (state.table.q == state.table.q[:, :1]).all()  # no value depends on the draw


# How far a change propagates


def chain_problem(**options: Any) -> LearningProblem:
    """Return a problem without bonuses, in which an observed row is worth its rewards."""
    return make_problem(Reader(bonus=0.0), rewards=np.full((S, A), 0.5), **options)


CHAIN = tuple(np.array(x) for x in ([0, 1, 2, 3], [0, 1, 2, 3], [0, 0, 0, 0], [1, 2, 3, 0]))
"""Step h in state h with action 0, and on to the next state."""


def planned_chain(problem: LearningProblem, *, actions: int = 1) -> LearnerState:
    """Return the state planned from one step along the chain for each of some actions."""
    config, batch = configure(problem, 0), batch_of(problem)
    state = empty_state(problem)
    steps, states, first, successors = CHAIN
    for action in range(actions):
        state = feed(config, state, (steps, states, first + action, successors))
    plan_all(batch, config, state, 0)
    clear(state.touched)
    return state


def without_readers(problem: LearningProblem, state: LearnerState) -> LearnerState:
    """Return `state` without sets of rows as bits, as in a large world."""
    no_readers = empty_readers(problem.count_stages, MAX_MASK_ROWS + 1, S)
    return state._replace(scratch=state.scratch._replace(readers=no_readers))


def backed_up(problem: LearningProblem, state: LearnerState) -> dict[int, set[int]]:
    """Plan, and return the rows that were listed by the step at which they were last listed.

    The sets of rows as bits leave no stamps; they are not used here. See test_readers.py.
    """
    state = without_readers(problem, state)
    before = int(state.scratch.stamp[0])
    plan_changes(batch_of(problem), configure(problem, 0), state, 1)
    assert state.scratch.stamp[0] == before + H  # one stamp for each step, the last step first
    return {
        h: set(np.flatnonzero(state.scratch.row_stamp == before + H - h).tolist()) for h in range(H)
    }


def test_without_feedback_nothing_is_backed_up() -> None:
    problem = chain_problem()
    assert backed_up(problem, planned_chain(problem)) == {h: set() for h in range(H)}


def test_an_unchanged_value_stops_the_propagation() -> None:
    problem = chain_problem()
    state = planned_chain(problem)
    # the same steps again: the row at the last step keeps its value of 0.5
    state = feed(configure(problem, 0), state, tuple(x[-1:] for x in CHAIN))
    assert backed_up(problem, state) == {3: {3 * A}, 2: set(), 1: set(), 0: set()}


def test_a_changed_value_reaches_the_rows_that_lead_to_it_and_no_others() -> None:
    problem = chain_problem()
    state = planned_chain(problem, actions=2)
    state.rewards[3, 3 * A] = 1.0
    put(state.touched, 3, (3 * S + 3) * A)
    v = state.table.v.copy()
    assert backed_up(problem, state) == {3: {6}, 2: {4, 5}, 1: {2, 3}, 0: {0, 1}}
    higher = np.zeros((H + 1, S))
    for h in range(H):
        higher[h, h] = 0.5
    np.testing.assert_array_equal(state.table.v - v, higher)


def test_a_change_below_the_maximum_stops_at_its_state() -> None:
    """The other actions of the states before are unobserved, and worth more."""
    problem = chain_problem()
    state = planned_chain(problem)
    v = state.table.v.copy()
    q = state.table.q[2, 2 * A]
    assert q < state.table.q[2, 2 * A + 1]
    state.rewards[2, 2 * A] = 0.25
    put(state.touched, 2, (2 * S + 2) * A)
    assert backed_up(problem, state) == {3: set(), 2: {2 * A}, 1: set(), 0: set()}
    assert state.table.q[2, 2 * A] == q - 0.25
    np.testing.assert_array_equal(state.table.v, v)


def test_a_change_of_visits_reaches_the_rows_that_lead_to_the_state() -> None:
    for visits, expected in ((False, set()), (True, {2 * A})):
        problem = make_problem(Reader(bonus=0.0, visits=visits), rewards=np.full((S, A), 0.5))
        state = planned_chain(problem)
        state = feed(configure(problem, 0), state, tuple(x[-1:] for x in CHAIN))
        assert backed_up(problem, state) == {3: {3 * A}, 2: expected, 1: set(), 0: set()}


@pytest.mark.parametrize(("reads", "count"), [("best", S * A), ("successors", 1)])
def test_a_new_maximum_concerns_every_row_of_the_step_before(reads: str, count: int) -> None:
    problem = make_problem(Reader(reads=reads, bonus=0.0), rewards=np.full((S, A), 0.5))
    state = planned_chain(problem)
    state.rewards[3, 3 * A : 4 * A] = 1.0
    for action in range(A):
        put(state.touched, 3, (3 * S + 3) * A + action)
    state.scratch.out[:] = np.nan
    backed_up(problem, state)
    # the last step backs up two rows into the first entries, the step before all rows or one
    assert np.isfinite(state.scratch.out).sum() == max(count, 2)


def test_a_change_concerns_the_rows_whose_mean_is_not_above_it() -> None:
    """The row of state 2 leads to state 3, which is worth 0.5 at the last step."""
    rewards = np.full((H, S, A), 0.5)
    rewards[3, 0], rewards[3, 1], rewards[3, 2] = 0.25, 0.625, 0.75
    problem = make_problem(Reader(reads="above", bonus=0.0), rewards=rewards)
    for state_changed, expected in ((0, set()), (1, {2 * A})):
        state = planned_chain(problem)
        for row in range(S * A):  # computes the means of all rows of step 2
            put(state.touched, 2, 2 * S * A + row)
        backed_up(problem, state)
        clear(state.touched)
        row = state_changed * A
        state.rewards[3, row : row + A] += 0.125
        for action in range(A):
            put(state.touched, 3, 3 * S * A + row + action)
        assert backed_up(problem, state)[2] == expected


# The operations of a learner


@pytest.mark.parametrize("late", ["everything", "rewards"])
@pytest.mark.parametrize("stages", ["each", "pooled"])
@pytest.mark.parametrize("reads", ["successors", "best", "order"])
def test_an_incremental_learner_with_unknown_rewards_plans_what_a_full_one_does(
    reads: str, stages: Any, late: Any
) -> None:
    rng = np.random.default_rng(2)
    options: dict[str, Any] = {"stages": stages, "late": late, "rewards": None}
    base = Reader(reads=reads, visits=True, scale=0.05)
    problem = make_problem(base, **options)
    incremental, full = (
        configure(make_problem(base, **options, planning=planning), 0)
        for planning in ("incremental", "full")
    )
    batch = batch_of(problem)
    states = [empty_state(problem), empty_state(problem)]
    for number in range(25):
        refresh = number == 0 or late == "everything" or rng.random() < 0.5
        before = states[0].table.actions.copy()
        complete = [
            make_plan(batch, config, state, refresh, 0.0)
            for config, state in zip((incremental, full), states, strict=True)
        ]
        assert complete == [number > 0, False]
        assert differences(incremental, *states) == []
        np.testing.assert_array_equal(states[0].rewards, states[1].rewards)
        np.testing.assert_array_equal(states[0].epoch_counts, states[1].epoch_counts)
        if number > 0:
            new = np.flatnonzero(states[0].table.actions != before)
            np.testing.assert_array_equal(members(states[0].changed), new)
        for state in states:
            clear(state.changed)
            assert state.numbers[PLANS] == number + 1
            assert members(state.touched).size == 0
            assert not refresh or members(state.new_rewards).size == 0
        steps = random_steps(rng, int(rng.integers(0, 6)))
        rewards = rng.random(len(steps[0]))
        states = [feed(incremental, state, steps, rewards) for state in states]


def test_rewards_that_may_not_be_used_yet_stay_listed() -> None:
    problem = make_problem(Reader(), rewards=None, late="rewards")
    config, batch = configure(problem, 0), batch_of(problem)
    state = empty_state(problem)
    make_plan(batch, config, state, True, 0.0)
    state = feed(config, state, CHAIN, np.zeros(H))
    rows = [(h * S + h) * A for h in range(H)]
    make_plan(batch, config, state, False, 0.0)
    assert members(state.new_rewards).tolist() == rows
    assert (state.rewards == 1).all()
    assert not state.epoch_counts.any()
    make_plan(batch, config, state, True, 0.0)
    assert members(state.new_rewards).size == 0
    assert np.flatnonzero(state.epoch_counts).tolist() == rows


def test_the_epoch_begins_with_the_counts_of_the_rows_that_were_touched() -> None:
    problem = chain_problem()
    config, batch = configure(problem, 0), batch_of(problem)
    state = empty_state(problem)
    make_plan(batch, config, state, True, 0.0)
    for times in (1, 2):
        state = feed(config, state, CHAIN)
        make_plan(batch, config, state, True, 0.0)
        assert state.epoch_counts.sum() == times * H
        np.testing.assert_array_equal(state.epoch_counts, state.counts.n)


# Single kernels


def test_a_row_is_listed_once_at_each_stamp() -> None:
    scratch = empty_scratch(SHAPE, 1)
    for stamp in (1, 2):
        listed = 0
        for row in (5, 3, 5, 3, 0):
            listed = list_row(scratch, stamp, row, listed)
        assert scratch.rows[:listed].tolist() == [5, 3, 0]


@pytest.mark.parametrize("bits", [False, True], ids=["stamps", "bits"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("monotone", [False, True])
def test_new_values_are_stored_and_their_states_listed_once(
    monotone: bool, whole: bool, bits: bool
) -> None:
    problem = make_problem(Reader(monotone=monotone))
    config, state = configure(problem, 0), empty_state(problem)
    if not bits:
        state = without_readers(problem, state)
    table, scratch = state.table, state.scratch
    table.q[1] = 1.0
    new = np.ones(S * A)
    new[[2, 3, 4, 7]] = 0.5, 0.25, 2.0, 0.0  # states 1, 1, 2 (grows) and 3
    rows = np.arange(S * A) if whole else np.array([7, 3, 0, 2, 4])
    scratch.stamp[0] = 1
    scratch.rows[: len(rows)] = rows
    scratch.out[: len(rows)] = new[rows]
    found = store_changed(config, state, 1, len(rows), whole)
    expected = [1, 3] if monotone else [1, 2, 3]
    assert sorted(scratch.states[:found].tolist()) == expected
    np.testing.assert_array_equal(table.q[1], np.minimum(new, 1.0) if monotone else new)


def test_the_first_of_the_best_actions_is_chosen_unless_ties_are_random() -> None:
    shape = bl.Shape(2, 4, 1)
    q = np.array([[0.5, 1.0, 1.0 - 1e-12, 0.9, 0.0, 0.0, 0.0, 0.0]])
    assert (first_best(q, 0, 0, 4), first_best(q, 0, 1, 4)) == (1, 0)
    drawn: dict[str, list[set[int]]] = {}
    for ties in ("first", "random"):
        config = configure(make_problem(Reader(ties=ties), shape=shape), 0)
        drawn[ties] = [
            {choose(config, q, plan, 0, s, 4, first_best(q, 0, s, 4)) for plan in range(60)}
            for s in (0, 1)
        ]
    assert drawn == {"first": [{1}, {0}], "random": [{1, 2}, {0, 1, 2, 3}]}


def test_states_are_ordered_by_value_then_index() -> None:
    rng = np.random.default_rng(3)
    table = empty_table(bl.Shape(9, 1, 2))
    for _ in range(50):
        table.v[1, rng.integers(0, 9, 3)] = rng.integers(0, 4, 3)
        order_states(table, 1)
        v = table.v[1]
        assert table.order[1].tolist() == sorted(range(9), key=lambda s: (-v[s], s))
        assert (table.top[1], table.low[1]) == (v.max(), v.min())
        table.top[1] = table.low[1] = np.nan
        find_extremes(table, 1)
        assert (table.top[1], table.low[1]) == (v.max(), v.min())
    assert table.order[0].tolist() == list(range(9))  # of another step


SURVEYS = {
    # reads: result after a change within, of the lowest, of the highest value, without levels
    "best": (False, False, True),
    "extremes": (False, True, True),
    "above": (False, False, True),
    "everything": (True, True, True),
    "order": (True, True, True),
}


@pytest.mark.parametrize("levels", [False, True], ids=["", "levels"])
@pytest.mark.parametrize("reads", SURVEYS)
def test_a_survey_tells_whether_every_row_of_the_step_before_is_affected(
    reads: str, levels: bool
) -> None:
    reads_all = reads in ("everything", "order") and not levels
    results = (False, False, True) if levels and reads != "extremes" else SURVEYS[reads]
    for at, new, expected in zip((1, 3, 0), (0.6, 0.2, 0.9), results, strict=True):
        table = empty_table(SHAPE)
        table.v[2] = [0.8, 0.5, 0.4, 0.1]
        order_states(table, 2)
        table.v[2, at] = new
        moved = at != 1
        assert survey_values(table, 2, READS.index(reads), reads_all, moved) == expected
        assert (table.top[2], table.low[2]) == (table.v[2].max(), table.v[2].min())


def test_equal_extremes_of_another_state_affect_no_other_row() -> None:
    table = empty_table(SHAPE)
    table.v[2] = [0.8, 0.8, 0.4, 0.1]
    find_extremes(table, 2)
    table.v[2, 0] = 0.5
    assert not survey_values(table, 2, READS.index("extremes"), False, True)


def test_choosing_actions_lists_the_cells_that_change() -> None:
    problem = make_problem(Reader())
    config, state = configure(problem, 0), empty_state(problem)
    table = state.table
    table.q[:] = 0.0
    table.q[1, 2 * A + 1] = table.q[1, 3 * A + 1] = 1.0
    table.actions[1, 3] = 1
    table.actions[1, 0] = 1
    others = copy.deepcopy(table.actions[[0, 2, 3]])
    choose_actions(config, state, 0, 1)
    assert table.actions[1].tolist() == [0, 0, 1, 1]
    assert members(state.changed).tolist() == [S, S + 2]
    np.testing.assert_array_equal(table.actions[[0, 2, 3]], others)
