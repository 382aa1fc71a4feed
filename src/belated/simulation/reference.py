"""One run, step by step, in readable Python: the meaning that faster engines must match.

At the start of episode k: deliver what has arrived, let the learner plan if its updater says so,
play the current policy, add the exact regret for the start state actually drawn, and send the
record off to come back late.
"""

from collections.abc import Callable

import numpy as np

from belated.delays.laws import longest
from belated.delays.queue import Queue
from belated.episode import Ints, Policy
from belated.exact.values import optimal_table, policy_table
from belated.learner.learner import Learner
from belated.mdp.model import MDP
from belated.mdp.play import play
from belated.simulation.run import Run, checkpoints

ROUNDING = 1e-9
"""Optimism counts as broken when V~ falls below V* by more than this."""


def run_reference(
    world: MDP,
    learner: Learner,
    delays: Ints,
    *,
    seed: int,
    every: int,
    trace: bool,
    heard: Callable[[int], None],
) -> Run:
    """Play one episode for each delay, and tell `heard` of each."""
    v_star = optimal_table(world)[0]
    queue = Queue()
    policies: list[Policy] = []
    gaps = []
    played: Policy | None = None
    max_missing = optimism_broken = last_explored = 0

    for k, delay in enumerate(delays.tolist(), start=1):
        learner.observe(queue.due(k))
        max_missing = max(max_missing, learner.missing)
        v_tilde = learner.value
        policy = learner.start(k)
        if policy is not played:
            v_pi = policy_table(world, policy)[0]
            played = policy
        episode = play(world, policy, seed=seed, episode=k)
        queue.push(episode, delay)

        start = episode.states[0]
        gaps.append(v_star[start] - v_pi[start])
        optimism_broken += bool(v_tilde[start] < v_star[start] - ROUNDING)
        if explores_along(policy, episode.states):
            last_explored = k
        if trace:
            policies.append(policy)
        heard(1)

    episode_at = checkpoints(delays.size, every)
    return Run(
        seed=seed,
        episodes=delays.size,
        episode=episode_at,
        regret=np.add.accumulate(gaps)[episode_at - 1],
        updates=learner.updates,
        epochs=learner.epochs,
        max_missing=max_missing,
        optimism_broken=optimism_broken,
        instances=learner.instances,
        last_explored=last_explored,
        longest_delay=float(longest(delays)),
        policies=np.array([marked(policy) for policy in policies]) if trace else None,
    )


def explores_along(policy: Policy, states: Ints) -> bool:
    """Whether any step of a path through `states` was drawn by exploration."""
    if policy.explore is None:
        return False
    return bool(policy.explore[np.arange(states.size - 1), states[:-1]].any())


def marked(policy: Policy) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """The policy's actions, -1 where it explores."""
    actions = policy.actions.copy()
    if policy.explore is not None:
        actions[policy.explore.any(axis=2)] = -1
    return actions
