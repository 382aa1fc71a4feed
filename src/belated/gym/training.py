"""`train`: a learner in an environment that it knows only by stepping it."""

from dataclasses import dataclass

import numpy as np

from belated.episode import Floats, Ints, Policy, check_integer
from belated.exact.values import optimal_table, policy_table
from belated.gym.delayed import DelayedFeedback
from belated.learner.learner import Learner
from belated.mdp.model import MDP
from belated.progress import Progress
from belated.randomness import EXPLORE, check_seed, uniform


@dataclass(frozen=True, eq=False)
class Training:
    """What each episode brought."""

    episode: Ints
    """Their numbers."""
    returns: Floats
    """The sum of the rewards of each, in the environment's own units."""
    updates: int
    """Plans made meanwhile."""
    max_missing: int
    """The most episodes that were ever in flight."""
    gaps: Floats | None = None
    """V*_1(s_1) - V^pi_1(s_1) of each, in [0, H]; only if the world was given."""

    @property
    def regret(self) -> Floats:
        """Cumulative regret after each episode."""
        if self.gaps is None:
            raise ValueError("Regret needs the truth: give train the world, or look at returns.")
        return np.add.accumulate(self.gaps)

    def __repr__(self) -> str:
        return (
            f"Training(episodes={self.returns.size}, mean_return={self.returns.mean():.6g}, "
            f"updates={self.updates}, max_missing={self.max_missing})"
        )


def train(
    env: DelayedFeedback,
    learner: Learner,
    *,
    episodes: int,
    seed: int | None = 0,
    world: MDP | None = None,
    progress: bool | None = None,
) -> Training:
    """Play `episodes` episodes of `env` with the learner's policies, and feed it what comes back.

    There is no regret without a table of the world; what an episode earned takes its place. With
    `world` there is both.

    - `seed`: for the environment's first reset and for actions that explore; None leaves the
      environment's randomness as it is, to go on with a training.
    - `progress`: shown if True, never if False, and otherwise once it has lasted two seconds.

    >>> import belated as bl
    >>> from belated.gym.environment import WorldEnv
    >>> chain = bl.chain(3)
    >>> env = DelayedFeedback(WorldEnv(chain), bl.delays.constant(2))
    >>> learner = bl.Learner(env.shape, base=bl.UCRL2(), updater=bl.Active(),
    ...                      rewards=chain.reward_table(), episodes=50)
    >>> training = train(env, learner, episodes=50)
    >>> training.returns.size, training.updates, training.max_missing
    (50, 47, 2)
    """
    if not isinstance(env, DelayedFeedback):
        raise TypeError(f"env is {env!r}; wrap it as DelayedFeedback(env, delay).")
    check_integer("episodes", episodes, 1)
    key = check_seed(0 if seed is None else seed)
    for name, part in (("learner", learner), ("world", world)):
        if part is not None and part.shape != env.shape:
            raise ValueError(f"The {name} has {part.shape}; the environment needs {env.shape}.")

    truth = None if world is None else Truth(world)
    returns, gaps, first = np.zeros(episodes), np.zeros(episodes), env.episode + 1
    max_missing, updates = 0, learner.updates
    with Progress("training", total=episodes, shown=progress) as shown:
        for j in range(episodes):
            observation, info = env.reset(seed=seed if j == 0 else None)
            learner.observe(info["feedback"])
            max_missing = max(max_missing, env.missing)
            policy = learner.start(env.episode)
            if truth is not None:
                gaps[j] = truth.gap(policy, env.state(observation))
            returns[j] = play(env, policy, observation, key)
            shown.update(j + 1)
    return Training(
        episode=np.arange(first, first + episodes),
        returns=returns,
        updates=learner.updates - updates,
        max_missing=max_missing,
        gaps=None if world is None else gaps,
    )


def play(env: DelayedFeedback, policy: Policy, observation: object, seed: int) -> float:
    """Play out the episode that has begun with `observation`; returns what it earned."""
    total = 0.0
    for h in range(env.shape.horizon):
        u = uniform(np.uint64(seed), EXPLORE, env.episode, h) if policy.explore is not None else 0.0
        action = policy.action(h, env.state(observation), u)
        observation, reward, terminated, truncated, _ = env.step(env.action(action))
        total += float(reward)
        if terminated or truncated:
            break
    return total


class Truth:
    """The exact gap of a policy, worked out again only when the policy is another."""

    def __init__(self, world: MDP) -> None:
        self._world = world
        self._best = optimal_table(world)[0]
        self._policy: Policy | None = None
        self._value = self._best

    def gap(self, policy: Policy, state: int) -> float:
        """V*_1(s) - V^pi_1(s)."""
        if policy is not self._policy:
            self._policy = policy
            self._value = policy_table(self._world, policy)[0]
        return float(self._best[state] - self._value[state])
