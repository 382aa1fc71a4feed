"""Training of a learner in a Gymnasium environment with delayed feedback."""

from dataclasses import dataclass

import numpy as np

from belated.check import check_integer
from belated.episode import Floats, Ints, Policy
from belated.exact.values import optimal_table, policy_table
from belated.gym.delayed import DelayedFeedback
from belated.learner.learner import Learner
from belated.mdp.model import MDP
from belated.progress import Progress
from belated.randomness import EXPLORE, check_seed, uniform


@dataclass(frozen=True, eq=False)
class Training:
    """Result of `train`: arrays with one entry per episode, and totals."""

    episode: Ints
    """Numbers of the episodes, shape (episodes,)."""
    returns: Floats
    """Sum of the rewards of each episode, in the environment's units, shape (episodes,)."""
    updates: int
    """Number of plans that the learner computed during the training."""
    max_missing: int
    """Largest number of episodes in flight at the start of an episode."""
    gaps: Floats | None = None
    """V*_1(s_1) - V^pi_1(s_1) of each episode, in [0, H], shape (episodes,); None if `train` was
    called without `world`."""

    @property
    def regret(self) -> Floats:
        """Cumulative regret after each episode, shape (episodes,).

        ValueError is raised if `train` was called without `world`.
        """
        if self.gaps is None:
            raise ValueError("regret needs exact values; give train world=, or use returns.")
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
    """Train a learner: play its policies in an environment and pass the feedback to the learner.

    Parameters
    ----------
    env : DelayedFeedback
        Environment with delayed feedback.
    learner : Learner
        Learner of the same shape as the environment, updated in place.
    episodes : int
        Number of episodes to play, at least 1.
    seed : int or None
        Seed of the environment's first reset and of exploratory actions. If None, the environment
        is not seeded again, and exploratory actions have seed 0. Use None to continue an earlier
        training.
    world : MDP, optional
        Exact model of the environment. If it is given, the result includes regret.
    progress : bool, optional
        Whether to show a progress bar; by default it is shown after two seconds.

    Returns
    -------
    Training
        Returns of the episodes, number of plans and, if `world` is given, regret.

    Examples
    --------
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
        raise TypeError(f"env must be a DelayedFeedback(env, delay), got {env!r}.")
    check_integer("episodes", episodes, 1)
    key = check_seed(0 if seed is None else seed)
    for name, part in (("learner", learner), ("world", world)):
        if part is not None and part.shape.table != env.shape.table:
            raise ValueError(f"The {name} must have {env.shape}, got {part.shape}.")
    # a learner may know terminal states although the environment pads its records
    if env.shape.is_restricted and learner.shape != env.shape:
        raise ValueError(f"The learner must have {env.shape}, got {learner.shape}.")

    optimal = None if world is None else optimal_table(world)[0]
    evaluated: Policy | None = None  # last policy whose gaps are known
    returns, gaps, first = np.zeros(episodes), np.zeros(episodes), env.episode + 1
    max_missing, updates = 0, learner.updates
    with Progress("training", total=episodes, shown=progress) as shown:
        for j in range(episodes):
            observation, info = env.reset(seed=seed if j == 0 else None)
            learner.observe(info["feedback"])
            max_missing = max(max_missing, env.missing)
            policy = learner.start(env.episode)
            if world is not None:
                if policy is not evaluated:
                    evaluated, known_gaps = policy, optimal - policy_table(world, policy)[0]
                gaps[j] = known_gaps[env.state(observation)]
            returns[j] = play_episode(env, policy, observation, key)
            shown.update(j + 1)
    return Training(
        episode=np.arange(first, first + episodes),
        returns=returns,
        updates=learner.updates - updates,
        max_missing=max_missing,
        gaps=None if world is None else gaps,
    )


def play_episode(env: DelayedFeedback, policy: Policy, observation: object, seed: int) -> float:
    """Play the current episode of `env` to its end and return the sum of its rewards.

    Parameters
    ----------
    env : DelayedFeedback
        Environment in which `reset` has just been called.
    policy : Policy
        Policy of the episode.
    observation : object
        First observation of the episode, returned by `reset`.
    seed : int
        Seed of exploratory actions.

    Returns
    -------
    float
        Sum of the rewards in the environment's units.
    """
    total = 0.0
    for h in range(env.shape.horizon):
        u = uniform(np.uint64(seed), EXPLORE, env.episode, h) if policy.explore is not None else 0.0
        action = policy.action(h, env.state(observation), u)
        observation, reward, terminated, truncated, _ = env.step(env.action(action))
        total += float(reward)
        if terminated or truncated:
            break
    return total
