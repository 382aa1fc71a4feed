"""A run against the definition: at the start of episode k, whatever has i + tau_i < k is known.

Everything is counted again for every episode, from the paths and the delays of the whole run,
and planned by `bl.plan`. Nothing of the engines, the learner or the queue is used.
"""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.mdp.play import play
from worlds import random_world

EPISODES = 80
SEEDS = range(4)
ACTIVE = 1e9  # an alpha above the number of episodes


def a_world(seed: int) -> bl.MDP:
    rng = np.random.default_rng(seed)
    world = random_world(rng, states=3, actions=2, horizon=3, homogeneous=False)
    return dataclasses.replace(world, reward_draws="bernoulli" if seed % 2 else "beta")


def hoped(n: Any, earned: Any, shape: bl.Shape) -> Any:
    """r~ of the default bonus: Hoeffding, with half of delta."""
    H, S, A = shape.table
    log = math.log(2 * S * A * H * EPISODES / 0.025)
    seen = np.maximum(1, n)
    return np.where(n == 0, 1.0, np.minimum(1.0, earned / seen + 0.3 * np.sqrt(log / (2 * seen))))


def expected_values(
    world: bl.MDP, run: Any, seed: int, delays: Any, *, late: str, alpha: float, pooled: bool
) -> list[Any]:
    """Q of every episode's plan, by counting all episodes before it."""
    H, S, A = world.shape.table
    paths = [
        play(world, bl.Policy(run.policies[k - 1]), seed=seed, episode=k)
        for k in range(1, EPISODES + 1)
    ]
    base = bl.UCRL2(scale=0.3, delta=0.025)  # rewards have the other half
    epoch_n: Any = None
    made = []
    for k in range(1, EPISODES + 1):
        n, earned = np.zeros((2, H, S, A))
        now = np.zeros((H, S, A, S), np.int64)
        come = np.zeros((H, S, A, S), np.int64)
        for i, path in enumerate(paths[: k - 1], start=1):
            for h in range(H):
                at = (0 if pooled else h, path.states[h], path.actions[h])
                now[(*at, path.states[h + 1])] += 1
                if i + delays[i - 1, h] < k:
                    n[at] += 1
                    assert path.rewards is not None
                    earned[at] += path.rewards[h]
                    come[(*at, path.states[h + 1])] += 1
        if epoch_n is None or ((n > epoch_n) & (alpha * (n - epoch_n) >= epoch_n)).any():
            epoch_n, epoch_come = n, come
            if pooled:
                n, earned = np.stack([n[0]] * H), np.stack([earned[0]] * H)
            rewards = hoped(n, earned, world.shape)
        m = now if late == "rewards" else epoch_come
        if pooled:
            m = np.stack([m[0]] * H)
        made.append(bl.plan(base, m.sum(axis=3), m, rewards, episodes=EPISODES).q)
    return made


def most_foregone(run: Any, q: list[Any]) -> float:
    """How far below the best an action that was chosen ever was."""
    chosen = np.take_along_axis(np.array(q), run.policies[..., None], axis=3)[..., 0]
    return float((np.max(q, axis=3) - chosen).max())


@pytest.mark.parametrize("stages", ["each", "pooled"])
@pytest.mark.parametrize("alpha", [ACTIVE, 1.5], ids=["active", "lazy"])
@pytest.mark.parametrize("per", ["episode", "step"])
@pytest.mark.parametrize("late", ["everything", "rewards"])
def test_every_policy_is_greedy_for_what_had_come_by_then(
    late: Any, per: Any, alpha: float, stages: Any
) -> None:
    law = bl.delays.never(0.1, otherwise=bl.delays.geometric(4))
    plans = 0
    for seed in SEEDS:
        world = a_world(seed)
        H = world.shape.horizon
        run = bl.simulate(
            world,
            base=bl.UCRL2(scale=0.3),
            updater=bl.Active() if alpha == ACTIVE else bl.Lazy(alpha),
            delay=law,
            episodes=EPISODES,
            seed=seed,
            stages=stages,
            rewards=None,
            late=late,
            delay_per=per,
            trace=True,
        )
        steps = range(H) if per == "step" else [0] * H
        delays = np.stack([law.draw(seed=seed, episodes=EPISODES, step=h) for h in steps], axis=1)
        q = expected_values(
            world, run, seed, delays, late=late, alpha=alpha, pooled=stages == "pooled"
        )
        assert most_foregone(run, q) < 1e-9
        plans += len({policy.tobytes() for policy in np.array(run.policies)})
    assert plans > 3 * len(SEEDS)


def test_the_definition_tells_a_delay_that_is_one_off() -> None:
    world = a_world(1)
    law = bl.delays.geometric(4)
    run = bl.simulate(
        world,
        base=bl.UCRL2(scale=0.3),
        updater=bl.Active(),
        delay=law,
        episodes=EPISODES,
        rewards=None,
        trace=True,
    )
    delays = np.stack([law.draw(seed=0, episodes=EPISODES)] * 3, axis=1)
    worst = []
    for off in (0, 1):
        q = expected_values(
            world, run, 0, delays + off, late="everything", alpha=ACTIVE, pooled=False
        )
        worst.append(most_foregone(run, q))
    assert worst[0] < 1e-9
    assert worst[1] > 1e-3
