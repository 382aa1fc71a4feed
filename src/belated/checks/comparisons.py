"""Comparisons of runs and learners that must be equal to the bit."""

import copy
from dataclasses import fields, replace
from itertools import product
from typing import Final, Literal

import numpy as np

from belated.checks.samples import Case, make_learner
from belated.checks.suite import require
from belated.episode import Episode, Floats, Policy
from belated.learner.bases.base import BaseAlgorithm
from belated.learner.learner import Learner
from belated.learner.plan import Planner
from belated.learner.updaters.updater import Updater
from belated.simulation.compiled_run import why_not_compiled
from belated.simulation.run import Run
from belated.simulation.simulation import Simulation

SEED: Final = 3
BATCH_EPISODES: Final = 4
"""Number of episodes whose feedback arrives at the same time."""


def compile_obstacle(setting: Simulation) -> str | None:
    """Return the reason why the compiled engine cannot run `setting`, or None if it can."""
    return why_not_compiled(setting.problem(0), 1)


def fastest_engine(setting: Simulation) -> Literal["compiled", "reference"]:
    """Return the engine that `engine="auto"` selects for `setting`. No warning is issued."""
    return "compiled" if compile_obstacle(setting) is None else "reference"


def require_equal_runs(who: str, setting: Simulation) -> None:
    """Raise AssertionError unless all engines and planning modes give the same run of `setting`.

    Results must be bit-identical. `who` is the name of the checked object in messages.
    """
    expected: Run | None = None
    fastest = fastest_engine(setting)
    engines = dict.fromkeys(("reference", fastest))
    traced = product(engines, ("full", "incremental", "auto"), (True,))
    # without a trace, values that no result depends on need not be computed
    for engine, planning, trace in [*traced, (fastest, "auto", False)]:
        options = {"engine": engine, "planning": planning, "every": 1, "trace": trace}
        run = replace(setting, **options).run(SEED)
        expected = expected or run
        field = first_difference(expected if trace else replace(expected, policies=None), run)
        require(
            field is None,
            f"{who} gives a different {field} with the {engine} engine and {planning} planning "
            "than with the reference engine and full planning; they must be equal to the bit.",
        )


def first_difference(run: Run, other: Run) -> str | None:
    """Return the name of the first field in which `run` and `other` differ, or None if equal."""
    for field in fields(Run):
        if not np.array_equal(getattr(run, field.name), getattr(other, field.name)):
            return field.name
    return None


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
