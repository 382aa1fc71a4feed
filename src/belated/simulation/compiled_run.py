"""The compiled engine's driver: stretches of episodes, so that callers hear back and may stop."""

import math
import time
from collections.abc import Callable

import numpy as np

from belated.compiled import JIT
from belated.delays.laws import longest
from belated.episode import Floats, Ints
from belated.exact.incremental import arrays_of
from belated.exact.values import optimal_table
from belated.learner.backup import as_backup
from belated.learner.bases.base import Base, kernel_of
from belated.learner.counts import roomy
from belated.learner.planning import rules_of
from belated.learner.problem import Problem
from belated.learner.updaters import Active, ExplicitExploration, Lazy, MultiInstance
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.simulation import engine
from belated.simulation.exploring import exploring
from belated.simulation.ring import full, grown
from belated.simulation.run import Run, checkpoints
from belated.theory import missing, owners

STRETCH = 0.1
"""Seconds between two calls of `heard`, about."""

Heard = Callable[[int], None]
"""Called with the number of episodes played since the last call; may raise to stop the run."""


def why_not_compiled(problem: Problem, updater: Updater) -> str | None:
    """Why the compiled engine cannot run this, in a few words; None if it can."""
    base = problem.base
    if not isinstance(base, Base):
        return f"the base {type(base).__name__} is a Python object"
    backup = base.kernel(problem.shape, problem.episodes).backup
    if JIT and not as_backup(backup).compiled:
        return f"the backup of {type(base).__name__} is a plain Python function (see bl.backup)"
    if type(updater) not in (Active, Lazy, ExplicitExploration, MultiInstance):
        return f"the updater {type(updater).__name__} is a Python object"
    return None


def run_compiled(
    world: MDP,
    problem: Problem,
    updater: Updater,
    delays: Ints,
    *,
    seed: int,
    every: int,
    trace: bool,
    planning: str,
    heard: Heard,
) -> Run:
    """Play one episode for each delay."""
    episodes = delays.size
    shape = problem.shape
    at = checkpoints(episodes, every)
    policies = np.zeros((episodes if trace else 0, shape.horizon, shape.states), np.int32)
    play = Player(world, problem, updater, planning, heard)
    if isinstance(updater, MultiInstance):
        # Instances do not meet: each plays its own episodes, one after another, as if there
        # were no delay. Who plays what follows from the delays alone.
        owner = owners(delays)
        instances = int(owner.max()) + 1
        gaps = np.zeros(episodes)
        tally = np.zeros(engine.TALLIES, np.int64)
        for instance in range(instances):
            mine = np.flatnonzero(owner == instance)
            part = np.zeros((mine.size if trace else 0, *policies.shape[1:]), np.int32)
            own_gaps, own = play(instance, mine + 1, np.zeros_like(mine), part)
            gaps[mine] = own_gaps
            tally[engine.BROKEN] += own[engine.BROKEN]
            if trace:
                policies[mine] = part
        updates = int(np.count_nonzero(np.arange(1, episodes + 1) + delays < episodes))
        max_missing = int(missing(delays).max())
    else:
        instances = 1
        gaps, tally = play(0, np.arange(1, episodes + 1), delays, policies)
        updates = int(tally[engine.PLANS]) - 1
        max_missing = int(tally[engine.MAX_MISSING])
    return Run(
        seed=seed,
        episodes=episodes,
        episode=at,
        regret=np.add.accumulate(gaps)[at - 1],
        updates=updates,
        epochs=updates + instances,
        max_missing=max_missing,
        optimism_broken=int(tally[engine.BROKEN]),
        instances=instances,
        last_explored=int(tally[engine.LAST_EXPLORED]),
        longest_delay=float(longest(delays)),
        policies=policies if trace else None,
    )


class Player:
    """Plays the episodes of one instance after another in one world."""

    def __init__(
        self, world: MDP, problem: Problem, updater: Updater, planning: str, heard: Heard
    ) -> None:
        base = problem.base
        assert isinstance(base, Base)
        self.problem = problem
        self.updater = updater
        self.heard = heard
        self.kernel = kernel_of(base, problem.shape, problem.episodes)
        self.rules = rules_of(base, self.kernel)
        self.planning = engine.PLANNING.index(planning)
        self.world = arrays_of(world)
        self.v_star = optimal_table(world)[0]

    def __call__(
        self, instance: int, labels: Ints, delays: Ints, policies: np.ndarray
    ) -> tuple[Floats, Ints]:
        """The gaps V* - V^pi of each episode, and the engine's tally."""
        alpha = self.updater.alpha if isinstance(self.updater, Lazy) else math.inf
        scheme = engine.Scheme(self.planning, alpha, self.problem.seed, instance, labels.size)
        counts, mind, flying = engine.fresh(self.problem)
        explore = exploring(self.updater, self.problem.shape)
        batch = as_backup(self.kernel.backup).batch
        fixed = (batch, self.kernel.constants, self.rules, scheme, self.world)
        rewards = self.problem.rewards.reshape(mind.table.q.shape)
        engine.think(*fixed, rewards, counts, mind, explore)
        gaps = np.zeros(labels.size)
        done, stretch = 0, 32
        while done < labels.size:
            part = slice(done, min(done + stretch, labels.size))
            began = time.perf_counter()
            played = engine.advance(
                *fixed,
                self.v_star,
                rewards,
                counts,
                mind,
                explore,
                flying,
                done + 1,
                labels[part],
                delays[part],
                gaps[part],
                policies[part],
            )
            took = time.perf_counter() - began
            if played < part.stop - part.start:
                counts = roomy(counts, self.problem.shape.horizon)
                flying = grown(flying) if full(flying) else flying
            self.heard(played)
            done += played
            stretch = max(1, min(4 * stretch, int(played * STRETCH / max(took, 1e-9))))
        return gaps, mind.tally
