"""`Run`: the result of a simulation with one seed, and reports at its checkpoints meanwhile."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from belated.delays.laws import parse
from belated.episode import Floats, Ints
from belated.html import describe
from belated.options import name_with_options
from belated.survival.estimate import Unit
from belated.survival.records import DelayRecords
from belated.theory.lemmas import psi, share_in_flight

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from belated.learner.problem import LearningProblem
    from belated.simulation.simulation import Simulation
from collections.abc import Callable


@dataclass(frozen=True, eq=False)
class Run:
    """Result of one simulation: exact regret at checkpoints, and statistics of the run.

    Examples
    --------
    >>> from belated import UCRL2, Lazy, chain, simulate
    >>> learner = {"base": UCRL2(scale=0.1), "updater": Lazy(10)}
    >>> run = simulate(chain(3), **learner, delay="geometric:20", episodes=500, every=100)
    >>> run.episode
    array([100, 200, 300, 400, 500])
    >>> run.regret.round(1)
    array([7.6, 7.6, 7.6, 7.6, 7.6])
    >>> run.updates, run.max_missing, run.missing
    (67, 27, 21)
    """

    seed: int
    """Seed of the run."""
    episodes: int
    """Number of episodes K."""
    episode: Ints
    """Checkpoints: episodes after which the regret was recorded, shape (checkpoints)."""
    regret: Floats
    """Cumulative regret after each checkpoint, shape (checkpoints)."""
    updates: int
    """Number of plans, without the first plan of each instance, which uses no observations."""
    epochs: int
    """Number of plans, including the first plan of each instance. With the updater `Batched`, this
    is the number of batches, unless only rewards are late."""
    max_missing: int
    """max_k S_k, the largest number of episodes in flight at the start of an episode. With the
    updater `Matured`, an episode is in flight until its feedback is counted; the same holds for
    `missing`, `mean_delay` and `in_flight`."""
    optimism_broken: int
    """Number of episodes in which V~_1(s_1) < V*_1(s_1) - 1e-9; with optimism="everywhere", those
    in which V~_h(s) < V*_h(s) - 1e-9 at any step and state."""
    instances: int = 1
    """Number of instances of the base: one, except with MultiInstance."""
    last_explored: int = 0
    """Last episode with an action drawn by explicit exploration; 0 if there is none."""
    longest_delay: float = 0.0
    """Longest delay drawn, in episodes; inf if the feedback of some episode never arrives."""
    missing: int = 0
    """Number of episodes in flight at the end of the run, including the last episode."""
    mean_delay: float = 0.0
    """Mean delay observed by the learner until the end of the run, in episodes. The delay of an
    episode in flight is taken as the number of episodes started after it, so that the mean is too
    low; `bl.lateness` estimates the delay without this bias."""
    psi: float = 0.0
    """Upper bound of all S_k with high probability, computed from `mean_delay` (Lemma 1)."""
    in_flight: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)), repr=False)
    """For each triple, the fraction N'' / N of its visits whose feedback is missing at the end of
    the run; shape (stages, S, A)."""
    alpha: Floats | None = field(default=None, repr=False)
    """Parameter alpha of lazy updating at each checkpoint, shape (checkpoints); None except with
    Lazy("auto")."""
    policies: NDArray[np.int32] | None = field(default=None, repr=False)
    """Action in each episode, step and state, or -1 where the policy explores; shape (K, H, S).
    None unless the run was traced."""
    world: str = ""
    """Size of the world, such as "5 states, 2 actions, 5 steps"; empty if unknown."""
    base: str = ""
    """Name of the base and its options, such as "ucrl2:scale=0.1"; empty if unknown."""
    updater: str = ""
    """Name of the updater and its options, such as "lazy:10"; empty if unknown."""
    delay: str = ""
    """Name of the delay law, such as "geometric:100"; empty if unknown."""

    @property
    def total_regret(self) -> float:
        """Cumulative regret after the last episode."""
        return float(self.regret[-1])

    def delay_records(self) -> DelayRecords:
        """Return the delays of the episodes, for `bl.lateness`.

        They are drawn again from the name of the delay law and the seed. Raises ValueError if that
        does not give the delays of this run: for your own law, or with a delay for each step.
        """
        try:
            delays = parse(self.delay).draw(seed=self.seed, episodes=self.episodes)
        except (ValueError, TypeError):
            delays = np.zeros(0, np.int64)
        ages = np.arange(self.episodes - 1, -1, -1)
        durations = np.minimum(delays, ages) if delays.size else np.zeros(0, np.int64)
        if not durations.size or not math.isclose(durations.mean(), self.mean_delay):
            raise ValueError(
                f"The delays of a run with delay {self.delay!r} cannot be drawn again from its "
                "name and seed; pass them to bl.lateness as opened=... and returned=...."
            )
        units: dict[Unit, Floats] = {"episodes": durations.astype(np.float64)}
        return DelayRecords(units, delays <= ages, {"episodes": ages.astype(np.float64)})

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the regret over episodes.

        Parameters
        ----------
        ax : Axes, optional
            Axes of Matplotlib to draw on; by default those of a new figure.

        Returns
        -------
        Axes
            The axes.
        """
        import belated

        return belated.plot(self, ax=ax)

    def _repr_html_(self) -> str:
        """Return an HTML table with the main results of the run, which notebooks display."""
        return describe(
            "Run",
            {
                "world": self.world,
                "base": self.base,
                "updater": self.updater,
                "delay": self.delay,
                "seed": self.seed,
                "episodes": f"{self.episodes:,}",
                "total regret": f"{self.total_regret:,.6g}",
                "updates": f"{self.updates:,}",
                "episodes in flight": f"at most {self.max_missing:,}, {self.missing:,} at the end",
                "optimism failed": f"in {self.optimism_broken:,} episodes",
            },
        )

    def __repr__(self) -> str:
        return (
            f"Run(seed={self.seed}, episodes={self.episodes}, "
            f"total_regret={self.total_regret:.6g}, updates={self.updates}, "
            f"max_missing={self.max_missing}, optimism_broken={self.optimism_broken})"
        )


