"""Small random problems, and comparisons of learners and runs that must be equal to the bit."""

import copy
from dataclasses import fields, replace
from itertools import product
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from belated.checks.suite import require
from belated.episode import Episode, Floats, Ints, Policy, Shape
from belated.learner.bases.base import BaseAlgorithm
from belated.learner.instance import to_dense
from belated.learner.learner import Learner
from belated.learner.plan import Plan, Planner
from belated.learner.state import Counts
from belated.learner.updaters import Active
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.simulation.compiled_run import why_not_compiled
from belated.simulation.run import Run
from belated.simulation.simulation import Simulation

EPISODES: Final = 500
"""Number of episodes K for which bases plan in every sample problem."""

SHAPES: Final = (Shape(2, 2, 1), Shape(3, 2, 3), Shape(4, 3, 4))
"""Sizes (S, A, H) of the sample problems."""

SEED: Final = 3
BATCH_EPISODES: Final = 4
"""Number of episodes whose feedback arrives at the same time."""


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


def random_world(shape: Shape, seed: int) -> MDP:
    """Return a random world of size `shape`, drawn with `seed`, with impossible transitions."""
    random = np.random.default_rng(seed)
    H, S, A = shape.table
    p = random.dirichlet(np.full(S, 0.7), (H, S, A))
    keep = random.random(p.shape) < 0.7
    keep[..., random.integers(S)] = True
    start = random.dirichlet(np.ones(S))
    p = np.where(keep, np.maximum(p, 1e-3), 0.0)
    p /= p.sum(axis=3, keepdims=True)
    return MDP.dense(p, random.random((H, S, A)), start=start)


def make_learner(base: BaseAlgorithm | Planner, case: Case, **options: Any) -> Learner:
    """Return a new learner without observations.

    Parameters
    ----------
    base : Base or Planner
        Base of the learner.
    case : Case
        Problem whose shape and rewards are used; its observations are ignored.
    **options
        Options of `Learner`; by default the updater is active.

    Returns
    -------
    Learner
        The new learner.
    """
    given = {"updater": Active(), "rewards": case.rewards, "episodes": EPISODES, **options}
    return Learner(case.shape, base=base, **given)


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


def fastest_engine(setting: Simulation) -> Literal["compiled", "reference"]:
    """Return the engine that `engine="auto"` selects for `setting`. No warning is issued."""
    return "compiled" if why_not_compiled(setting.problem(0), 1) is None else "reference"


def require_equal_runs(who: str, setting: Simulation) -> None:
    """Raise AssertionError unless all engines and planning modes give the same run of `setting`.

    Results must be bit-identical. `who` is the name of the checked object in messages.
    """
    expected: Run | None = None
    fastest = fastest_engine(setting)
    traced = product(dict.fromkeys(("reference", fastest)), ("full", "incremental"), (True,))
    # without a trace, values that no result depends on need not be computed
    for engine, planning, trace in [*traced, (fastest, "incremental", False)]:
        options = {"engine": engine, "planning": planning, "every": 1, "trace": trace}
        run = replace(setting, **options).run(SEED)
        expected = expected or run
        for field in fields(Run):
            require(
                (field.name == "policies" and not trace)
                or np.array_equal(getattr(run, field.name), getattr(expected, field.name)),
                f"{who} gives a different {field.name} with the {engine} engine and {planning} "
                "planning than with the reference engine and full planning; they must be equal to "
                "the bit.",
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
