"""`simulate`: one run of a learner in a simulated world with delayed feedback."""

from typing import Unpack

from belated.mdp.model import MDP
from belated.options import accepts
from belated.simulation.run import Run
from belated.simulation.setting import Setting, SettingKeywords


@accepts(Setting, omit=("world", "points"))
def simulate(world: MDP, *, seed: int = 0, **setting: Unpack[SettingKeywords]) -> Run:
    """Simulate one run and return its exact regret.

    Each random number is a function of the seed, the episode and the step. Learners that are
    compared with the same seed therefore have the same delays, and their worlds use the same random
    numbers.

    Parameters
    ----------
    world : MDP
        World to simulate.
    base : Base, BaseAlgorithm or Planner
        Base algorithm. An object that only has a `plan` method is run by the reference loop.
    updater : Updater
        Rule that decides when to plan.
    delay : Law, optional
        Delay law; by default there is no delay.
    episodes : int
        Number of episodes, at least 1.
    seed : int
        Seed of all random numbers of the run, in 0 .. 2**64 - 1.
    rewards : "known", "unknown", None or array_like
        "known": the learner is given the world's mean rewards, as in the paper. "unknown" or None:
        rewards are drawn and observed with the feedback. An array of shape (H, S, A) or (S, A): the
        learner is given these mean rewards.
    every : int, optional
        Number of episodes between two checkpoints. By default it is `episodes` // 1000, at least 1,
        and 1, 2, 5, 10, 20, 50, ... below it are checkpoints too.
    engine : {"auto", "compiled", "reference"}
        Compiled engine or reference loop; the results are identical. "auto" selects the compiled
        engine if it supports the setting, else the reference loop.
    trace : bool
        Whether to record the policy of every episode.
    stages : {"each", "pooled"}
        Count each step separately, or pool the counts of all steps.
    late : {"everything", "rewards"}
        Part of the feedback that is delayed. With "rewards", rewards are unknown, and paths are
        observed at the end of each episode.
    reward_bonus : str
        Bonus of unknown rewards; see `belated.learner.rewards`.
    planning : {"incremental", "full", "none"}
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
    >>> from belated.learner.bases import UCRL2
    >>> from belated.learner.updaters import Active
    >>> from belated.mdp.chain import chain
    >>> run = simulate(chain(3), base=UCRL2(scale=0.1), updater=Active(), episodes=50, seed=7)
    >>> run.updates, run.max_missing
    (49, 0)
    """
    return Setting(world=world, **setting).run(seed)
