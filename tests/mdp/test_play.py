import numpy as np
import pytest
from scipy import stats

from belated.episode import Policy
from belated.mdp.model import MDP
from belated.mdp.play import play
from belated.randomness import EXPLORE, REWARD, START, TRANSITION, uniform

SEED = 2**64 - 5


def test_every_draw_is_the_one_at_its_address():
    H, S, A = 6, 16, 4
    rewards = np.linspace(0, 1, S * A).reshape(S, A)
    uniformly = np.full(S, 1 / S)  # its cumulative sums are exact, so that y = floor(S u)
    world = MDP.dense(
        np.broadcast_to(uniformly, (S, A, S)),
        rewards,
        horizon=H,
        start=uniformly,
        reward_draws="bernoulli",
    )
    policy = Policy(np.zeros((H, S), np.int32), np.ones((H, S, A), np.bool_))
    key = np.uint64(SEED)
    for k in (0, 1, 2**40):
        episode = play(world, policy, seed=SEED, episode=k)
        episode.check(world.shape)
        assert episode.id == k
        assert episode.states[0] == int(S * uniform(key, START, k, 0))
        for h in range(H):
            s, a = episode.states[h], episode.actions[h]
            assert a == int(A * uniform(key, EXPLORE, k, h))
            assert episode.rewards[h] == float(uniform(key, REWARD, k, h) < rewards[s, a])
            assert episode.states[h + 1] == int(S * uniform(key, TRANSITION, k, h))


def test_each_stage_has_its_own_transitions_rewards_and_action():
    H, S, A = 4, 3, 2
    p = np.zeros((H, S, A, S))
    p[:, :, 0, 0] = 1
    for h in range(H):
        p[h, :, 1, (h + 1) % S] = 1
    rewards = np.arange(H * S * A).reshape(H, S, A) / 100
    actions = np.array([[1] * S, [1] * S, [0] * S, [1] * S], np.int32)
    episode = play(MDP.dense(p, rewards, start=2), Policy(actions), seed=0, episode=3)
    np.testing.assert_array_equal(episode.states, [2, 1, 2, 0, 1])
    np.testing.assert_array_equal(episode.actions, [1, 1, 0, 1])
    np.testing.assert_array_equal(episode.rewards, [0.05, 0.09, 0.16, 0.19])


def test_states_actions_and_rewards_come_as_often_as_they_should():
    p = np.array([[[0.2, 0.3, 0.5], [0.7, 0.0, 0.3]]] * 3)
    rewards = np.array([[0.1, 0.6]] * 3)
    start = [0.6, 0.0, 0.4]
    world = MDP.dense(p, rewards, horizon=2, start=start, reward_draws="bernoulli")
    policy = Policy(np.zeros((2, 3), np.int32), np.ones((2, 3, 2), np.bool_))
    episodes = [play(world, policy, seed=11, episode=k) for k in range(1500)]
    first = np.array([e.states[0] for e in episodes])
    actions = np.array([e.actions for e in episodes])
    following = np.array([e.states[1:] for e in episodes])
    paid = np.array([e.rewards for e in episodes])
    fits(np.bincount(first, minlength=3), start)
    fits(np.bincount(actions.ravel(), minlength=2), [0.5, 0.5])
    for a in (0, 1):
        fits(np.bincount(following[actions == a], minlength=3), p[0, a])
        fits(np.bincount(paid[actions == a].astype(int)), [1 - rewards[0, a], rewards[0, a]])


def fits(seen, law):
    """Assert that counts pass a chi-square test at 0.1 % and impossible values do not occur."""
    law = np.asarray(law)
    assert (seen[law == 0] == 0).all()
    possible = law > 0
    assert stats.chisquare(seen[possible], seen.sum() * law[possible]).pvalue > 0.001


def test_a_bad_seed_or_episode_raises_an_error():
    world = MDP.dense(np.ones((1, 1, 1)), np.zeros((1, 1)), horizon=1)
    policy = Policy(np.zeros((1, 1), np.int32))
    with pytest.raises(ValueError, match=r"^seed must lie in .*, got -1\.$"):
        play(world, policy, seed=-1, episode=0)
    with pytest.raises(ValueError, match=r"^episode must be at least 0, got -1\.$"):
        play(world, policy, seed=0, episode=-1)
