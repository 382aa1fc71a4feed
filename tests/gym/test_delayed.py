"""Records arrive after their delay, complete, and agree with the table of the environment."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.delays import constant
from belated.gym import DelayedFeedback, WorldEnv
from belated.mdp.gymnasium import from_gymnasium
from belated.reward_map import Affine
from worlds import laws


class Walk(gymnasium.Env):
    """States 10, 11, ... in a row; action 5 moves on, 6 stays; each step costs 3."""

    def __init__(self, last=2, ends_at=None):
        self.observation_space = Discrete(last + 1, start=10)
        self.action_space = Discrete(2, start=5)
        self._last = 10 + last
        self._ends_at = self._last if ends_at is None else ends_at

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._state = 10
        return self._state, {"origin": 10}

    def step(self, action):
        self._state = min(self._state + (action == 5), self._last)
        return self._state, -3.0, self._state == self._ends_at, False, {"at": self._state}


COST = Affine.onto(-3, 0)


def played(env, actions):
    """Play an episode; return its infos, from the reset on, and how it ended."""
    infos = [env.reset()[1]]
    for action in actions:
        _, _, terminated, truncated, info = env.step(action)
        infos.append(info)
    return infos, terminated, truncated


def record(env, actions, *, ahead=()):
    """Play an episode and return its record from the next reset."""
    for earlier in ahead:
        played(env, earlier)
    played(env, actions)
    feedback = env.reset()[1]["feedback"]
    return feedback[-1]


@settings(max_examples=30)
@given(laws(), st.integers(0, 2**64 - 1))
def test_an_episode_is_in_the_reset_that_begins_the_first_k_with_i_plus_tau_below_k(law, seed):
    env = DelayedFeedback(WorldEnv(bl.chain(2)), law, seed=seed)
    delays = law.draw(seed=seed, episodes=20)
    for k in range(1, 21):
        infos, *_ = played(env, [1, 1])
        due = [i for i, tau in enumerate(delays, start=1) if i + tau == k - 1]
        assert [episode.id for episode in infos[0]["feedback"]] == due
        assert all(info["feedback"] == [] for info in infos[1:])
        assert env.episode == k


def test_a_record_is_what_was_played():
    env = DelayedFeedback(WorldEnv(bl.chain(3)), constant(0))
    states = [env.reset(seed=4)[0]]
    rewards = []
    for action in (1, 1, 0):
        state, reward, *_ = env.step(action)
        states.append(state)
        rewards.append(reward)
    (found,) = env.reset()[1]["feedback"]
    assert found.id == 1
    np.testing.assert_array_equal(found.states, states)
    np.testing.assert_array_equal(found.actions, [1, 1, 0])
    np.testing.assert_array_equal(found.rewards, rewards)
    found.check(env.shape)


def test_an_episode_that_ends_early_stays_there_and_earns_nothing_more():
    env = DelayedFeedback(Walk(), constant(0), horizon=5, reward_map=COST)
    found = record(env, [5, 6, 5])
    np.testing.assert_array_equal(found.states, [0, 1, 1, 2, 2, 2])
    np.testing.assert_array_equal(found.actions[:3], [0, 1, 0])
    np.testing.assert_array_equal(found.rewards, [0, 0, 0, 1, 1])
    assert COST.original(float(found.rewards.sum()), steps=5) == -9.0


def test_filled_steps_take_each_action_in_turn():
    env = DelayedFeedback(Walk(), constant(0), horizon=4, reward_map=COST)
    filled = [record(env, [5, 5]).actions[2:].tolist()]
    for _ in range(3):
        env.step(5)
        env.step(5)
        filled.append(env.reset()[1]["feedback"][-1].actions[2:].tolist())
    assert filled == [[0, 0], [1, 1], [0, 0], [1, 1]]


def test_an_episode_that_goes_on_is_truncated_at_the_horizon():
    env = DelayedFeedback(Walk(), constant(0), horizon=3, reward_map=COST)
    *_, terminated, truncated = played(env, [6, 6, 6])
    assert (terminated, truncated) == (False, True)
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"^The episode is over; call reset\(\)"):
        env.step(6)
    assert env.reset()[1]["feedback"][0].states.tolist() == [0, 0, 0, 0]


def test_an_episode_that_is_reset_after_some_steps_never_returns():
    env = DelayedFeedback(Walk(), constant(0), horizon=3, reward_map=COST)
    env.reset()
    env.step(6)
    played(env, [6, 6, 6])
    assert [episode.id for episode in env.reset()[1]["feedback"]] == [2]
    assert env.missing == 1


def test_a_reset_without_a_step_begins_the_same_episode_again():
    env = DelayedFeedback(Walk(), constant(0), horizon=1, reward_map=COST)
    env.reset()
    played(env, [6])
    assert env.episode == 1
    assert [episode.id for episode in env.reset()[1]["feedback"]] == [1]
    assert env.reset()[1]["feedback"] == []
    assert (env.episode, env.missing) == (2, 0)


def test_an_end_in_a_state_that_is_passed_through_needs_end_state():
    class Returning(Walk):
        """Walk in which moving on from the last state terminates in the first."""

        def step(self, action):
            if self._state == self._last and action == 5:
                return 10, -3.0, True, False, {}
            return (*super().step(action)[:2], False, False, {})

    env = DelayedFeedback(Returning(last=1), constant(0), horizon=4, reward_map=COST)
    with pytest.raises(ValueError, match=r"^State 0 ended one episode before step H and did not"):
        played(env, [5, 5])
    env = DelayedFeedback(
        Returning(last=1), constant(0), horizon=4, reward_map=COST, end_state=True
    )
    assert env.shape == bl.Shape(3, 2, 4)
    assert record(env, [5, 5]).states.tolist() == [0, 1, 2, 2, 2]


class Shop(Walk):
    """Walk whose steps pay nothing."""

    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, 0.0, *rest


def test_a_record_ends_in_a_terminal_state():
    env = DelayedFeedback(Shop(), constant(0), horizon=5, terminal=[2])
    assert env.shape == bl.Shape(3, 2, 5, terminal=[2])
    found = record(env, [5, 6, 5])
    assert (found.states.tolist(), found.actions.tolist()) == ([0, 1, 1, 2], [0, 1, 0])
    found.check(env.shape)
    assert record(env, [6] * 5).states.tolist() == [0] * 6


def test_a_world_passes_its_terminal_states_and_allowed_actions_on():
    p = np.broadcast_to(np.eye(3)[1], (3, 2, 3)).copy()
    world = bl.MDP.dense(p, np.zeros((3, 2)), horizon=4, terminal=[1], allowed={0: [1]})
    env = DelayedFeedback(WorldEnv(world), constant(0))
    assert env.shape == world.shape
    assert env.reset()[1]["action_mask"].tolist() == [0, 1]
    assert record(env, [1]).states.tolist() == [0, 1]
    shorter = DelayedFeedback(WorldEnv(world), constant(0), horizon=2, end_state=True)
    assert shorter.shape == bl.Shape(4, 2, 2, terminal=[1, 3], allowed={0: [1]})


def test_a_terminal_state_where_the_environment_goes_on_raises_an_error():
    env = DelayedFeedback(Shop(), constant(0), horizon=5, terminal=[1])
    with pytest.raises(ValueError, match=r"^State 1 must not be terminal, since the environment"):
        played(env, [5])


def test_terminal_states_need_a_reward_map_that_keeps_zero():
    with pytest.raises(ValueError, match=r"^terminal must not be given if reward_map maps"):
        DelayedFeedback(Walk(), constant(0), horizon=5, reward_map=COST, terminal=[2])


def test_records_of_a_lake_could_have_come_from_its_table():
    env = DelayedFeedback(gymnasium.make("FrozenLake-v1"), constant(0), horizon=12)
    world = from_gymnasium("FrozenLake-v1", horizon=12)
    assert env.shape == world.shape
    env.action_space.seed(3)
    for k in range(40):
        info = env.reset(seed=k)[1]
        for found in info["feedback"]:
            found.check(world.shape)
            for h in range(found.actions.size):
                s, a, y = found.states[h], found.actions[h], found.states[h + 1]
                assert y in world.successors(h, s, a)[0]
        over = False
        while not over:
            *_, terminated, truncated, _ = env.step(env.action_space.sample())
            over = terminated or truncated


def test_the_horizon_is_the_environments_limit_unless_given():
    lake = gymnasium.make("FrozenLake-v1")
    assert DelayedFeedback(lake, constant(0)).shape.horizon == 100
    assert DelayedFeedback(WorldEnv(bl.chain(7)), constant(0)).shape.horizon == 7
    assert DelayedFeedback(lake, constant(0), horizon=9).shape.horizon == 9


def test_gymnasiums_checks_pass_but_for_the_remark_that_it_is_a_wrapper():
    env = DelayedFeedback(gymnasium.make("belated/RiverSwim-v0"), constant(1))
    with pytest.warns(UserWarning, match="is different from the unwrapped version") as heard:
        check_env(env)
    assert len(heard) == 1


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: DelayedFeedback("FrozenLake-v1", constant(0)),
            TypeError,
            r"^env must be a Gymnasium environment, got 'FrozenLake-v1'\.$",
        ),
        (
            lambda: DelayedFeedback(WorldEnv(bl.chain(3)), constant(0), reward_map=(1, 0)),
            TypeError,
            r"^reward_map must be an Affine map, got \(1, 0\)\.$",
        ),
        (
            lambda: DelayedFeedback(WorldEnv(bl.chain(3)), 100),
            TypeError,
            r"^delay must be a law or its name, got 100\.$",
        ),
        (
            lambda: DelayedFeedback(gymnasium.make("CartPole-v1"), constant(0)),
            TypeError,
            r"^The observation space of .* must be Discrete, got Box\(.*\)\.$",
        ),
        (
            lambda: DelayedFeedback(Walk(), constant(0)),
            ValueError,
            r"has no maximum number of steps; pass horizon= to DelayedFeedback\.$",
        ),
        (
            lambda: DelayedFeedback(WorldEnv(bl.chain(3)), constant(0), horizon=4),
            ValueError,
            r"^horizon must be at most 3, the limit of .*, got 4\.$",
        ),
        (
            lambda: played(DelayedFeedback(Walk(), constant(0), horizon=2), [5]),
            ValueError,
            r"^reward_map must map rewards into \[0, 1\], got -3 for the reward -3; pass",
        ),
        (
            lambda: played(
                DelayedFeedback(
                    Walk(last=1), constant(0), horizon=2, reward_map=Affine.onto(-3, -2)
                ),
                [5],
            ),
            ValueError,
            r"^reward_map must map rewards into \[0, 1\], got 3 for the reward 0; pass reward_map=",
        ),
        (
            lambda: played(
                DelayedFeedback(
                    gymnasium.wrappers.TimeLimit(Walk(), 2),
                    constant(0),
                    horizon=3,
                    reward_map=COST,
                ),
                [6, 6],
            ),
            ValueError,
            r"^horizon must be at most 2, got 3: the environment truncated episode 1 after",
        ),
    ],
)
def test_an_environment_that_cannot_be_wrapped_raises_an_error(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_a_delay_can_depend_on_what_is_played():
    law = "by_action:0=constant:0,1=constant:2"
    env = DelayedFeedback(Walk(), law, horizon=3, reward_map=COST, end_state=True)
    arrived = []
    for actions in ((6, 6, 6), (5, 6, 6), (6, 6, 6), (6, 6, 6), (6, 6, 6)):
        infos, *_ = played(env, actions)
        arrived.append([episode.id for episode in infos[0]["feedback"]])
    assert arrived == [[], [], [2], [1], []]


def test_a_law_without_an_action_of_the_environment_is_rejected():
    with pytest.raises(ValueError, match="got none for action 1; add '1=DELAY'"):
        DelayedFeedback(Walk(), "by_action:0=constant:0", horizon=3, reward_map=COST)
