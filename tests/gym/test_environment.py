"""Gymnasium environments of worlds."""

import gymnasium
import numpy as np
import pytest

import belated as bl
from belated.gym import WorldEnv
from belated.mdp.gymnasium import from_gymnasium
from worlds import random_world


def small_world(homogeneous=True):
    rng = np.random.default_rng(3)
    return random_world(rng, states=4, actions=3, horizon=5, homogeneous=homogeneous)


def played(env, actions, seed):
    states, rewards = [env.reset(seed=seed)[0]], []
    for action in actions:
        state, reward, *_ = env.step(action)
        states.append(state)
        rewards.append(reward)
    return states, rewards


def test_an_episode_is_terminated_by_the_last_step_of_the_horizon():
    env = WorldEnv(bl.chain(4))
    env.reset(seed=1)
    ends = [env.step(1)[2:4] for _ in range(4)]
    assert ends == [(False, False)] * 3 + [(True, False)]
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"^The episode is over; call reset\(\)"):
        env.step(1)


def shop(**restrictions):
    """Return a world in which action 1 loses a customer (state 1) and action 2 is a sale (2)."""
    p = np.zeros((3, 3, 3))
    p[0] = np.eye(3)
    return bl.MDP.dense(
        p, [[0, 0, 1], [0] * 3, [0] * 3], horizon=4, terminal=[1, 2], **restrictions
    )


def test_an_episode_is_terminated_by_a_terminal_state():
    env = WorldEnv(shop())
    env.reset(seed=1)
    assert env.step(0)[:4] == (0, 0.0, False, False)
    assert env.step(2) == (2, 1.0, True, False, {"step": 2})
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"^The episode is over; call reset\(\)"):
        env.step(0)
    assert env.reset() == (0, {"step": 0})


def test_info_has_the_mask_of_allowed_actions_of_the_next_step():
    allowed = np.ones((4, 3, 3), np.bool_)
    allowed[1, 0] = [True, False, True]
    env = WorldEnv(shop(allowed=allowed))
    masks = [env.reset(seed=1)[1]["action_mask"], *(env.step(0)[4]["action_mask"] for _ in "1234")]
    assert [mask.tolist() for mask in masks] == [[1, 1, 1], [1, 0, 1], *[[1, 1, 1]] * 3]
    assert all(mask.dtype == np.int8 for mask in masks)
    env.action_space.seed(0)
    assert {int(env.action_space.sample(mask=masks[1])) for _ in range(30)} == {0, 2}


def test_an_action_that_is_not_allowed_raises_an_error():
    env = WorldEnv(shop(allowed={0: [0, 2]}))
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"^action must be allowed in state 0 .* \[0, 2\]; got 1"):
        env.step(1)
    assert not hasattr(env, "P")


def test_one_seed_gives_one_episode_and_another_seed_another():
    env, actions = WorldEnv(small_world()), [0, 1, 2, 1, 0]
    assert played(env, actions, seed=5) == played(env, actions, seed=5)
    episodes = {tuple(played(env, actions, seed)[0]) for seed in range(20)}
    assert len(episodes) > 10


def test_a_step_pays_the_mean_and_moves_by_the_law_of_its_stage():
    world = small_world(homogeneous=False)
    env, p = WorldEnv(world), world.transition_table()
    seen = np.zeros((4, 4))
    for seed in range(2000):
        (*_, before, after), rewards = played(env, [0, 1, 2], seed)
        seen[before, after] += 1
        assert rewards[2] == world.rewards[2, before, 2]
    visits = seen.sum(axis=1, keepdims=True)
    assert (visits > 100).all()
    np.testing.assert_allclose(seen / visits, p[2, :, 2], atol=0.12)
    assert not seen[p[2, :, 2] == 0].any()


@pytest.mark.parametrize(
    "world", [bl.chain(6), small_world(), shop()], ids=["chain", "random", "shop"]
)
def test_a_world_that_never_changes_comes_back_from_its_table(world):
    if world.rewards.shape[0] > 1:
        world = bl.MDP.dense(
            world.transition_table()[0], world.rewards[0], start=world.start, horizon=5
        )
    back = from_gymnasium(WorldEnv(world), horizon=world.shape.horizon)
    assert back.shape == world.shape
    for name in ("ptr", "succ", "prob", "cum", "rewards", "start", "start_cum"):
        np.testing.assert_array_equal(getattr(back, name), getattr(world, name))


@pytest.mark.parametrize("homogeneous", [True, False])
def test_a_world_that_changes_from_step_to_step_has_no_table(homogeneous):
    env = WorldEnv(small_world(homogeneous))  # the rewards of both change
    assert not hasattr(env, "P")
    with pytest.raises(ValueError, match=r"^WorldEnv must have a table of transitions P"):
        from_gymnasium(env, horizon=5)


@pytest.mark.parametrize("action", [-1, 2])
def test_an_action_outside_the_space_raises_an_error(action):
    env = WorldEnv(bl.chain(3))
    env.reset()
    with pytest.raises(ValueError, match=rf"^action must be in 0 \.\. 1, got {action}\.$"):
        env.step(action)
