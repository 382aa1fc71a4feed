"""The simulated clinic."""

import numpy as np

import belated as bl
from belated.demo.clinic import ACTIONS, PROBLEM, STATES, VISITS, treat, world
from belated.ledger import ProblemSpec
from belated.online.learner_factory import build_base, build_updater
from demo.policies import constant_policy


def test_the_problem_definition_matches_the_world() -> None:
    spec = ProblemSpec.of(PROBLEM)
    assert (len(spec.states), len(spec.actions), spec.horizon) == (5, 3, 6)
    assert spec.rewards is not None
    assert np.array_equal(np.broadcast_to(spec.rewards, (6, 5, 3)), world().reward_table())


def test_it_is_learned_in_about_a_minute_of_ten_patients_a_second() -> None:
    spec = ProblemSpec.of(PROBLEM)
    run = bl.simulate(
        world(),
        base=build_base(spec),
        updater=build_updater(spec),
        delay=bl.delays.never(0.03, otherwise=bl.delays.geometric(60)),
        episodes=1500,
        every=100,
        seed=7,
    )
    gaps = np.diff(run.regret, prepend=0) / 100
    assert gaps[0] > 1.2
    assert gaps[6:].max() < 0.3


def test_a_patient_is_treated_by_the_policy() -> None:
    for action in ACTIONS:
        outcome = treat(constant_policy(action), patient=3, seed=7)
        assert outcome.actions == (action,) * VISITS
        assert outcome == treat(constant_policy(action), patient=3, seed=7)
        fared = [world().rewards[0, STATES.index(s), ACTIONS.index(action)] for s in outcome.states]
        assert np.isclose(outcome.total, sum(fared[:VISITS]))
