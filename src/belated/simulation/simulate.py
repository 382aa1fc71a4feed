"""`simulate`: one learner in one world under one delay law."""

from typing import Unpack

from belated.mdp.model import MDP
from belated.options import accepts
from belated.simulation.run import Run
from belated.simulation.setting import Setting, SettingKeywords


@accepts(Setting, omit=("world",))
def simulate(world: MDP, *, seed: int = 0, **setting: Unpack[SettingKeywords]) -> Run:
    """Play one run and return its exact regret.

    Everything random is addressed by seed, episode and step, so that learners compared under one
    seed meet the same world and the same delays.

    Parameters
    ----------
    world : MDP
        World to play in.
    base : Base, BaseAlgorithm or Planner
        Base algorithm; any object with a `plan` method works in the reference loop.
    updater : Updater
        Decides when to plan.
    delay : Law, optional
        Delay law; none means no delay.
    episodes : int
        Number of episodes, at least 1.
    seed : int
        Addresses everything random, 0 .. 2**64 - 1.
    rewards : "known", "unknown", None or array_like
        "known": the learner is given the world's mean rewards, as in the paper. "unknown" or None:
        rewards are drawn and observed with the feedback. An array: the learner is given these mean
        rewards, (H, S, A) or (S, A).
    every : int, optional
        Episodes between two checkpoints; by default a thousandth of all.
    engine : {"auto", "compiled", "reference"}
        Compiled engine or reference loop; "auto" is the compiled engine where possible. The
        results are identical.
    trace : bool
        Whether to record the policy of every episode.
    stages : {"each", "pooled"}
        Count each step separately, or pool the counts of all steps.
    late : {"everything", "rewards"}
        What arrives late; with "rewards", rewards are unknown and paths are known at once.
    reward_bonus : str
        Bonus of unknown rewards, see `belated.learner.rewards`.
    planning : {"incremental", "full", "none"}
        Plan what changed, or everything, with identical results; "none" keeps the first plan, to
        measure the cost of everything else.
    delay_per : {"episode", "step"}
        Draw one delay for each episode, or one for each step of it.

    Returns
    -------
    Run
        Regret at the checkpoints, and counts.

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
