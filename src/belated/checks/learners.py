"""Learners with the base or updater under test, and the check of their snapshots."""

import copy
from typing import Final

import numpy as np

from belated.checks.samples import EPISODES, Case
from belated.checks.suite import require
from belated.episode import Episode, Floats, Ints, Policy
from belated.learner.bases.base import BaseAlgorithm
from belated.learner.counts import Counts, to_dense
from belated.learner.learner import Learner
from belated.learner.plan import Plan, Planner
from belated.learner.updaters import Active
from belated.learner.updaters.updater import Updater
from belated.options import Planning, Stages

BATCH_EPISODES: Final = 4
"""Number of episodes whose feedback arrives at the same time."""


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


def require_restorable(
    who: str, base: BaseAlgorithm | Planner, updater: Updater, case: Case
) -> None:
    """Raise AssertionError unless a learner restored from its snapshot continues like the original.

    Each learner has its own copies of the base and the updater, as in a new process. If the base or
    the updater stores state outside the snapshot, this state is lost and the check fails.

    Parameters
    ----------
    who : str
        Name of the checked base or updater in messages.
    base : Base or Planner
        Base of the learner.
    updater : Updater
        Updater of the learner.
    case : Case
        Problem and episodes. The snapshot is taken after the first half of the episodes.
    """
    half = len(case.episodes) // 2
    learner = make_learner(copy.deepcopy(base), case, updater=copy.deepcopy(updater))
    feed(learner, case.episodes[:half])
    restored = Learner.restore(
        learner.snapshot(), base=copy.deepcopy(base), updater=copy.deepcopy(updater)
    )
    after = feed(restored, case.episodes[half:])
    before = feed(learner, case.episodes[half:])
    for number, (original, copied) in enumerate(zip(before, after, strict=True), start=half + 1):
        require(
            original[0] == copied[0] and np.array_equal(original[1], copied[1]),
            f"A learner with {who} that is restored from its snapshot has a different policy or "
            f"value in episode {number} than the original; a part must not keep state of its own.",
        )


def feed(learner: Learner, episodes: list[Episode]) -> list[tuple[Policy, Floats]]:
    """Start `episodes` and pass their feedback to `learner`, in batches of BATCH_EPISODES episodes.

    Return, for each episode, the policy and the values V~_1 of `learner` at its start.
    """
    results = []
    for first in range(0, len(episodes), BATCH_EPISODES):
        batch = episodes[first : first + BATCH_EPISODES]
        for episode in batch:
            results.append((learner.policy, learner.value))
            learner.start(episode.id)
        learner.observe(batch)
    return results
