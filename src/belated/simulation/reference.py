"""One run, step by step, in readable Python: the meaning that faster engines must match.

At the start of episode k: deliver what has arrived, let the learner plan if its updater says so,
play the current policy, add the exact regret for the start state actually drawn, and send the
record off to come back late: whole or step by step, and where only rewards are late, those.
"""

from collections.abc import Callable, Iterator

import numpy as np

from belated.delays.laws import longest_delay
from belated.delays.queue import Queue
from belated.episode import Episode, Ints, Policy
from belated.exact.values import optimal_table, policy_table
from belated.learner.bases.base import Base
from belated.learner.feedback import Parcel, paid, path, whole
from belated.learner.learner import Learner
from belated.learner.problem import Problem
from belated.learner.status import share
from belated.learner.updaters.lazy import Lazy
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.mdp.play import play
from belated.simulation.run import Run, checkpoints
from belated.theory import psi

ROUNDING = 1e-9
"""Optimism counts as broken when V~ falls below V* by more than this."""


def run_reference(
    world: MDP,
    problem: Problem,
    updater: Updater,
    delays: Ints,
    *,
    seed: int,
    every: int,
    trace: bool,
    heard: Callable[[int], None],
) -> Run:
    """Play one episode for each row of delays, and tell `heard` of each."""
    learner = learner_of(problem, updater)
    v_star = optimal_table(world)[0]
    queue: Queue[Parcel] = Queue()
    visits = np.zeros(problem.rows, np.int64)
    back = np.zeros(problem.rows, np.int64)
    policies: list[Policy] = []
    gaps, alphas = [], []
    at_once: list[Parcel] = []
    played: Policy | None = None
    max_missing = optimism_broken = last_explored = 0

    for k, taus in enumerate(delays.tolist(), start=1):
        late = queue.due(k)
        learner.take(at_once + late)
        max_missing = max(max_missing, learner.missing)
        v_tilde = learner.value
        policy = learner.start(k)
        if policy is not played:
            v_pi = policy_table(world, policy)[0]
            played = policy
        episode = play(world, policy, seed=seed, episode=k)
        at_once = [path(episode)] if problem.late_rewards else []
        for parcel, delay in zip(sent(problem, episode, len(taus)), taus, strict=True):
            queue.push(parcel, delay)

        start = episode.states[0]
        gaps.append(v_star[start] - v_pi[start])
        optimism_broken += bool(v_tilde[start] < v_star[start] - ROUNDING)
        if explores_along(policy, episode.states):
            last_explored = k
        np.add.at(visits, whole(episode).rows(problem.shape, problem.count_stages), 1)
        for parcel in late:
            np.add.at(back, parcel.rows(problem.shape, problem.count_stages), 1)
        alphas.append(learner.alpha)
        if trace:
            policies.append(policy)
        heard(1)

    episode_at = checkpoints(len(delays), every)
    auto = isinstance(updater, Lazy) and updater.alpha == "auto"
    delta = problem.base.delta if isinstance(problem.base, Base) else 0.05
    return Run(
        seed=seed,
        episodes=len(delays),
        episode=episode_at,
        regret=np.add.accumulate(gaps)[episode_at - 1],
        updates=learner.updates,
        epochs=learner.epochs,
        max_missing=max_missing,
        optimism_broken=optimism_broken,
        instances=learner.instances,
        last_explored=last_explored,
        longest_delay=float(longest_delay(delays)),
        missing=learner.missing,
        mean_delay=learner.mean_delay,
        psi=psi(learner.mean_delay, len(delays), delta),
        in_flight=share(visits - back, back).reshape(-1, *problem.shape.table[1:]),
        alpha=np.array(alphas)[episode_at - 1] if auto else None,
        policies=np.array([marked(policy) for policy in policies]) if trace else None,
    )


def learner_of(problem: Problem, updater: Updater) -> Learner:
    """A fresh learner for this problem."""
    return Learner(
        problem.shape,
        base=problem.base,
        updater=updater,
        rewards=problem.rewards,
        episodes=problem.episodes,
        stages=problem.stages,
        planning=problem.planning,
        late=problem.late,
        reward_bonus=problem.reward_bonus,
        seed=int(problem.seed),
    )


def sent(problem: Problem, episode: Episode, parcels: int) -> Iterator[Parcel]:
    """What comes back late of an episode, in so many parcels: one, or one for each step."""
    every = whole(episode)
    for first in range(parcels):
        steps = slice(None) if parcels == 1 else slice(first, first + 1)
        rewards = np.full(problem.shape.horizon, np.nan)
        assert episode.rewards is not None
        rewards[steps] = episode.rewards[steps]
        parcel = paid(every, rewards)
        yield parcel._replace(transitions=not problem.late_rewards)


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
