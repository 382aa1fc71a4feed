"""The same run in every way there is, to be compared to the bit."""

from dataclasses import fields, replace
from typing import Final, Literal

import numpy as np

from belated.checks.suite import hold
from belated.delays.laws import Law
from belated.learner.bases.base import Base
from belated.learner.plan import Planner
from belated.learner.problem import Planning, Problem, Stages
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.simulation.compiled_run import why_not_compiled
from belated.simulation.run import Run
from belated.simulation.simulate import Setting, known

Engine = Literal["compiled", "reference"]
PLANNING: Final[tuple[Planning, ...]] = ("full", "incremental")
SEED: Final = 3


def obstacle(world: MDP, base: Base | Planner, updater: Updater) -> str | None:
    """Why this cannot run compiled; None if it can."""
    problem = Problem.of(
        world.shape,
        known(base, world),
        world.reward_table(),
        episodes=1,
        stages="each",
        planning="incremental",
        seed=0,
    )
    return why_not_compiled(problem, updater, 1)


def fastest(world: MDP, base: Base | Planner, updater: Updater) -> Engine:
    """The engine that "auto" takes, without its warning."""
    return "compiled" if obstacle(world, base, updater) is None else "reference"


def agree(
    who: str,
    world: MDP,
    base: Base | Planner,
    updater: Updater,
    *,
    delay: Law,
    stages: Stages = "each",
    episodes: int = 40,
) -> None:
    """Hold every way to run this to the bits of the plainest one."""
    setting = Setting(
        world=world,
        base=base,
        updater=updater,
        delay=delay,
        episodes=episodes,
        every=1,
        stages=stages,
        trace=True,
    )
    engines: set[Engine] = {"reference", fastest(world, base, updater)}
    first: Run | None = None
    for engine in sorted(engines, reverse=True):
        for planning in PLANNING:
            run = replace(setting, engine=engine, planning=planning).run(SEED)
            first = first or run
            field = difference(first, run)
            hold(
                field is None,
                f"{who} does not give the same {field} when the {engine} engine plans "
                f"{'everything' if planning == 'full' else 'only what changed'} as when the "
                "reference loop plans everything; they must agree to the bit.",
            )


def difference(one: Run, other: Run) -> str | None:
    """The first field in which two runs are not the same bits."""
    for field in fields(Run):
        if not np.array_equal(getattr(one, field.name), getattr(other, field.name)):
            return field.name
    return None
