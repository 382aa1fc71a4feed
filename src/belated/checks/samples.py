"""Small random problems, and learners of them, for the checks of bases and updaters."""

from typing import Final, NamedTuple

import numpy as np

from belated.episode import Episode, Floats, Ints, Shape
from belated.learner.bases.base import BaseAlgorithm
from belated.learner.counts import Counts, to_dense
from belated.learner.learner import Learner
from belated.learner.plan import Plan, Planner
from belated.learner.updaters import Active
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.options import Planning, Stages

EPISODES: Final = 500
"""Number of episodes K for which bases plan in every sample problem."""

SHAPES: Final = (Shape(2, 2, 1), Shape(3, 2, 3), Shape(4, 3, 4))
"""Sizes (S, A, H) of the sample problems."""


class Case(NamedTuple):
    """Sample problem with observations, given both as episodes and as dense counts."""

    shape: Shape  # sizes (S, A, H)
    rewards: Floats  # mean rewards, (H, S, A)
    episodes: list[Episode]  # observed episodes, numbered from 1
    n: Ints  # visits, (H, S, A)
    m: Ints  # transitions, (H, S, A, S)


def sample_case(shape: Shape, seed: int, *, episodes: int) -> Case:
    """Return a sample problem with observations of uniformly random states and actions.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    seed : int
        Seed of the random numbers.
    episodes : int
        Number of episodes to draw.

    Returns
    -------
    Case
        The problem and its observations.
    """
    random = np.random.default_rng(seed)
    H, S, A = shape.table
    observed = [
        Episode(i, random.integers(0, S, H + 1), random.integers(0, A, H))
        for i in range(1, episodes + 1)
    ]
    m = np.zeros((H, S, A, S), np.int64)
    for episode in observed:
        np.add.at(m, (np.arange(H), episode.states[:-1], episode.actions, episode.states[1:]), 1)
    return Case(shape, random.random(shape.table), observed, m.sum(axis=3), m)


def sample_cases(shape: Shape) -> list[Case]:
    """Return three sample problems of size `shape`, with 0, 3 and 300 observed episodes."""
    return [sample_case(shape, seed, episodes=count) for seed, count in enumerate((0, 3, 300))]


def random_world(shape: Shape, seed: int, *, climbs: bool = False) -> MDP:
    """Return a random world of size `shape`, drawn with `seed`.

    Some transitions have probability 0. If `climbs`, episodes start in state 0, and a step leads at
    most to the next higher state, so that higher states cannot be reached at the first steps.
    """
    random = np.random.default_rng(seed)
    H, S, A = shape.table
    p = random.dirichlet(np.full(S, 0.7), (H, S, A))
    keep = random.random(p.shape) < 0.7
    keep[..., random.integers(S)] = True
    start = random.dirichlet(np.ones(S))
    if climbs:
        keep = np.broadcast_to(np.tri(S, S, 1, np.bool_)[:, None], p.shape)
        p += 2 * np.eye(S, k=1)[:, None]  # so that most episodes get far
        start = np.eye(S)[0]
    p = np.where(keep, np.maximum(p, 1e-3), 0.0)
    p /= p.sum(axis=3, keepdims=True)
    return MDP.dense(p, random.random((H, S, A)), start=start)


def make_learner(
    base: BaseAlgorithm | Planner,
    case: Case,
    *,
    updater: Updater | None = None,
    planning: Planning = "auto",
    stages: Stages = "each",
) -> Learner:
    """Return a new learner without observations.

    Parameters
    ----------
    base : Base or Planner
        Base of the learner.
    case : Case
        Problem whose shape and rewards are used; its observations are ignored.
    updater : Updater, optional
        Updater of the learner; active updating if not given.
    planning, stages
        Options of `Learner` with the same names.

    Returns
    -------
    Learner
        The new learner.
    """
    return Learner(
        case.shape,
        base=base,
        updater=updater or Active(),
        rewards=case.rewards,
        episodes=EPISODES,
        planning=planning,
        stages=stages,
    )


def current_plan(learner: Learner) -> Plan:
    """Return the current plan of `learner`."""
    table = learner.snapshot()["instances"][0]["table"]
    return Plan(table["actions"], table["q"].reshape(learner.shape.table), table["v"])


def current_counts(learner: Learner) -> tuple[Ints, Ints, Floats]:
    """Return visits N', transitions M' and rewards, from which `learner` plans, as dense arrays."""
    state = learner.snapshot()["instances"][0]
    n, m = to_dense(learner.shape, Counts(**state["counts"]))
    return n, m, state["rewards"].reshape(learner.shape.table)


def plans_equal(plan: Plan, other: Plan) -> bool:
    """Return whether `plan` and `other` are bit-identical."""
    return all(
        np.array_equal(getattr(plan, name), getattr(other, name)) for name in ("policy", "q", "v")
    )
