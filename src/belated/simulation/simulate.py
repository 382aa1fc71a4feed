"""`simulate`: one learner in one world under one delay law."""

import warnings
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from belated.delays.laws import Law, constant, longest_delay
from belated.episode import Ints, check_integer
from belated.exact.values import optimal_actions
from belated.learner.bases import Fixed, Optimal
from belated.learner.bases.base import Base, check_choice
from belated.learner.plan import Planner
from belated.learner.problem import Late, Problem, Stages
from belated.learner.rewards import RewardBonus
from belated.learner.updaters.explicit import ExplicitExploration
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.randomness import check_seed
from belated.simulation.compiled_run import Heard, run_compiled, why_not_compiled
from belated.simulation.engine import PLANNING
from belated.simulation.notice import announce_compilation
from belated.simulation.reference import run_reference
from belated.simulation.run import Run

Engine = Literal["auto", "compiled", "reference"]
Planning = Literal["incremental", "full", "none"]
Per = Literal["episode", "step"]

PART = 2**18
"""Delays that are drawn at once."""


def simulate(
    world: MDP,
    *,
    base: Base | Planner,
    updater: Updater,
    delay: Law | None = None,
    episodes: int,
    seed: int = 0,
    every: int | None = None,
    stages: Stages = "each",
    rewards: Literal["known"] | None = "known",
    late: Late = "everything",
    delay_per: Per = "episode",
    reward_bonus: RewardBonus = "hoeffding",
    engine: Engine = "auto",
    planning: Planning = "incremental",
    trace: bool = False,
) -> Run:
    """Play `episodes` episodes and return the exact regret.

    - `delay`: how late feedback is; not at all if it is not given.
    - `delay_per`: whether an "episode" comes back at once, or each "step" with a delay of its own.
    - `rewards`: "known" to the learner beforehand, as in the paper, or None: unknown, and drawn as
      the world says.
    - `late`: what is late: "everything", or only the "rewards", which are then unknown.
    - `reward_bonus`: how much to hope for unknown rewards, see `belated.learner.rewards`.
    - `every`: keep the regret after every so many episodes; by default about a thousand times.
    - `stages`: count "each" step apart, or "pooled".
    - `engine`: "compiled" code, the "reference" loop in Python, which takes any object for a base
      or an updater, or "auto", the first of them that can. They agree to the bit.
    - `planning`: plan only what changed, "incremental", or everything, "full"; they agree to the
      bit too. "none" keeps the first policy for ever, to measure what else a run costs.
    - `trace`: keep the policy of every episode too.

    Everything random is addressed by `seed`, episode and step, so learners compared under one
    seed meet the same world and the same delays.

    >>> from belated.learner.bases import UCRL2
    >>> from belated.learner.updaters import Active
    >>> from belated.mdp.chain import chain
    >>> run = simulate(chain(3), base=UCRL2(scale=0.1), updater=Active(), episodes=50, seed=7)
    >>> run.updates, run.max_missing
    (49, 0)
    """
    setting = Setting(
        world=world,
        base=base,
        updater=updater,
        delay=delay,
        episodes=episodes,
        every=every,
        stages=stages,
        rewards=rewards,
        late=late,
        delay_per=delay_per,
        reward_bonus=reward_bonus,
        engine=engine,
        planning=planning,
        trace=trace,
    )
    return setting.run(seed)


