"""The planner: planning what changed gives the bits of planning all, from fewer backups."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.compiled import JIT, as_plain, interpret, kernel, reference
from belated.compiled.budget import UNLIMITED
from belated.episode import Floats
from belated.learner.backup import READS, Backup, Row, Stage, cap, mean
from belated.learner.bases import BackupRule
from belated.learner.bases.base import NO_RULE
from belated.learner.planning.loops import loops_of
from belated.learner.planning.rows import plan_rows
from belated.learner.problem import LearningProblem
from belated.learner.state import (
    Config,
    LearnerRecord,
    LearnerState,
    configure,
    empty_state,
    with_room_for,
)
from belated.learner.updating import absorb
from belated.worklist import clear, members, put

SHAPE = bl.Shape(8, 2, 4)  # a plan lists single rows while few of the states change
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


@kernel
def plan_record(loops, record, plan, every_row, limit):
    """Call `plan_rows` for a `record` that is passed by value."""
    return plan_rows(loops, reference(record), plan, every_row, limit)


def plan_state(
    problem: LearningProblem,
    state: LearnerState,
    plan: int = 0,
    *,
    all: bool = False,
    limit: int = UNLIMITED,
) -> bool:
    """Plan from what changed, or from `all` rows; return whether the plan is complete."""
    rule = problem.backup_rule
    assert isinstance(rule.backup, Backup)
    record = LearnerRecord(configure(problem, 0), state)
    run = plan_record if rule.backup.compiled else as_plain(plan_record)
    return run(loops_of(rule, record), record, plan, all, limit)


def make_problem(base: bl.Base, *, shape: bl.Shape = SHAPE, **options: Any) -> LearningProblem:
    """Return a problem whose rewards are multiples of 1/8, so that actions are often tied."""
    rewards = np.random.default_rng(0).integers(0, 5, shape.table) / 8
    given = {"updater": bl.Active(), "rewards": rewards, "episodes": 100, "seed": 7, **options}
    return LearningProblem(shape=shape, base=base, **given)


def random_steps(rng: np.random.Generator, count: int) -> tuple[Any, ...]:
    """Return steps, states, actions and successors, some much more frequent than others."""
    states = np.minimum(rng.geometric(0.5, (2, count)) - 1, S - 1)
    return rng.integers(0, H, count), states[0], rng.integers(0, A, count), states[1]


def feed(
    problem: LearningProblem, state: LearnerState, steps: tuple[Any, ...], rewards: Any = NO_REWARDS
) -> LearnerState:
    """Return the state after all steps are absorbed, with their rewards."""
    count = len(steps[0])
    record = LearnerRecord(configure(problem, 0), with_room_for(state, count))
    loops = loops_of(NO_RULE, record)
    assert absorb(loops, record, 0, *steps, rewards, True, True) == count
    return record.state


def differences(config: Config, one: LearnerState, other: LearnerState) -> list[str]:
    """Return the parts of two tables that are not the same bits, of those the base may read."""
    names = ["q", "v", "actions"]
    names += ["top"] * (config.reads >= READS.index("best"))
    names += ["low"] * (config.reads >= READS.index("extremes"))
    names += ["order"] * (config.reads == READS.index("order"))
    return [
        name
        for name in names
        if getattr(one.table, name).tobytes() != getattr(other.table, name).tobytes()
    ]


def plan_both_ways(problem: LearningProblem, true_problem: LearningProblem) -> list[str]:
    """Return how tables planned from changes and from nothing differ after random feedback.

    `true_problem` has the same backup and declares all that it reads. Every other plan from changes
    is interrupted before each step.
    """
    rng = np.random.default_rng(1)
    config = configure(problem, 0)
    state, full = empty_state(problem), empty_state(true_problem)
    found: set[str] = set()
    plan_state(problem, state, all=True)
    plan_state(true_problem, full, all=True)
    clear(state.changed)
    for plan in range(1, 30):
        state = feed(problem, state, random_steps(rng, int(rng.choice([1, 1, 2, 50]))))
        touched, before = members(state.touched), state.table.actions.copy()
        while not plan_state(
            problem, state, plan, limit=state.scratch.work[0] + 1 if plan % 2 else UNLIMITED
        ):
            assert plan % 2
        full = full._replace(counts=state.counts)
        plan_state(true_problem, full, plan, all=True)
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


def problem_of(base: type[bl.Base], variant: str, **parameters: Any) -> LearningProblem:
    options = dict(VARIANTS[variant])
    stages = options.pop("stages", "each")
    return make_problem(base(**options, **parameters), stages=stages)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("visits", [False, True], ids=["", "visits"])
@pytest.mark.parametrize("reads", READS)
def test_planning_changes_gives_the_bits_of_planning_all(
    reads: str, visits: bool, variant: str
) -> None:
    problem = problem_of(Reader, variant, reads=reads, visits=visits)
    assert plan_both_ways(problem, problem) == []


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("base", "scale"), [(bl.UCRL2B, 0.0), (bl.UCRL2B, 0.03), (bl.Chi2_UCRL, 0.003)]
)
def test_planning_rows_by_their_levels_gives_the_bits_of_planning_all(
    base: type[bl.Base], scale: float, variant: str
) -> None:
    problem = problem_of(base, variant, scale=scale)
    if JIT:  # UCRL2B has no levels in plain Python
        assert empty_state(problem).scratch.levels.shape == (H, S * A)
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


def test_random_ties_are_drawn_again_for_every_plan() -> None:
    problem = make_problem(Reader(ties="random"), rewards=np.full((S, A), 0.5))
    state = empty_state(problem)
    plan_state(problem, state, all=True)
    drawn = set()
    for plan in range(1, 9):
        plan_state(problem, state, plan)
        drawn.add(state.table.actions.tobytes())
    assert len(drawn) == 8
    assert (state.table.q == state.table.q[:, :1]).all()  # no value depends on the draw


# How far a change propagates


CALLS: list[tuple[int, int]] = []
"""Step h and row s * A + a of each backup of a `Watched` base."""


def watched(constants: Floats, stage: Stage, row: Row) -> float:
    """Add the row to `CALLS`, and read as much as the constants say."""
    CALLS.append((stage.h, row.s * A + row.a))
    return float(interpret(reading.function)(constants, stage, row))


@dataclass(frozen=True)
class Watched(Reader):
    """A base without bonuses, in which an observed row is worth its rewards."""

    bonus: float = 0.0

    def backup_rule(self, shape, episodes):
        rule = super().backup_rule(shape, episodes)
        return rule._replace(backup=Backup(watched, compiled=False))


def chain_problem(rewards: Any = 0.5, **options: Any) -> LearningProblem:
    return make_problem(Watched(**options), rewards=np.broadcast_to(rewards, (H, S, A)).copy())


CHAIN = tuple(np.array(x) for x in ([0, 1, 2, 3], [0, 1, 2, 3], [0, 0, 0, 0], [1, 2, 3, 0]))
"""Step h in state h with action 0, and on to the next state."""


def planned_chain(problem: LearningProblem, *, actions: int = 1) -> LearnerState:
    """Return the state planned from one step along the chain for each of some actions."""
    state = empty_state(problem)
    steps, states, first, successors = CHAIN
    for action in range(actions):
        state = feed(problem, state, (steps, states, first + action, successors))
    plan_state(problem, state, all=True)
    clear(state.touched)
    return state


def set_reward(state: LearnerState, h: int, s: int, a: int, reward: float) -> None:
    """Change a reward, as if it had been estimated anew."""
    state.rewards[h, s * A + a] = reward
    put(state.touched, h, (h * S + s) * A + a)


def backed_up(problem: LearningProblem, state: LearnerState) -> dict[int, set[int]]:
    """Plan, and return the rows that were backed up by the step; none of them twice."""
    CALLS.clear()
    plan_state(problem, state, 1)
    assert len(set(CALLS)) == len(CALLS)
    assert sorted(CALLS, key=lambda call: -call[0]) == CALLS
    return {h: {row for step, row in CALLS if step == h} for h in range(H)}


def test_without_feedback_nothing_is_backed_up() -> None:
    problem = chain_problem()
    assert backed_up(problem, planned_chain(problem)) == {h: set() for h in range(H)}


def test_an_unchanged_value_stops_the_propagation() -> None:
    problem = chain_problem()
    state = planned_chain(problem)
    # the same steps again: the row at the last step keeps its value of 0.5
    state = feed(problem, state, tuple(x[-1:] for x in CHAIN))
    assert backed_up(problem, state) == {3: {3 * A}, 2: set(), 1: set(), 0: set()}


def test_a_changed_value_reaches_the_rows_that_lead_to_it_and_no_others() -> None:
    problem = chain_problem()
    state = planned_chain(problem, actions=2)
    v = state.table.v.copy()
    set_reward(state, 3, 3, 0, 1.0)
    assert backed_up(problem, state) == {3: {6}, 2: {4, 5}, 1: {2, 3}, 0: {0, 1}}
    higher = np.zeros((H + 1, S))
    higher[range(H), range(H)] = 0.5
    np.testing.assert_array_equal(state.table.v - v, higher)
