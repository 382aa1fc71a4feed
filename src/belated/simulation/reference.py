"""The reference loop: a simulation in plain Python that defines the results of the compiled engine.

Episode k consists of the following operations. The learner processes the feedback that has arrived,
and plans if its updater requires it. The current policy is played, and the exact regret for the
first state of the episode is added. The feedback enters a queue with its delay: as a whole episode,
as single steps, or as rewards if only rewards are late.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from belated.delays.laws import longest_delay
from belated.delays.queue import Queue
from belated.delays.selector import group_of
from belated.episode import Episode, Ints, Policy
from belated.exact.values import optimal_table, policy_table
from belated.learner.feedback import Feedback, path_of, rewards_of, whole_episode
from belated.learner.learner import Learner
from belated.learner.problem import LearningProblem
from belated.mdp.play import play
from belated.simulation.run import CheckpointReporter, Run, make_run

if TYPE_CHECKING:
    from belated.simulation.simulation import Simulation

OPTIMISM_TOLERANCE: Final = 1e-9
"""Optimism fails if V~ < V* - OPTIMISM_TOLERANCE; smaller differences are rounding errors."""


def run_reference(
    simulation: "Simulation",
    problem: LearningProblem,
    delays: Ints,
    on_progress: Callable[[int], None],
    reporter: CheckpointReporter | None = None,
) -> Run:
    """Simulate one run with the reference loop.

    The parameters `simulation`, `problem`, `delays` and `reporter` are those of
    `belated.simulation.compiled_run.run_compiled`; `on_progress` is called with the argument 1
    after each episode.
    """
    world, at = simulation.world, simulation.checkpoints()
    selector, everywhere = simulation.law.selector(world.shape), simulation.optimism == "everywhere"
    learner = Learner.of(problem)
    optimal = optimal_table(world)
    v_star = optimal[0]
    queue: Queue[Feedback] = Queue()
    visits = np.zeros(problem.rows, np.int64)
    arrived = np.zeros(problem.rows, np.int64)
    policies: list[NDArray[np.int32]] = []
    gaps, alphas = [], []
    paths: list[Feedback] = []
    evaluated: Policy | None = None
    max_missing = optimism_broken = last_explored = 0
    longest = 0
    auto = problem.updater.lazy_alpha() == "auto"

    for k, choices in enumerate(delays.tolist(), start=1):
        late = queue.due(k)
        learner.absorb(paths + late)
        max_missing = max(max_missing, learner.missing)
        v_tilde = learner.value_table
        policy = learner.start(k)
        if policy is not evaluated:
            v_pi = policy_table(world, policy)[0]
            evaluated = policy
        episode = play(world, policy, seed=problem.seed, episode=k)
        paths = [path_of(episode)] if problem.late_rewards else []
        taus = choices[group_of(selector, episode, world.shape) :: selector.groups]
        # an episode that ends early has fewer steps than delays
        for feedback, delay in zip(split(problem, episode, len(taus)), taus, strict=False):
            queue.push(feedback, max(delay, problem.updater.min_age - 1))
            longest = max(longest, delay)

        start = episode.states[0]
        gaps.append(v_star[start] - v_pi[start])
        below = v_tilde < optimal - OPTIMISM_TOLERANCE
        optimism_broken += bool(below.any() if everywhere else below[0, start])
        if explores_along(policy, episode.states):
            last_explored = k
        np.add.at(visits, whole_episode(episode).rows(problem.shape, problem.count_stages), 1)
        for feedback in late:
            np.add.at(arrived, feedback.rows(problem.shape, problem.count_stages), 1)
        alphas.append(learner.alpha)
        if simulation.trace:
            policies.append(traced_actions(policy))
        on_progress(1)
        if reporter:
            reporter.report(np.array(gaps[-1:]))

    return make_run(
        simulation,
        problem,
        seed=problem.seed,
        plans=learner.epochs,
        arrived=arrived,
        dropped=visits - arrived,
        instances=learner.instances,
        regret=np.add.accumulate(gaps)[at - 1],
        max_missing=max_missing,
        optimism_broken=optimism_broken,
        last_explored=last_explored,
        longest_delay=float(longest_delay(delays if selector.groups == 1 else [longest])),
        missing=learner.missing,
        mean_delay=learner.mean_delay,
        alpha=np.array(alphas)[at - 1] if auto else None,
        policies=np.array(policies) if simulation.trace else None,
    )


def split(problem: LearningProblem, episode: Episode, pieces: int) -> Iterator[Feedback]:
    """Yield the delayed feedback of an episode, as a whole or step by step.

    Parameters
    ----------
    problem : LearningProblem
        Problem of the learner. If `problem.late_rewards`, the feedback consists of rewards only;
        otherwise it also includes the transitions.
    episode : Episode
        Episode with its rewards.
    pieces : int
        Number of delays: 1 to yield the whole episode, or H to yield each of its steps.

    Yields
    ------
    Feedback
        Feedback of the whole episode or of one step.
    """
    whole = whole_episode(episode)
    assert episode.rewards is not None
    for piece in range(min(pieces, episode.actions.size)):
        steps = slice(None) if pieces == 1 else slice(piece, piece + 1)
        rewards = np.full(episode.actions.size, np.nan)
        rewards[steps] = episode.rewards[steps]
        yield rewards_of(whole, rewards)._replace(transitions=not problem.late_rewards)


def explores_along(policy: Policy, states: Ints) -> bool:
    """Return whether `policy` explores at any step of an episode with the states `states`."""
    if policy.explore is None:
        return False
    return bool(policy.explore[np.arange(states.size - 1), states[:-1]].any())


def traced_actions(policy: Policy) -> NDArray[np.int32]:
    """Return the (H, S) actions of `policy`, with -1 at each step and state where it explores."""
    actions = policy.actions.copy()
    if policy.explore is not None:
        actions[policy.explore.any(axis=2)] = -1
    return actions
