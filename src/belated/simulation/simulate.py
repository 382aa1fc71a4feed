"""`simulate`: one run of a learner in a simulated world with delayed feedback."""

from typing import Unpack

from belated.mdp.model import MDP
from belated.options import accepts, check_keywords
from belated.simulation.reporting import OnCheckpoint
from belated.simulation.run import Run
from belated.simulation.simulation import Simulation, SimulationArguments, parse_simulation


@accepts(Simulation, omit=("world", "points"))
def simulate(
    world: MDP | str,
    *,
    seed: int = 0,
    on_checkpoint: OnCheckpoint | None = None,
    **setting: Unpack[SimulationArguments],
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
    check_keywords(simulate, setting)
    checked = parse_simulation(world, setting)
    return checked.run(seed, on_checkpoint=on_checkpoint)
