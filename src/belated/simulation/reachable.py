"""States that can be reached at each step: a simulation needs no plan for the others."""

import numpy as np

from belated.episode import Ints
from belated.learner.problem import LearningProblem
from belated.learner.state import plans_whole_stages
from belated.mdp.model import MDP


def find_reach(world: MDP, problem: LearningProblem) -> Ints:
    """Return for each step the number of states that need values in a simulation of `problem`.

    States above the largest one that `world` can reach at a step are never visited there, and their
    values are not read at other steps that can be reached. This requires a backup that reads only
    the values of successors. One that reads all values for a row without observations, but is
    elementwise, is possible if counts are pooled: then plans compute all values until each row that
    can be visited has observations. For all other backups, the number is S.

    Parameters
    ----------
    world : MDP
        World to simulate.
    problem : LearningProblem
        Problem of the learner.

    Returns
    -------
    Ints
        (H + 1) The number for each step, and the largest of them. See `Config.reach`.
    """
    H, S = problem.shape.horizon, problem.shape.states
    pooled = problem.stages == "pooled"
    reads = problem.backup_rule.reads if problem.algorithm.planner is None else "order"
    if not (reads == "successors" or (reads == "everything" and pooled)):
        return np.full(H + 1, S)
    if not plans_whole_stages(problem):
        return np.full(H + 1, S)
    return reachable(world, any_step=pooled)


def reachable(world: MDP, *, any_step: bool) -> Ints:
    """Return for each step one more than the largest state that can be reached, then the maximum.

    Parameters
    ----------
    world : MDP
        World.
    any_step : bool
        Whether a state is also regarded as a successor of another one if it is one at another step,
        as if the transition probabilities did not depend on the step.

    Returns
    -------
    Ints
        (H + 1) The number for each step, and the largest of them.
    """
    H, S = world.shape.horizon, world.shape.states
    rows = np.repeat(np.arange(world.ptr.size - 1), np.diff(world.ptr))
    step, state = np.divmod(rows // world.shape.actions, S)
    stages = 1 if any_step else (world.ptr.size - 1) // (S * world.shape.actions)
    pairs = np.unique((step % stages * S + state) * S + world.succ)  # of a state and a successor
    state, after = np.divmod(pairs % (S * S), S)
    first = np.searchsorted(pairs, np.arange(stages + 1) * S * S).tolist()
    reach = np.zeros(H + 1, np.int64)
    now = world.start > 0
    for h in range(H):
        reach[h] = np.flatnonzero(now)[-1] + 1
        part = slice(first[h % stages], first[h % stages + 1])
        reached = after[part][now[state[part]]]
        now = np.zeros(S, np.bool_)
        now[reached] = True
    reach[H] = reach.max()
    return reach
