"""Backups of eight rows at a time have the bits of the backup of one row."""

import math

import numpy as np
import pytest

import belated as bl
from belated.compiled import JIT, LANES, address, kernel, load_lanes, store_lanes
from belated.episode import Floats, Ints
from belated.learner.backup import Backup, Row, RowLanes, Stage, compile_batch, mean
from belated.learner.backup_call import MIN_STATES
from belated.learner.bases.chi2_ball import NO_HINT
from belated.learner.bases.chi2_ucrl import back_up_lanes_over_chi2_ball, back_up_over_chi2_ball
from belated.learner.planning.row_lanes import FIELDS
from belated.learner.problem import LearningProblem
from belated.learner.state import configure, empty_state, with_room_for
from belated.learner.updating import absorb, make_plan
from learner_rows import make

NO_CONSTANTS = np.zeros(0)


@kernel
def back_up_eight(stage: Stage, inputs: Floats, m: Floats, work: Floats, out: Floats) -> None:
    at = address(inputs)
    rows = RowLanes(
        load_lanes(at, 0),
        load_lanes(at, LANES),
        load_lanes(at, 2 * LANES),
        (load_lanes(at, 3 * LANES), load_lanes(at, 4 * LANES)),
        (load_lanes(at, 5 * LANES), load_lanes(at, 6 * LANES)),
        address(m),
        address(work),
    )
    q, level, hint = back_up_lanes_over_chi2_ball(inputs, stage, rows)
    store_lanes(address(out), 0, q)
    store_lanes(address(out), LANES, level)
    store_lanes(address(out), 2 * LANES, hint[0])
    store_lanes(address(out), 3 * LANES, hint[1])


def back_up_in_lanes(rows: list[tuple[Stage, Row]], m: Ints, eps: Floats, hints: Floats) -> Floats:
    """Return the values, levels and two hints of eight rows of one stage, (4, LANES)."""
    stage = rows[0][0]
    inputs = np.zeros((FIELDS, LANES))
    inputs[0] = [row.n for _, row in rows]
    inputs[1] = [row.reward for _, row in rows]
    inputs[2] = [mean(stage, row) for _, row in rows]
    inputs[3] = eps
    inputs[5:7] = hints
    out = np.zeros((4, LANES))
    counts = np.ascontiguousarray(m.T, np.float64)
    with np.errstate(all="ignore"):
        back_up_eight(stage, inputs.ravel(), counts.ravel(), np.zeros(m.size), out.ravel())
    return out


@pytest.mark.plain
def test_chi2_ucrl_in_lanes_has_the_bits_of_single_rows() -> None:
    """The hint of a row is that before its values or its counts changed."""
    rng = np.random.default_rng(3)
    computed = left = 0
    for _ in range(120 if JIT else 25):
        S = int(rng.integers(2, 16))
        v = np.minimum(rng.uniform(0, 4, S), rng.choice([rng.uniform(1, 4), 9.0]))
        m = (10 ** rng.uniform(0, 3, (LANES, S)) * (rng.random((LANES, S)) < 0.4)).astype(np.int64)
        m[:, rng.integers(S)] += 2
        eps = 10.0 ** rng.uniform(-4, 2, LANES) / rng.choice([1, m.sum()])
        rewards = rng.random(LANES)
        hints = np.tile(NO_HINT, (LANES, 1))
        for change in 10.0 ** rng.uniform(-12, 0, 3):
            rows = [make(v, each, reward=r) for each, r in zip(m, rewards, strict=True)]
            found = back_up_in_lanes(rows, m, eps, hints.T)
            for i, (stage, row) in enumerate(rows):
                arguments = NO_CONSTANTS, stage, row, (eps[i], 0.0)
                q, _, hint = back_up_over_chi2_ball(*arguments, NO_HINT)
                if hints[i, 0] > -math.inf and not math.isnan(found[0, i]):
                    assert found[0, i] == q
                    same = back_up_over_chi2_ball(*arguments, tuple(hints[i]))
                    assert found[:, i].tolist() == [*same[:2], *same[2]]
                    computed += 1
                left += hints[i, 0] > -math.inf and math.isnan(found[0, i])
                hints[i] = hint
            v = v * (1 - change * rng.random(S) * (rng.random(S) < 0.5))
            m[:, rng.integers(S)] += rng.integers(2, size=LANES)
    assert computed > 200 if JIT else computed > 40
    assert left > 20 if JIT else left > 4


def test_a_row_without_a_certain_support_is_left_to_the_backup() -> None:
    rows = [make([0.0, 1.0, 2.0, 4.0], [0, 6, 0, 0]) for _ in range(LANES)]
    m = np.tile([0, 6, 0, 0], (LANES, 1))
    arguments = NO_CONSTANTS, *rows[0]
    good = back_up_over_chi2_ball(*arguments, (0.5, 0.0), NO_HINT)[2]
    eps = np.full(LANES, 0.5)
    hints = np.tile(good, (LANES, 1))
    hints[1] += 1.5  # a smaller set
    hints[2] -= 2.0  # a larger set
    eps[3] = 100.0  # the ball reaches the best state
    eps[4] = 0.0
    eps[5] = math.inf
    found = back_up_in_lanes(rows, m, eps, hints.T)
    assert np.isnan(found[0]).tolist() == [False, True, True, True, True, True, False, False]
    assert found[0, 0] == back_up_over_chi2_ball(*arguments, (0.5, 0.0), NO_HINT)[0]


@pytest.mark.skipif(not JIT, reason="plain Python computes row by row")
@pytest.mark.parametrize("scale", [0.0003, 0.01])
@pytest.mark.parametrize("states", [MIN_STATES - 1, MIN_STATES, 9, 40])
def test_plans_after_many_observations_have_the_bits_of_a_first_plan(
    states: int, scale: float
) -> None:
    """A first plan has no hints, so that it computes one row after another."""
    shape = bl.Shape(states, 2, 4)
    base = bl.Chi2_UCRL(scale=scale, radius="practical")
    rng = np.random.default_rng(states)
    rewards = rng.integers(0, 5, shape.table) / 8
    problem = LearningProblem(
        shape=shape, base=base, updater=bl.Active(), rewards=rewards, episodes=1000
    )
    rule, config = problem.backup_rule, configure(problem, 0)
    assert isinstance(rule.backup, Backup)
    batch, state = compile_batch(rule.backup, rule.constants.size), empty_state(problem)
    m = np.zeros((*shape.table, states), np.int64)
    values = slice(2 * LANES * states, (2 * states + 1) * LANES)  # of the last block of rows
    used = 0
    for _ in range(25):
        count = int(rng.choice([1, 40, 200]))
        steps = rng.integers(0, shape.horizon, count), rng.integers(0, states, count)
        actions = rng.integers(0, 2, count)
        successors = (steps[1] + rng.integers(-2, 3, count)) % states
        np.add.at(m, (*steps, actions, successors), 1)
        state = with_room_for(state, count)
        absorb(config, state, 0, *steps, actions, successors, np.zeros(0), True, True)
        make_plan(batch, config, state, True, 0.0)
        first = bl.plan(base, m.sum(axis=-1), m, rewards, episodes=1000)
        np.testing.assert_array_equal(state.table.q.reshape(shape.table), first.q)
        lanes = state.scratch.lanes
        assert not lanes[: LANES * states].any()
        computed = lanes[values]
        used += np.isin(computed[computed != 0.0], first.q).any()
    assert used > 10 if states >= MIN_STATES else not lanes.any()
