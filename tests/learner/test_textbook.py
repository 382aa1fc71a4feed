"""Zero delay and active updating is the textbook algorithm: three episodes worked out by hand.

Two states, two actions, two steps. UCBVI-CH with a scale that makes its bonus

    beta = 7 H L / sqrt(N') * scale = 0.5 / sqrt(N')

The known rewards are

    R_1(0, .) = 0.2, 0.0        R_2(0, .) = 0.0, 0.25
    R_1(1, .) = 0.0, 0.25       R_2(1, .) = 1.0, 0.5

At step 2 nothing follows, H' = 0: Q_2 = R_2 for ever, so V_2 = (0.25, 1.0) and pi_2 = (1, 0).
At step 1 one step follows, H' = 1: Q_1 is at most 2, and R + 1 for a pair never seen.
"""

import math
from typing import Any

import numpy as np
import pytest

import belated as bl

EPISODES = 100
L = math.log(5 * 2 * 2 * (EPISODES * 2) / 0.05)  # ln(5 S A T / delta)
BASE = bl.UCBVI_CH(scale=0.5 / (7 * 2 * L))
REWARDS = [[[0.2, 0.0], [0.0, 0.25]], [[0.0, 0.25], [1.0, 0.5]]]
Q_2 = [[0.0, 0.25], [1.0, 0.5]]
V_2 = [0.25, 1.0]
PI_2 = [1, 0]

# Before the first episode nothing has been seen, Q_1 = R_1 + 1:
#   Q_1(0, .) = 1.2, 1.0     so action 0, worth 1.2
#   Q_1(1, .) = 1.0, 1.25    so action 1, worth 1.25
STEP_0 = ([[1.2, 1.0], [1.0, 1.25]], [1.2, 1.25], [0, 1])

# Episode 1 starts in state 0, plays 0, stays in 0, plays 1 and ends in 1.
#   N_1(0, 0) = 1, P^ = (1, 0), P^ V_2 = 0.25, beta = 0.5
#   Q_1(0, 0) = 0.2 + 0.25 + 0.5 = 0.95, less than 1.0: now action 1, never tried, looks better.
EPISODE_1 = bl.Episode(1, states=[0, 0, 1], actions=[0, 1])
STEP_1 = ([[0.95, 1.0], [1.0, 1.25]], [1.0, 1.25], [1, 1])

# Episode 2 starts in state 0, plays 1, stays in 0, plays 1 and ends in 0.
#   N_1(0, 1) = 1, P^ = (1, 0), P^ V_2 = 0.25, beta = 0.5
#   Q_1(0, 1) = 0.0 + 0.25 + 0.5 = 0.75, less than 0.95: back to action 0.
EPISODE_2 = bl.Episode(2, states=[0, 0, 0], actions=[1, 1])
STEP_2 = ([[0.95, 0.75], [1.0, 1.25]], [0.95, 1.25], [0, 1])

# Episode 3 starts in state 0, plays 0, moves to 1, plays 0 and ends in 1.
#   N_1(0, 0) = 2, P^ = (1/2, 1/2), P^ V_2 = 0.625, beta = 0.5 / sqrt(2) = 0.353553390593...
#   Q_1(0, 0) = 0.2 + 0.625 + 0.353553390593 = 1.178553390593: action 0 stays.
EPISODE_3 = bl.Episode(3, states=[0, 1, 1], actions=[0, 0])
STEP_3 = ([[1.178553390593274, 0.75], [1.0, 1.25]], [1.178553390593274, 1.25], [0, 1])

STORY = [
    (None, STEP_0),
    (EPISODE_1, STEP_1),
    (EPISODE_2, STEP_2),
    (EPISODE_3, STEP_3),
]


def close(expected: Any) -> Any:
    return pytest.approx(np.array(expected), abs=1e-12, rel=0)


@pytest.mark.plain
def test_three_episodes_step_by_step() -> None:
    learner = bl.Learner(
        bl.Shape(2, 2, 2), base=BASE, updater=bl.Active(), rewards=REWARDS, episodes=EPISODES
    )
    m = np.zeros((2, 2, 2, 2), np.int64)
    changes = []
    for episode, (q_1, v_1, pi_1) in STORY:
        if episode is not None:
            # What is fed back is what the policy would have played.
            for h in range(2):
                s, a, y = episode.states[h], episode.actions[h], episode.states[h + 1]
                assert a == learner.policy.actions[h, s]
                m[h, s, a, y] += 1
            changes.append(learner.observe([episode]))
        assert learner.policy.actions.tolist() == [pi_1, PI_2]
        assert learner.value == close(v_1)
        # Every Q and V, by the planner that takes the counts as dense arrays
        plan = bl.plan(BASE, m.sum(axis=3), m, REWARDS, episodes=EPISODES)
        assert plan.q == close([q_1, Q_2])
        assert plan.v == close([v_1, V_2, [0, 0]])
        assert plan.policy.tolist() == [pi_1, PI_2]
        # and as the learner holds them
        table = learner.snapshot()["instances"][0]["table"]
        assert table["q"].reshape(2, 2, 2) == close([q_1, Q_2])
        assert table["v"] == close([v_1, V_2, [0, 0]])
    assert changes == [True, True, False]
    assert (learner.updates, learner.epochs, learner.observed) == (3, 4, 3)
