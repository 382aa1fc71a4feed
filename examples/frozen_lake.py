"""FrozenLake with late feedback, learnt from interaction alone.

The goal has reward 10 and a hole reward -1. The learner is given the numbers of states and actions
and the range of rewards; transition probabilities and rewards are unknown to it. The feedback of an
episode arrives 200 episodes later on average. The transition table that FrozenLake also provides is
used only to compute the best possible return.

    python examples/frozen_lake.py            # prints returns, in FrozenLake's own units
    python examples/frozen_lake.py --fast     # fewer episodes
"""

import sys

import gymnasium
import numpy as np

import belated as bl
from belated.reward_map import Affine

LAKE = {"id": "FrozenLake-v1", "reward_schedule": (10, -1, 0)}  # goal, hole, ice
HORIZON = 40


def learn(delay: bl.delays.Law, episodes: int) -> bl.gym.Training:
    """Train a learner for `episodes` under the law `delay` and return its training record."""
    env = bl.DelayedFeedback(
        gymnasium.make(**LAKE),
        delay,
        horizon=HORIZON,
        reward_map=Affine.onto(-1, 10),  # learners need rewards in [0, 1]
    )
    learner = bl.Learner(
        env.shape,
        base=bl.UCRL2(scale=0.05),
        updater=bl.Lazy(alpha=10),
        rewards=None,  # unknown
        episodes=episodes,
        stages="pooled",  # the ice is the same at every step
    )
    return bl.gym.train(env, learner, episodes=episodes)


def main(fast: bool) -> None:
    episodes = 400 if fast else 2_000
    print(f"Mean return in each eighth of {episodes:,} episodes")
    for name, delay in (
        ("at once", bl.delays.constant(0)),
        ("200 late", bl.delays.geometric(mean=200)),
    ):
        training = learn(delay, episodes)
        means = [part.mean() for part in np.array_split(training.returns, 8)]
        print(f"{name:8}", *(f"{mean:5.2f}" for mean in means), end="")
        print(f", up to {training.max_missing} episodes missing")
    world = bl.from_gymnasium(LAKE["id"], horizon=HORIZON, reward_schedule=(10, -1, 0))
    best = world.reward_map.original(bl.optimal_value(world), steps=HORIZON)
    print(f"{'at best':8} {best:5.2f}, with known transitions")


if __name__ == "__main__":
    main(fast="--fast" in sys.argv)