def make_run(
    simulation: "Simulation",
    problem: "LearningProblem",
    *,
    seed: int,
    plans: int,
    arrived: Ints,
    dropped: Ints,
    instances: int = 1,
    **results: Any,
) -> Run:
    """Return the result of a run.

    Parameters
    ----------
    simulation : Simulation
        What was simulated.
    problem : LearningProblem
        Problem of the learner.
    seed : int
        Seed of the run.
    plans : int
        Number of plans.
    arrived, dropped : Ints
        (rows) For each row, the numbers of visits whose feedback arrived, and did not arrive.
    instances : int
        Number of instances of the base.
    **results
        Other fields of `Run`.

    Returns
    -------
    Run
        The result.
    """
    shape = problem.shape
    return Run(
        seed=seed,
        episodes=problem.episodes,
        episode=simulation.checkpoints(),
        updates=plans - instances,
        epochs=plans,
        instances=instances,
        psi=psi(results["mean_delay"], problem.episodes, problem.algorithm.delta),
        in_flight=share_in_flight(dropped, arrived).reshape(-1, *shape.table[1:]),
        world=f"{shape.states} states, {shape.actions} actions, {shape.horizon} steps",
        base=name_with_options(simulation.base),
        updater=name_with_options(simulation.updater),
        delay=simulation.law.name,
        **results,
    )


def checkpoints(episodes: int, every: int, *, early: bool = False) -> Ints:
    """Return the episodes after which the regret is recorded, in increasing order.

    Parameters
    ----------
    episodes : int
        Number of episodes K.
    every : int
        Number of episodes between two checkpoints. The checkpoints are the multiples of `every`,
        and `episodes` itself.
    early : bool
        Whether to add the checkpoints 1, 2, 5, 10, 20, 50, ... below `every`. A learner often
        learns most before the first multiple of `every`.

    Returns
    -------
    Ints
        Checkpoints.

    Examples
    --------
    >>> checkpoints(10, 4)
    array([ 4,  8, 10])
    >>> checkpoints(90, 30, early=True)
    array([ 1,  2,  5, 10, 20, 30, 60, 90])
    """
    first = min(every, episodes)
    early_marks = [d * 10**e for e in range(len(str(first))) for d in (1, 2, 5)] if early else []
    return np.concatenate(
        [
            np.array([mark for mark in early_marks if mark < first], np.int64),
            np.arange(every, episodes, every, dtype=np.int64),
            np.array([episodes], np.int64),
        ]
    )


@dataclass(frozen=True)
class RunSoFar:
    """A run at one of its checkpoints, as passed to `on_checkpoint`."""

    seed: int
    """Seed of the run."""
    episodes: int
    """Number of episodes K of the whole run."""
    episode: int
    """Checkpoint: number of the episode after which the regret is reported."""
    regret: float
    """Cumulative regret after the checkpoint; the same number as in `Run.regret`."""


OnCheckpoint = Callable[[RunSoFar], object]
"""Function that is called with a `RunSoFar` for each checkpoint. An exception that it raises stops
the run."""


def check_callback(on_checkpoint: object) -> None:
    """Raise TypeError if `on_checkpoint` is not a function."""
    if not callable(on_checkpoint):
        raise TypeError(f"on_checkpoint must be a function of a RunSoFar, got {on_checkpoint!r}.")


class CheckpointReporter:
    """Reporter that calls a function once for each checkpoint, in order, as episodes are played.

    Parameters
    ----------
    on_checkpoint : callable
        Function to call with a `RunSoFar`.
    seed, episodes : int
        Seed and number of episodes of the run.
    at : Ints
        Checkpoints, in increasing order.
    """

    def __init__(self, on_checkpoint: OnCheckpoint, *, seed: int, episodes: int, at: Ints) -> None:
        check_callback(on_checkpoint)
        self._on_checkpoint = on_checkpoint
        self._seed = seed
        self._episodes = episodes
        self._at = at
        self._played = 0
        self._regret = 0.0

    def report(self, gaps: Floats) -> None:
        """Add `gaps`, the regret of each of the next episodes, and report their checkpoints."""
        first = self._played
        self._played += gaps.size
        totals = np.add.accumulate(np.concatenate(([self._regret], gaps)))
        self._regret = float(totals[-1])
        for episode in self._at[(self._at > first) & (self._at <= self._played)].tolist():
            regret = float(totals[episode - first])
            self._on_checkpoint(RunSoFar(self._seed, self._episodes, episode, regret))
