"""The compiled engine's driver: stretches of episodes, so that callers hear back and may stop."""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import JIT
from belated.delays.laws import longest_delay
from belated.episode import Floats, Ints
from belated.exact.incremental import arrays_of
from belated.exact.values import optimal_table
from belated.learner.backup import as_backup
from belated.learner.bases.base import Base
from belated.learner.counts import roomy
from belated.learner.learner import restless
from belated.learner.planning import rules_of
from belated.learner.problem import Problem
from belated.learner.status import share
from belated.learner.stepwise import roomier
from belated.learner.updaters import Active, ExplicitExploration, Lazy, MultiInstance
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.simulation import engine
from belated.simulation.exploring import exploring
from belated.simulation.ring import full, grown
from belated.simulation.run import Run, checkpoints
from belated.theory import missing, owners, psi
from belated.theory.alpha import lazy_terms

STRETCH = 0.1
"""Seconds between two calls of `heard`, about."""

Heard = Callable[[int], None]
"""Called with the number of episodes played since the last call; may raise to stop the run."""


def why_not_compiled(problem: Problem, updater: Updater, parcels: int) -> str | None:
    """Why the compiled engine cannot run this, in a few words; None if it can."""
    base = problem.base
    if not isinstance(base, Base):
        return f"the base {type(base).__name__} is a Python object"
    if JIT and not as_backup(problem.kernel.backup).compiled:
        return f"the backup of {type(base).__name__} is a plain Python function (see bl.backup)"
    if type(updater) not in (Active, Lazy, ExplicitExploration, MultiInstance):
        return f"the updater {type(updater).__name__} is a Python object"
    if isinstance(updater, MultiInstance) and (parcels > 1 or problem.late_rewards):
        return "a copy of MultiInstance hears of one episode at several times"
    return None


class Played(NamedTuple):
    """What came of the episodes of one instance."""

    gaps: Floats  # V* - V^pi of each
    alphas: Floats  # of each, if it is chosen; else empty
    tally: Ints  # the engine's
    counts: Ints  # by row, visits that have come back
    lost: Ints  # and visits that have not


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
    """Play one episode for each row of delays."""
    episodes = len(delays)
    shape = problem.shape
    policies = np.zeros((episodes if trace else 0, shape.horizon, shape.states), np.int32)
    player = Player(world, problem, updater, planning, heard)
    if isinstance(updater, MultiInstance):
        played, updates, instances = play_copies(player, delays, policies)
    else:
        played = player(0, np.arange(1, episodes + 1), delays, policies)
        updates, instances = int(played.tally[engine.PLANS]) - 1, 1
    at = checkpoints(episodes, every)
    tally = played.tally
    mean_delay = int(tally[engine.WAITED]) / episodes
    assert isinstance(problem.base, Base)
    return Run(
        seed=seed,
        episodes=episodes,
        episode=at,
        regret=np.add.accumulate(played.gaps)[at - 1],
        updates=updates,
        epochs=updates + instances,
        max_missing=int(tally[engine.MAX_MISSING]),
        optimism_broken=int(tally[engine.BROKEN]),
        instances=instances,
        last_explored=int(tally[engine.LAST_EXPLORED]),
        longest_delay=float(longest_delay(delays)),
        missing=int(tally[engine.MISSING]),
        mean_delay=mean_delay,
        psi=psi(mean_delay, episodes, problem.base.delta),
        in_flight=share(played.lost, played.counts).reshape(-1, shape.states, shape.actions),
        alpha=played.alphas[at - 1] if played.alphas.size else None,
        policies=policies if trace else None,
    )


