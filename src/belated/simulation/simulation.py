"""`simulate`, and all inputs of a run except the seed.

A `Simulation` holds them as objects, checked and ready to run; a `Setting` as texts and numbers.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Literal

import numpy as np

from belated.check import check_choice, check_integer
from belated.delays.laws import Law, constant, longest_delay
from belated.delays.laws import parse as parse_delay
from belated.episode import Ints
from belated.exact.values import optimal_actions
from belated.learner.bases import BASE_NAMES
from belated.learner.bases.base import BaseAlgorithm, Planner
from belated.learner.problem import LearningProblem
from belated.learner.updaters import UPDATER_NAMES
from belated.learner.updaters.updater import Updater
from belated.mdp.model import MDP
from belated.mdp.worlds import world as parse_world
from belated.options import (
    CHOICES,
    LearnerOptions,
    SimulationOptions,
    accepts,
    option_values,
)
from belated.randomness import check_seed
from belated.simulation.compiled_run import OnProgress, run_compiled, why_not_compiled
from belated.simulation.reference import run_reference
from belated.simulation.run import CheckpointReporter, OnCheckpoint, Run, checkpoints

Engine = Literal["auto", "compiled", "reference", "gpu"]
OptimismCheck = Literal["start", "everywhere"]

DELAYS_PER_BLOCK: Final = 2**18
"""Number of delays drawn between two calls of `on_progress`."""


def ignore_progress(episodes: int) -> None:
    """Do nothing; this is the default for `on_progress`. `episodes` is ignored."""


@dataclass(frozen=True, kw_only=True)
class Simulation(SimulationOptions):
    """All inputs of a run except the seed; together with a seed, they determine the result.

    Parameters
    ----------
    world : MDP
        World to simulate.
    base : BaseAlgorithm, Planner or str
        Base algorithm, or its name; names are replaced by the objects they name.
    updater : Updater or str
        Rule that decides when to plan, or its name.
    delay : Law or str, optional
        Delay law, or its name; by default there is no delay.
    episodes : int
        Number of episodes, at least 1.
    rewards : "known", "unknown", None or array_like
        "known": the learner is given the world's mean rewards. "unknown" or None: rewards are drawn
        and observed with the feedback. An array of shape (H, S, A) or (S, A): the learner is given
        these mean rewards.
    every : int, optional
        Number of episodes between two checkpoints; by default `episodes` // `points`, at least 1,
        with early checkpoints before the first (see `checkpoints`).
    points : int
        Approximate number of checkpoints if `every` is None.
    engine : {"auto", "compiled", "reference", "gpu"}
        Implementation of the simulation: the compiled engine, the reference loop or the GPU engine.
        "auto" selects the compiled engine if it supports the setting, else the reference loop.
    trace : bool
        Whether to record the policy of every episode.
    optimism : {"start", "everywhere"}
        Where optimism is checked, V~_h(s) >= V*_h(s): at the first state of each episode, or at
        every step and state.
    """

    world: MDP
    base: BaseAlgorithm | Planner
    updater: Updater
    delay: Law | None = None
    episodes: int
    rewards: Any = "known"
    every: int | None = None
    points: int = 1000
    engine: Engine = "auto"
    trace: bool = False
    optimism: OptimismCheck = "start"

    def __post_init__(self) -> None:
        if not isinstance(self.world, MDP):
            raise TypeError(f"world must be an MDP, got {self.world!r}.")
        object.__setattr__(self, "base", BASE_NAMES.parse(self.base))
        object.__setattr__(self, "updater", UPDATER_NAMES.parse(self.updater))
        if self.delay is not None:
            object.__setattr__(self, "delay", parse_delay(self.delay))
        if not isinstance(self.delay, Law | None):
            number = self.delay if isinstance(self.delay, int | float) else 100
            raise TypeError(
                f"delay must be a law of belated.delays, or its name such as 'constant:{number}', "
                f"got {self.delay!r}."
            )
        if isinstance(self.rewards, str):
            check_choice("rewards", self.rewards, CHOICES["rewards"])
        if self.every is not None:
            check_integer("every", self.every, 1)
        super().__post_init__()
        self.law.selector(self.world.shape)  # may reject the shape
        _ = self.problem(0).backup_rule  # may reject the shape

    def problem(self, seed: int, longest_delay: float | None = None) -> LearningProblem:
        """Return the learning problem of a run.

        Parameters
        ----------
        seed : int
            Seed of the run.
        longest_delay : float, optional
            Longest delay of the run, in episodes, for updaters that depend on it; see
            `Updater.with_longest_delay`. If delays depend on what is played, it is the longest that
            is possible. By default the updater is used unchanged.

        Returns
        -------
        LearningProblem
            Checked problem.
        """
        base, updater, rewards = self.base, self.updater, self.rewards
        if isinstance(base, BaseAlgorithm) and base.needs_optimal_policy:
            base = base.with_optimal_policy(optimal_actions(self.world).argmax(axis=2))
        if isinstance(updater, Updater):
            updater = updater.for_simulation(self.law)
            if longest_delay is not None:
                updater = updater.with_longest_delay(longest_delay)
        if isinstance(rewards, str) and rewards == "known":
            rewards = self.world.reward_table()
        options = option_values(self, LearnerOptions)
        if self.planning == "none":
            options["planning"] = "incremental"  # without packed counts, which only plans read
        return LearningProblem(
            shape=self.world.shape,
            base=base,
            updater=updater,
            rewards=rewards,
            episodes=self.episodes,
            seed=seed,
            **options,
        )

    def run(
        self,
        seed: int,
        on_progress: OnProgress = ignore_progress,
        *,
        on_checkpoint: OnCheckpoint | None = None,
    ) -> Run:
        """Simulate the setting with a seed.

        Parameters
        ----------
        seed : int
            Seed of the run, in 0 .. 2**64 - 1.
        on_progress : callable
            Function called with the number of episodes played since its last call. An exception
            that it raises stops the run.
        on_checkpoint : callable, optional
            See `simulate`.

        Returns
        -------
        Run
            Result of the run.
        """
        seed = check_seed(seed)
        if self.engine == "gpu":
            from belated.simulation.gpu.engine import run_on_gpu

            return run_on_gpu(self, [seed], on_progress, on_checkpoint)[0]
        pieces = self.world.shape.horizon if self.delay_per == "step" else 1
        delays = draw_delays(self.law, seed, self.episodes, pieces=pieces, on_progress=on_progress)
        problem = self.problem(seed, longest_delay(delays))
        play = run_compiled if self._is_compiled(problem, pieces) else run_reference
        reporter = None
        if on_checkpoint is not None:
            at = self.checkpoints()
            reporter = CheckpointReporter(on_checkpoint, seed=seed, episodes=self.episodes, at=at)
        return play(self, problem, delays, on_progress, reporter)

    @property
    def law(self) -> Law:
        """Delay law of the setting; a constant delay of 0 episodes if `delay` is None."""
        return constant(0) if self.delay is None else self.delay

    def checkpoints(self) -> Ints:
        """Return the episodes after which the regret is recorded, in increasing order."""
        if self.every is not None:
            return checkpoints(self.episodes, self.every)
        return checkpoints(self.episodes, max(1, self.episodes // self.points), early=True)

    def _is_compiled(self, problem: LearningProblem, pieces: int) -> bool:
        reason = why_not_compiled(problem, pieces, len(self.law.groups))
        if self.engine == "reference":
            reason = "engine is 'reference'"
        elif reason is None:
            return True
        if self.engine == "compiled":
            raise ValueError(
                f"engine='compiled' is not possible: {reason}; use 'auto' or 'reference'."
            )
        if self.planning == "none":
            raise ValueError(f"planning='none' needs the compiled engine, but {reason}.")
        if self.engine == "auto":
            warnings.warn(f"Running the slower reference loop: {reason}.", stacklevel=5)
        return False


def parse_simulation(world: MDP | str, arguments: Mapping[str, Any]) -> Simulation:
    """Return the simulation of a world, given as an object or by its name.

    `arguments` are the other arguments of `Simulation`; its parts may be given by their names.
    """
    return Simulation(world=parse_world(world), **arguments)


@accepts(Simulation, omit=("world", "points"))
def simulate(
    world: MDP | str,
    *,
    seed: int = 0,
    on_checkpoint: OnCheckpoint | None = None,
    **setting: Any,
) -> Run:
    """Simulate one run and return its exact regret.

    Each random number is a function of the seed, the episode and the step. Learners that are
    compared with the same seed therefore have the same delays, and their worlds use the same random
    numbers.

    Parameters
    ----------
    world : MDP or str
        World to simulate, or its name, such as "chain-5". Names are as in studies and on the
        command line; see `belated.names`.
    base : Base, BaseAlgorithm, Planner or str
        Base algorithm, or its name, such as "ucrl2:scale=0.1". An object that only has a `plan`
        method is run by the reference loop.
    updater : Updater or str
        Rule that decides when to plan, or its name, such as "lazy:10".
    delay : Law or str, optional
        Delay law, or its name, such as "geometric:100"; by default there is no delay. It may depend
        on what is played, as in "by_action:0=constant:5,1=geometric:100".
    episodes : int
        Number of episodes, at least 1.
    seed : int
        Seed of all random numbers of the run, in 0 .. 2**64 - 1.
    on_checkpoint : callable, optional
        Function called once for each checkpoint, in order, with a `RunSoFar`: the seed, the episode
        and the regret so far. The compiled engine calls it after the block of episodes that
        contains the checkpoint, at most about 0.1 seconds later, and with MultiInstance at the end
        of the run. The results do not depend on it. An exception that it raises stops the run.
        `belated.callbacks` has callbacks for CSV files and TensorBoard.
    rewards : "known", "unknown", None or array_like
        "known": the learner is given the world's mean rewards, as in the paper. "unknown" or None:
        rewards are drawn and observed with the feedback. An array of shape (H, S, A) or (S, A): the
        learner is given these mean rewards.
    every : int, optional
        Number of episodes between two checkpoints. By default it is `episodes` // 1000, at least 1,
        and 1, 2, 5, 10, 20, 50, ... below it are checkpoints too.
    engine : {"auto", "compiled", "reference", "gpu"}
        Compiled engine, reference loop or GPU engine; the results are identical. "auto" selects the
        compiled engine if it supports the setting, else the reference loop. "gpu" needs an NVIDIA
        GPU and pays off for many runs; see `simulate_many`.
    trace : bool
        Whether to record the policy of every episode.
    optimism : {"start", "everywhere"}
        Where optimism is checked, V~_h(s) >= V*_h(s): at the first state of each episode, or at
        every step and state. Affects only `Run.optimism_broken`.
    stages : {"each", "pooled"}
        Count each step separately, or pool the counts of all steps.
    late : {"everything", "rewards"}
        Part of the feedback that is delayed. With "rewards", rewards are unknown, and paths are
        observed at the end of each episode.
    reward_bonus : str
        Bonus of unknown rewards; see `belated.learner.rewards`.
    planning : {"auto", "incremental", "full", "none"}
        Recompute only values that can have changed, or all values; the results are identical.
        "none" keeps the first plan, to measure the cost of the rest of the simulation.
    delay_per : {"episode", "step"}
        Draw one delay for each episode, or one delay for each step.

    Returns
    -------
    Run
        Regret at the checkpoints, and statistics of the run.

    Examples
    --------
    >>> run = simulate("chain-3", base="ucrl2:scale=0.1", updater="active", episodes=50, seed=7)
    >>> run.updates, run.max_missing
    (49, 0)
    """
    checked = parse_simulation(world, setting)
    return checked.run(seed, on_checkpoint=on_checkpoint)


def draw_delays(
    law: Law, seed: int, episodes: int, *, pieces: int, on_progress: Callable[[int], None]
) -> Ints:
    """Draw all delays of a run, in blocks.

    The run can be stopped between two blocks.

    Parameters
    ----------
    law : Law
        Delay law.
    seed : int
        Seed of the run.
    episodes : int
        Number of episodes.
    pieces : int
        Number of delays per episode: 1, or H if each step has its own delay.
    on_progress : callable
        Function called with 0 between two blocks. An exception that it raises stops the run.

    Returns
    -------
    Ints
        (episodes, pieces * groups) delays, in episodes. The delays of a piece under each law in
        `law.groups`, of which the played episode selects one, are next to each other.
    """
    delays = np.zeros((episodes, pieces * len(law.groups)), np.int64)
    for column, (step, group) in enumerate(product(range(pieces), law.groups)):
        for first in range(0, episodes, DELAYS_PER_BLOCK):
            part = delays[first : first + DELAYS_PER_BLOCK, column]
            part[:] = group.draw(seed=seed, episodes=part.size, first=first + 1, step=step)
            if first + DELAYS_PER_BLOCK < episodes:
                on_progress(0)
    return delays


DEFAULT_POINTS = 200
"""Number of evenly spaced checkpoints of a run if `Setting.points` is None."""

Options = tuple[tuple[str, Any], ...]
"""Names and values of options, as a hashable tuple of pairs."""


@dataclass(frozen=True, kw_only=True)
class Setting(SimulationOptions):
    """All inputs of a run except the seed, as texts and numbers; see `belated.names`.

    The texts are parsed by `build`, which checks them. The options of a simulation are inherited
    from `SimulationOptions`.
    """

    world: str
    base: str
    delay: str = "constant:0"
    updater: str = "active"
    episodes: int
    base_options: Options = ()
    updater_options: Options = ()
    rewards: Literal["known", "unknown"] = "known"
    points: int | None = None  # evenly spaced checkpoints; None: DEFAULT_POINTS and early ones

    @property
    def every(self) -> int | None:
        """Number of episodes between two checkpoints; None if `points` is None."""
        return None if self.points is None else max(1, self.episodes // self.points)

    def parse_base(self) -> BaseAlgorithm | Planner:
        """Return the base with its options. Raise ValueError if it is invalid."""
        return BASE_NAMES.parse(self.base, dict(self.base_options))

    def parse_updater(self) -> Updater:
        """Return the updater with its options. Raise ValueError if it is invalid."""
        return UPDATER_NAMES.parse(self.updater, dict(self.updater_options))

    def build(self, **arguments: Any) -> Simulation:
        """Return the simulation of this setting. Raise ValueError if the setting is invalid.

        `arguments` are further arguments of `Simulation`, or others in place of those of the
        setting.
        """
        own = {
            "world": parse_world(self.world),
            "base": self.parse_base(),
            "updater": self.parse_updater(),
            "delay": parse_delay(self.delay),
            "episodes": self.episodes,
            "every": self.every,
            "points": DEFAULT_POINTS,
            "rewards": self.rewards,
            **option_values(self, SimulationOptions),
        }
        return Simulation(**{**own, **arguments})


def normalize_delay(text: str) -> str:
    """Return the canonical name of the delay law named `text`.

    All laws with mean zero have the canonical name "constant:0". A law that cannot be created from
    its attribute `name`, such as an imported law, has the canonical name `text`.

    >>> normalize_delay("geometric:0"), normalize_delay("geometric:100.0")
    ('constant:0', 'geometric:100')
    """
    law = parse_delay(text)
    if law.mean == 0:
        return "constant:0"
    try:
        return law.name if parse_delay(law.name) == law else text
    except ValueError:
        return text