def _ignore(episodes: int) -> None:
    """Nobody listens."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Everything that determines a run but the seed."""

    world: MDP
    base: Base | Planner
    updater: Updater
    delay: Law | None = None
    episodes: int
    every: int | None = None
    stages: Stages = "each"
    rewards: Literal["known"] | None = "known"
    late: Late = "everything"
    delay_per: Per = "episode"
    reward_bonus: RewardBonus = "hoeffding"
    engine: Engine = "auto"
    planning: Planning = "incremental"
    trace: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.world, MDP):
            raise TypeError(f"world is {self.world!r}; it must be an MDP.")
        if not isinstance(self.updater, Updater):
            raise TypeError(f"updater is {self.updater!r}; it must be an Updater such as Active().")
        if not isinstance(self.delay, Law | None):
            raise TypeError(f"delay is {self.delay!r}; it must be a law of belated.delays.")
        check_integer("episodes", self.episodes, 1)
        if self.every is not None:
            check_integer("every", self.every, 1)
        check_choice("delay_per", self.delay_per, ("episode", "step"))
        if self.rewards is not None and not (
            isinstance(self.rewards, str) and self.rewards == "known"
        ):
            raise ValueError(f"rewards is {self.rewards!r}; it must be 'known' or None, unknown.")
        check_choice("engine", self.engine, ("auto", "compiled", "reference"))
        check_choice("planning", self.planning, PLANNING)
        problem = self.problem(0)
        if isinstance(problem.base, Base):
            _ = problem.kernel  # which may refuse the shape

    def problem(self, seed: int) -> Problem:
        """What the learner is told under this seed; refuses what does not go together."""
        return Problem.of(
            self.world.shape,
            known(self.base, self.world),
            self.world.reward_table() if self.rewards == "known" else None,
            episodes=self.episodes,
            stages=self.stages,
            late=self.late,
            reward_bonus=self.reward_bonus,
            planning="full" if self.planning == "full" else "incremental",
            seed=seed,
        )

    def run(self, seed: int, heard: Heard = _ignore) -> Run:
        """One run; `heard` is told of the episodes played, now and then."""
        seed = check_seed(seed)
        every = max(1, self.episodes // 1000) if self.every is None else self.every
        steps = self.world.shape.horizon if self.delay_per == "step" else 1
        law = self.delay or constant(0)
        delays = draw_delays(law, seed, self.episodes, steps=steps, heard=heard)
        updater = told(self.updater, delays)
        problem = self.problem(seed)
        what = (self.world, problem, updater, delays)
        if self._compiled(problem, updater, steps):
            announce_compilation()
            return run_compiled(
                *what,
                seed=seed,
                every=every,
                trace=self.trace,
                planning=self.planning,
                heard=heard,
            )
        return run_reference(*what, seed=seed, every=every, trace=self.trace, heard=heard)

    def _compiled(self, problem: Problem, updater: Updater, parcels: int) -> bool:
        if self.engine == "reference":
            if self.planning == "none":
                raise ValueError("planning is 'none', which the reference loop does not offer.")
            return False
        reason = why_not_compiled(problem, updater, parcels)
        if reason is None:
            return True
        if self.engine == "compiled":
            raise ValueError(f"engine is 'compiled', but {reason}; use 'auto' or 'reference'.")
        if self.planning == "none":
            raise ValueError(f"planning is 'none', which needs compiled code, but {reason}.")
        warnings.warn(f"Running the slower reference loop: {reason}.", stacklevel=4)
        return False


def draw_delays(law: Law, seed: int, episodes: int, *, steps: int, heard: Heard) -> Ints:
    """All delays of a run, (episodes, steps): one for each episode, or for each of its steps.

    They are drawn in parts, so that whoever listens can stop a long run.
    """
    delays = np.zeros((episodes, steps), np.int64)
    for step in range(steps):
        for first in range(0, episodes, PART):
            part = delays[first : first + PART, step]
            part[:] = law.draw(seed=seed, episodes=part.size, first=first + 1, step=step)
            if first + PART < episodes:
                heard(0)
    return delays


def known(base: Base | Planner, world: MDP) -> Base | Planner:
    """The optimal policy is told, since it cannot be learnt."""
    if not isinstance(base, Optimal):
        return base
    return Fixed(actions=optimal_actions(world).argmax(axis=2))


def told(updater: Updater, delays: Ints) -> Updater:
    """Explicit exploration is told the largest delay, as in the paper, unless it knows better."""
    if not isinstance(updater, ExplicitExploration):
        return updater
    if updater.tau_max is not None or updater.threshold is not None:
        return updater
    most = longest_delay(delays)
    if most == float("inf"):
        raise ValueError(
            "An episode never comes back, so there is no largest delay; "
            "give ExplicitExploration a tau_max or a threshold."
        )
    return replace(updater, tau_max=most)