def play_copies(
    play: "Player", delays: Ints, policies: NDArray[np.int32]
) -> tuple[Played, int, int]:
    """What came of all instances together, how often they planned, and how many they were.

    Instances do not meet: each plays its own episodes, one after another, as if there were no
    delay. Who plays what follows from the delays alone.
    """
    taus = delays[:, 0]
    episodes = taus.size
    owner = owners(taus)
    back = np.arange(1, episodes + 1) + taus < episodes  # before the last episode begins
    gaps = np.zeros(episodes)
    tally = np.zeros(engine.TALLIES, np.int64)
    counts, lost = np.zeros((2, play.problem.rows), np.int64)
    for instance in range(int(owner.max()) + 1):
        mine = np.flatnonzero(owner == instance)
        part = np.zeros((mine.size if policies.size else 0, *policies.shape[1:]), np.int32)
        own = play(instance, mine + 1, np.zeros((mine.size, 1), np.int64), part)
        gaps[mine] = own.gaps
        tally[engine.BROKEN] += own.tally[engine.BROKEN]
        counts += own.counts
        # to itself, an instance never hears of its last episode
        (counts if back[mine[-1]] else lost)[:] += own.lost
        if policies.size:
            policies[mine] = part
    outstanding = missing(taus)
    tally[engine.MAX_MISSING] = outstanding.max()
    tally[engine.WAITED] = outstanding.sum()
    tally[engine.MISSING] = outstanding[-1] + 1
    played = Played(gaps, np.zeros(0), tally, counts, lost)
    return played, int(np.count_nonzero(back)), int(owner.max()) + 1


class Player:
    """Plays the episodes of one instance after another in one world."""

    def __init__(
        self, world: MDP, problem: Problem, updater: Updater, planning: str, heard: Heard
    ) -> None:
        base = problem.base
        assert isinstance(base, Base)
        self.base = base
        self.problem = problem
        self.updater = updater
        self.heard = heard
        self.kernel = problem.kernel
        self.rules = rules_of(base, self.kernel)
        self.planning = engine.PLANNING.index(planning)
        self.world = arrays_of(world)
        self.v_star = optimal_table(world)[0]

    def scheme(self, instance: int, episodes: int) -> engine.Scheme:
        """What is fixed for one instance."""
        problem, base = self.problem, self.base
        return engine.Scheme(
            planning=self.planning,
            seed=problem.seed,
            instance=instance,
            last=episodes,
            hope=problem.hope,
            unknown=problem.rewards is None,
            late_rewards=problem.late_rewards,
            stepwise=base.stepwise,
            restless=restless(base, self.updater),
            auto=isinstance(self.updater, Lazy) and self.updater.alpha == "auto",
        )

    def __call__(
        self, instance: int, labels: Ints, delays: Ints, policies: NDArray[np.int32]
    ) -> Played:
        """Play one episode for each label, with its row of delays."""
        problem, updater, base = self.problem, self.updater, self.base
        episodes, parcels = delays.shape
        scheme = self.scheme(instance, episodes)
        alpha = updater.alpha if isinstance(updater, Lazy) else math.inf
        terms = np.zeros(0)
        if alpha == "auto":
            alpha, K = math.inf, problem.episodes
            terms = lazy_terms(problem.shape, episodes=K, base=base.name, delta=base.delta)
        counts, mind, flying = engine.fresh(
            problem, alpha=alpha, terms=terms, parcels=parcels, episodes=episodes
        )
        explore = exploring(base, updater, problem.shape)
        batch = as_backup(self.kernel.backup).batch
        fixed = (batch, self.kernel.constants, self.rules, scheme, self.world)
        engine.think(*fixed, counts, mind, explore, True)
        gaps = np.zeros(episodes)
        alphas = np.zeros(episodes if scheme.auto else 0)
        done, stretch = 0, 32
        while done < episodes:
            part = slice(done, min(done + stretch, episodes))
            began = time.perf_counter()
            played = engine.advance(
                *fixed,
                self.v_star,
                counts,
                mind,
                explore,
                flying,
                done + 1,
                labels[part],
                delays[part],
                gaps[part],
                alphas[part],
                policies[part],
            )
            took = time.perf_counter() - began
            if played < part.stop - part.start:
                counts = roomy(counts, problem.shape.horizon)
                flying = grown(flying) if full(flying, parcels) else flying
                if scheme.stepwise:
                    mind = mind._replace(box=roomier(mind.box, problem.shape.horizon))
            self.heard(played)
            done += played
            stretch = max(1, min(4 * stretch, int(played * STRETCH / max(took, 1e-9))))
        late = mind.earned.n if scheme.late_rewards else counts.n
        return Played(gaps, alphas, mind.tally, late, mind.lost)
