"""A learner with the part in it: taught, looked into, and taken down and set up again."""

import copy
from typing import Final

import numpy as np

from belated.checks.samples import EPISODES, Case
from belated.checks.suite import hold
from belated.episode import Episode, Floats, Ints, Policy
from belated.learner.bases.base import Base
from belated.learner.counts import Counts, to_dense
from belated.learner.learner import Learner
from belated.learner.plan import Plan, Planner
from belated.learner.problem import Planning, Stages
from belated.learner.updaters import Active
from belated.learner.updaters.updater import Updater

BATCH: Final = 4


def learner_of(
    base: Base | Planner,
    case: Case,
    *,
    updater: Updater | None = None,
    planning: Planning = "incremental",
    stages: Stages = "each",
) -> Learner:
    """A learner that has observed nothing yet."""
    return Learner(
        case.shape,
        base=base,
        updater=updater or Active(),
        rewards=case.rewards,
        episodes=EPISODES,
        planning=planning,
        stages=stages,
    )


def plan_in(learner: Learner) -> Plan:
    """The plan that a learner is at."""
    table = learner.snapshot()["instances"][0]["table"]
    return Plan(table["actions"], table["q"].reshape(learner.shape.table), table["v"])


def counts_in(learner: Learner) -> tuple[Ints, Ints, Floats]:
    """N', M' and the rewards that a learner plans from."""
    state = learner.snapshot()["instances"][0]
    n, m = to_dense(learner.shape, Counts(**state["counts"]))
    return n, m, state["rewards"].reshape(learner.shape.table)


def same_plan(one: Plan, other: Plan) -> bool:
    """Whether two plans are the same bits."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("policy", "q", "v")
    )


def comes_back(who: str, base: Base | Planner, updater: Updater, case: Case) -> None:
    """Hold that a learner restored from its snapshot goes on as the one it was taken of.

    Each has a copy of the parts, as a new process would: what a part keeps to itself is lost.
    """
    half = len(case.episodes) // 2
    learner = learner_of(copy.deepcopy(base), case, updater=copy.deepcopy(updater))
    go_on(learner, case.episodes[:half])
    restored = Learner.restore(
        learner.snapshot(), base=copy.deepcopy(base), updater=copy.deepcopy(updater)
    )
    again = go_on(restored, case.episodes[half:])
    usual = go_on(learner, case.episodes[half:])
    for at, (one, other) in enumerate(zip(usual, again, strict=True), start=half + 1):
        hold(
            one[0] == other[0] and np.array_equal(one[1], other[1]),
            f"A learner with {who} that is restored from its snapshot plays episode {at} "
            "otherwise than the one that went on; a part must not keep anything to itself.",
        )


def go_on(learner: Learner, episodes: list[Episode]) -> list[tuple[Policy, Floats]]:
    """The policy and the value before each of these episodes, which come back in batches."""
    seen = []
    for first in range(0, len(episodes), BATCH):
        batch = episodes[first : first + BATCH]
        for episode in batch:
            seen.append((learner.policy, learner.value))
            learner.start(episode.id)
        learner.observe(batch)
    return seen
