"""Worlds read from tables agree with dynamic programming on the tables."""

import sys
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.exact.values import optimal_table
from belated.mdp.gymnasium import from_gymnasium
from belated.reward_map import Affine


def dense_values(table, horizon):
    """Return V*_1(s) for each state in the units of the table; after termination rewards are 0."""
    v = [0.0] * len(table)
    for _ in range(horizon):
        v = [
            max(
                sum(p * (r + (0.0 if ends else v[y])) for p, y, r, ends in table[s][a])
                for a in range(len(table[s]))
            )
            for s in range(len(table))
        ]
    return np.array(v)


class Tabled(gymnasium.Env):
    """Environment with a table of transitions and a reset."""

    def __init__(self, table, starts=(0,), law=None):
        self.P = table
        self.observation_space, self.action_space = Discrete(len(table)), Discrete(len(table[0]))
        self._starts = starts
        if law is not None:
            self.initial_state_distrib = law

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return int(self.np_random.choice(self._starts)), {}


@st.composite
def tables(draw):
    """Draw a random table in which a state may be passed through, end an episode, or both."""
    states, actions = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    ending = draw(st.sampled_from([0.0, 0.3, 0.9]))
    rewards = draw(st.sampled_from([(0.0, 1.0), (-1.0, -1.0), (-7.0, 3.0), (2.0, 5.0)]))

    def outcomes():
        number = rng.integers(1, 4)
        return [
            (
                float(p),
                int(rng.integers(states)),
                float(rng.uniform(*rewards)),
                rng.random() < ending,
            )
            for p in rng.dirichlet(np.ones(number))
        ]

    return {s: {a: outcomes() for a in range(actions)} for s in range(states)}


@given(tables(), st.integers(1, 6), st.integers(0, 4))
def test_v_star_in_original_units_is_the_tables(table, horizon, start):
    start %= len(table)
    world = from_gymnasium(Tabled(table), horizon=horizon, start=start)
    found = world.reward_map.original(bl.optimal_value(world), horizon)
    assert found == pytest.approx(dense_values(table, horizon)[start], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("horizon", [10, 20])
@pytest.mark.parametrize(
    ("id", "states", "actions"),
    [
        ("FrozenLake-v1", 16, 4),
        ("FrozenLake8x8-v1", 64, 4),
        ("CliffWalking-v1", 48, 4),
        ("CliffWalkingSlippery-v1", 48, 4),
        ("Taxi-v4", 500, 6),
    ],
)
def test_v_star_of_gymnasiums_own_tables(id, states, actions, horizon):
    env = gymnasium.make(id).unwrapped
    world = from_gymnasium(id, horizon=horizon)
    assert world.shape.table == (horizon, states, actions)
    expected = env.initial_state_distrib @ dense_values(env.P, horizon)
    found = world.reward_map.original(bl.optimal_value(world), horizon)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_after_the_end_nothing_is_earned_in_original_units():
    world = from_gymnasium("CliffWalking-v1", horizon=20)
    assert world.reward_map == Affine(100.0, -100.0)
    np.testing.assert_array_equal(world.rewards[0, 47], 1.0)
    np.testing.assert_array_equal(world.successors(0, 47, 0)[0], [47])


def test_rewards_are_means_over_where_a_step_leads():
    table = {
        0: {0: [(0.5, 0, 2.0, False), (0.25, 0, 4.0, False), (0.25, 1, -6.0, True)]},
        1: {0: []},
    }
    world = from_gymnasium(Tabled(table), horizon=3)
    assert world.reward_map == Affine(10.0, -6.0)
    assert world.reward_map.original(float(world.rewards[0, 0, 0])) == pytest.approx(0.5)
    succ, prob = world.successors(0, 0, 0)
    np.testing.assert_array_equal(succ, [0, 1])
    np.testing.assert_array_equal(prob, [0.75, 0.25])


def test_where_the_environment_terminates_is_terminal():
    world = from_gymnasium("FrozenLake-v1", horizon=20)
    assert world.shape.terminal == (5, 7, 11, 12, 15)
    absorbing = replace(world, shape=bl.Shape(16, 4, 20))
    np.testing.assert_array_equal(optimal_table(world), optimal_table(absorbing))


@pytest.mark.parametrize("id", ["CliffWalking-v1", "Taxi-v4"])
def test_an_end_that_pays_the_mapped_zero_is_absorbing_and_not_terminal(id):
    assert from_gymnasium(id, horizon=20).shape.terminal == ()


def test_an_end_where_episodes_also_pass_gets_a_state_of_its_own():
    table = {0: {0: [(0.5, 1, 0.0, False), (0.5, 1, 0.0, True)]}, 1: {0: [(1.0, 0, 1.0, False)]}}
    world = from_gymnasium(Tabled(table), horizon=4)
    assert (world.shape.states, world.shape.terminal) == (3, (2,))
    np.testing.assert_array_equal(world.successors(0, 0, 0)[0], [1, 2])
    np.testing.assert_array_equal(world.successors(0, 2, 0)[0], [2])
    assert bl.optimal_value(world) == 0.5 + 0.25


def test_options_go_into_the_making_of_the_environment():
    dry = from_gymnasium("FrozenLake-v1", horizon=6, is_slippery=False)
    assert bl.optimal_value(dry) == 1.0


def test_a_wrapped_environment_is_read_and_its_time_limit_is_not():
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=3)
    assert from_gymnasium(env, horizon=20).shape.horizon == 20


