"""Rows with two successors, computed several at a time, and terms that rows share."""

import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.compiled import JIT
from belated.episode import Ints
from belated.learner.backup import Backup
from belated.learner.backup_call import TERM_SLOTS
from belated.learner.bases import kl_ucrl
from belated.learner.planning.pairs import MIN_PAIRS
from belated.learner.problem import LearningProblem
from belated.learner.state import empty_state
from learner_rows import make

SHAPE = bl.Shape(7, 3, 4)
H, S, A = SHAPE.table


def narrow_counts(rng: np.random.Generator, *, most: float, pairs: float = 0.7) -> Ints:
    """Return counts in which a share `pairs` of the rows has two successors.

    The other rows have none, one or three. `most` is about the largest count.
    """
    other = (1 - pairs) / 3
    m = np.zeros((H, S, A, S), np.int64)
    for h, s, a in np.ndindex(H, S, A):
        for y in rng.choice(S, rng.choice(4, p=[other, other, pairs, other]), replace=False):
            m[h, s, a, y] = 1 + int(most ** rng.random())
    return m


def assert_rows_have_the_bits_of_the_backup(base: bl.Base, m: Ints) -> None:
    rewards = np.random.default_rng(1).integers(0, 5, (H, S, A)) / 8
    planned = bl.plan(base, m.sum(axis=-1), m, rewards, episodes=1000)
    rule = base.backup_rule(SHAPE, 1000)
    for h, s, a in np.ndindex(H, S, A):
        row = make(planned.v[h + 1], m[h, s, a], h=h, horizon=H, reward=rewards[h, s, a])
        assert planned.q[h, s, a] == rule.backup(rule.constants, *row)


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1e-3, 0.1, 1.0])
def test_rows_computed_several_at_a_time_have_the_bits_of_the_backup(scale: float) -> None:
    rng = np.random.default_rng(4)
    for most in (3.0, 1e2, 1e5):
        m = narrow_counts(rng, most=most)
        assert_rows_have_the_bits_of_the_backup(bl.KL_UCRL(scale=scale), m)


def test_few_pairs_have_the_bits_of_the_backup() -> None:
    rng = np.random.default_rng(6)
    numbers = set()
    for _ in range(5):
        m = narrow_counts(rng, most=1e2, pairs=0.1)
        numbers |= set(((m > 0).sum(axis=-1) == 2).sum(axis=(1, 2)).tolist())
        assert_rows_have_the_bits_of_the_backup(bl.KL_UCRL(scale=0.1), m)
    assert {MIN_PAIRS - 1, MIN_PAIRS} <= numbers


def test_a_pair_is_left_to_the_backup_only_if_it_takes_a_search() -> None:
    rng = np.random.default_rng(5)
    values = rng.uniform(0, 3, 5)
    constants = np.array([1.0, 1.0, 0.0])
    for v, m, eps, applies in (
        (values, [0, 3, 4, 0, 0], 0.5, None),
        ([1.0, 2.0, 3.0], [2, 5, 0], 10.0, True),  # the best state is unobserved
        ([1.0, 2.0, 3.0], [0, 2, 5], 10.0, False),  # the best state is observed
        ([1.0, 2.0, 3.0], [2, 5, 0], 1e-9, False),  # the ball does not reach the best state
        ([2.0, 2.0, 3.0], [2, 5, 0], 10.0, False),  # equal values
        ([1.0, 2.0, 3.0], [2, 5, 0], 0.0, False),
    ):
        stage, row = make(v, m)
        terms = eps, math.expm1(-eps)
        value = kl_ucrl.back_up_pair_over_kl_ball(constants, stage, row, terms)
        if not math.isnan(value):
            assert value == kl_ucrl.back_up_over_kl_ball(constants, stage, row, terms)
        if applies is not None:
            assert math.isnan(value) != applies


@pytest.mark.skipif(not JIT, reason="plain Python computes row by row")
def test_kl_ucrl_computes_pairs_several_at_a_time() -> None:
    def memory(base: bl.Base) -> int:
        problem = LearningProblem(shape=SHAPE, base=base, updater=bl.Active(), episodes=10)
        return empty_state(problem).scratch.lanes.size

    assert memory(bl.KL_UCRL()) > 0
    assert memory(bl.KL_UCRL(form="bonus")) == memory(bl.UCRL2B()) == 0


@pytest.mark.parametrize("base", [bl.KL_UCRL(scale=0.1), bl.UCRL2B(scale=0.1), bl.UBEV(scale=0.1)])
def test_counts_that_share_a_slot_have_terms_of_their_own(base: Any) -> None:
    assert isinstance(base.backup_rule(SHAPE, 1000).backup, Backup)
    m = np.zeros((H, S, A, S), np.int64)
    for h, s, a in np.ndindex(H, S, A):
        m[h, s, a, s] = 5
        m[h, s, a, (s + a) % S] += 3 + TERM_SLOTS * ((s + h) % 3)
    assert_rows_have_the_bits_of_the_backup(base, m)