def test_the_first_state_is_the_environments_law_or_the_one_of_every_reset():
    table = {s: {0: [(1.0, s, 0.0, False)]} for s in range(3)}
    lawful = from_gymnasium(Tabled(table, law=np.array([0.25, 0.0, 0.75])), horizon=1)
    np.testing.assert_array_equal(lawful.start, [0.25, 0, 0.75])
    np.testing.assert_array_equal(from_gymnasium(Tabled(table, (2,)), horizon=1).start, [0, 0, 1])
    given = from_gymnasium(Tabled(table, (0, 2)), horizon=1, start=[0.5, 0.5, 0])
    np.testing.assert_array_equal(given.start, [0.5, 0.5, 0])


ROW = {0: [(1.0, 0, 0.0, False)]}


@pytest.mark.parametrize(
    ("env", "arguments", "kind", "message"),
    [
        ("Blackjack-v1", {}, ValueError, r"^Blackjack-v1 must have a table of transitions P "),
        (7, {}, TypeError, r"^env_or_id must be an environment or its id, got 7\.$"),
        (
            Tabled({0: ROW}),
            {"is_slippery": False},
            TypeError,
            r"^from_gymnasium takes options .* with an id, got an environment and is_slippery",
        ),
        (
            Tabled({0: ROW, 1: ROW}, (0, 1)),
            {},
            ValueError,
            r"^Tabled starts in several states with unknown probabilities; pass start=",
        ),
        (
            Tabled({0: {0: [(1.0, 3, 0.0, False)]}}),
            {},
            ValueError,
            r"^P of Tabled must have next states in 0 \.\. 0, got 3 for state 0, action 0\.$",
        ),
        (
            Tabled({0: {0: [(0.5, 0, 0.0, False)]}}),
            {},
            ValueError,
            r"^The probabilities of state 0, action 0 must sum to 1 .*, got 0\.5\.$",
        ),
        (
            Tabled(np.ones((2, 2, 2))),
            {},
            ValueError,
            r"^P\[state\]\[action\] .*, got a P \(ndarray\)",
        ),
        (
            Tabled({0: ROW, 2: ROW}),
            {},
            ValueError,
            r"^P\[state\]\[action\] .*, got a P \(a mapping\)",
        ),
        (
            Tabled({0: ROW, 1: ROW | {1: ROW[0]}}),
            {},
            ValueError,
            r"^P\[state\]\[action\] of Tabled .*, got a P \(a mapping\) in a different format\.$",
        ),
        (Tabled({0: {0: []}}), {}, ValueError, r"^P\[state\]\[action\] .*, got a P \(a mapping\)"),
    ],
)
def test_an_environment_that_cannot_be_read_raises_an_error(env, arguments, kind, message):
    with pytest.raises(kind, match=message):
        from_gymnasium(env, **{"horizon": 5, **arguments})


def test_the_error_without_gymnasium_gives_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(
        ImportError, match=r"^from_gymnasium needs gymnasium: pip install 'belated\[gym\]'\.$"
    ):
        from_gymnasium("FrozenLake-v1", horizon=5)
