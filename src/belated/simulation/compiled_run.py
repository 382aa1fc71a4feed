"""Driver of the compiled engine, which runs episodes in blocks and reports progress in between."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.compiled import JIT, as_plain
from belated.compiled.budget import UNLIMITED
from belated.delays.laws import longest_delay
from belated.episode import Floats, Ints
from belated.exact.values import as_mask, model_of, optimal_table, predecessors
from belated.learner.backup import as_backup, is_built_in
from belated.learner.own_functions import (
    REHEARSED_PLANS,
    rehearse,
    unrehearsed,
)
from belated.learner.planning.loops import Form, plain_loops
from belated.learner.problem import LearningProblem
from belated.learner.state import PLANS, Config, LearnerRecord, configure, with_room_for
from belated.learner.updaters.trigger import NO_TRIGGER, Trigger
from belated.mdp.model import DRAWS
from belated.notice import announce_compilation
from belated.simulation import engine
from belated.simulation.engine import enlarge
from belated.simulation.run import CheckpointReporter, Run, make_run
from belated.theory import missing, owners

if TYPE_CHECKING:
    from belated.simulation.simulation import Simulation

BLOCK_S: Final = 0.1
"""Approximate time between two calls of `on_progress`, in seconds."""

MAX_REHEARSED: Final = 100
"""Largest number of episodes of a rehearsal; see `belated.learner.own_functions`."""

OnProgress = Callable[[int], None]
"""Function called with the number of episodes played since its last call. An exception that it
raises stops the run."""


def why_not_compiled(problem: LearningProblem, pieces: int, groups: int = 1) -> str | None:
    """Return the reason why the compiled engine cannot run `problem`, or None if it can.

    `pieces` is the number of delays per episode: 1, or H if each step has its own delay. `groups`
    is the number of laws from which an episode selects one.
    """
    base, updater = problem.base, problem.updater
    if problem.algorithm.planner is not None:
        return f"the base {type(base).__name__} is a Python object"
    if JIT and not as_backup(problem.backup_rule.backup).compiled:
        return f"the backup of {type(base).__name__} is a plain Python function (see bl.backup)"
    rule = problem.trigger_rule
    if updater.explorer(problem.shape) is not None or (
        updater.lazy_alpha() is None and (rule is None or updater.multi_instance)
    ):
        return f"the updater {type(updater).__name__} is a Python object"
    if JIT and rule is not None and isinstance(rule.trigger, Trigger) and not rule.trigger.compiled:
        return f"the trigger {rule.trigger} is a plain Python function (see bl.trigger)"
    if updater.multi_instance and (pieces > 1 or problem.late_rewards):
        return "MultiInstance needs the feedback of an episode in one piece"
    if updater.multi_instance and groups > 1:
        return "MultiInstance needs delays that do not depend on the episode"
    return None


class Played(NamedTuple):
    """Results of the episodes played by one instance, or by all instances of a run."""

    gaps: Floats  # (episodes) regret of each episode, V*_1(s_1) - V^pi_1(s_1)
    alphas: Floats  # (episodes) alpha of lazy updating; empty unless chosen automatically
    tally: Ints  # (TALLY_SIZE) counters of the engine
    plans: int  # number of plans
    arrived: Ints  # (rows) number of visits whose feedback arrived
    dropped: Ints  # (rows) number of visits whose feedback did not arrive


def run_compiled(
    simulation: "Simulation",
    problem: LearningProblem,
    delays: Ints,
    on_progress: OnProgress,
    reporter: CheckpointReporter | None = None,
) -> Run:
    """Simulate one run with the compiled engine.

    Parameters
    ----------
    simulation : Simulation
        What to simulate.
    problem : LearningProblem
        Problem of the learner, with the seed.
    delays : Ints
        Delays of the feedback, of shape (episodes, pieces * groups). There is one piece, or H if
        each step has its own delay. The groups of a piece, one unless delays depend on the episode,
        are next to each other.
    on_progress : callable
        Function called with the number of episodes played since its last call.
    reporter : CheckpointReporter, optional
        Reporter of the checkpoints.

    Returns
    -------
    Run
        Result of the run.
    """
    episodes, shape, at = len(delays), problem.shape, simulation.checkpoints()
    announce_compilation()
    traced = episodes if simulation.trace else 0
    policies = np.zeros((traced, shape.horizon, shape.states), np.int32)
    player = Player(simulation, problem, on_progress)
    if problem.updater.multi_instance:
        played, instances = play_instances(player, delays, policies)
        if reporter:
            reporter.report(played.gaps)
    else:
        player.reporter = reporter
        played, instances = player(0, np.arange(1, episodes + 1), delays, policies), 1
    tally = played.tally
    groups = player.selector.groups
    return make_run(
        simulation,
        problem,
        seed=problem.seed,
        plans=played.plans,
        arrived=played.arrived,
        dropped=played.dropped,
        instances=instances,
        regret=np.add.accumulate(played.gaps)[at - 1],
        max_missing=int(tally[engine.MAX_MISSING]),
        optimism_broken=int(tally[engine.OPTIMISM_BROKEN]),
        last_explored=int(tally[engine.LAST_EXPLORED]),
        longest_delay=float(longest_delay(delays if groups == 1 else tally[engine.LONGEST :][:1])),
        missing=int(tally[engine.MISSING]),
        mean_delay=int(tally[engine.WAITED]) / episodes,
        alpha=played.alphas[at - 1] if played.alphas.size else None,
        policies=policies if simulation.trace else None,
    )


def play_instances(play: "Player", delays: Ints, policies: NDArray[np.int32]) -> tuple[Played, int]:
    """Simulate a run with the updater MultiInstance, one instance after another.

    This order is possible because instances do not interact. The delays alone determine the
    instance of each episode, and each instance plays its episodes as if there were no delay.

    Parameters
    ----------
    play : Player
        Object that plays the episodes of one instance.
    delays : Ints
        (episodes, 1) delays of the feedback.
    policies : NDArray
        (episodes, H, S) array that receives the policy of every episode, or an empty array.

    Returns
    -------
    tuple[Played, int]
        Results in the order of the episodes, and the number of instances.
    """
    taus = delays[:, 0]
    episodes = taus.size
    owner = owners(taus)
    instances = int(owner.max()) + 1
    arrived_in_time = np.arange(1, episodes + 1) + taus < episodes
    gaps = np.zeros(episodes)
    tally = np.zeros(engine.TALLY_SIZE, np.int64)
    arrived, dropped = np.zeros((2, play.problem.rows), np.int64)
    for instance in range(instances):
        mine = np.flatnonzero(owner == instance)
        part = np.zeros((mine.size if policies.size else 0, *policies.shape[1:]), np.int32)
        own = play(instance, mine + 1, np.zeros((mine.size, 1), np.int64), part)
        gaps[mine] = own.gaps
        tally[engine.OPTIMISM_BROKEN] += own.tally[engine.OPTIMISM_BROKEN]
        arrived += own.arrived
        # without delay, only the feedback of the instance's last episode is counted as dropped
        (arrived if arrived_in_time[mine[-1]] else dropped)[:] += own.dropped
        if policies.size:
            policies[mine] = part
    outstanding = missing(taus)
    tally[engine.MAX_MISSING] = outstanding.max()
    tally[engine.WAITED] = outstanding.sum()
    tally[engine.MISSING] = outstanding[-1] + 1
    plans = int(np.count_nonzero(arrived_in_time)) + instances
    return Played(gaps, np.zeros(0), tally, plans, arrived, dropped), instances


class Player:
    """Callable that plays the episodes of one instance of a learner in a world.

    Parameters
    ----------
    simulation : Simulation
        What to simulate.
    problem : LearningProblem
        Problem of the learner.
    on_progress : callable
        Function called with the number of episodes played since its last call.
    """

    def __init__(
        self, simulation: "Simulation", problem: LearningProblem, on_progress: OnProgress
    ) -> None:
        world = simulation.world
        self.problem = problem
        self.selector = simulation.law.selector(problem.shape)
        self.plans = simulation.planning != "none"
        self.on_progress = on_progress
        self.reporter: CheckpointReporter | None = None
        v_star = optimal_table(world)
        self.truth = engine.Truth(
            model_of(world),
            predecessors(world),
            world.cum,
            world.start_cum,
            DRAWS.index(world.reward_draws),
            as_mask(world.shape.allowed),
            v_star[0],
        )
        everywhere = simulation.optimism == "everywhere"
        self.v_star = v_star[: problem.shape.horizon if everywhere else 0]

    def __call__(
        self, instance: int, labels: Ints, delays: Ints, policies: NDArray[np.int32]
    ) -> Played:
        """Play the episodes of one instance.

        Parameters
        ----------
        instance : int
            Number of the instance.
        labels : Ints
            (episodes) Number of each episode to play, counted over the whole run.
        delays : Ints
            Delays of the feedback, of shape (episodes, pieces * groups); see `run_compiled`.
        policies : NDArray
            (episodes, H, S) array that receives the policy of every episode, or an empty array.

        Returns
        -------
        Played
            Results of these episodes.
        """
        problem, truth = self.problem, self.truth
        episodes, pieces = len(delays), delays.shape[1] // self.selector.groups
        config = configure(problem, instance)
        rule = problem.trigger_rule or NO_TRIGGER
        assert isinstance(rule.trigger, Trigger)
        options = engine.RunOptions(
            last=episodes,
            plans=self.plans,
            triggered=problem.trigger_rule is not None,
            every_start=problem.updater.every_start,
            trigger_constants=rule.constants,
            min_delay=max(0, problem.updater.min_age - 1),
            v_star=self.v_star,
            selector=self.selector,
        )
        parts = {"backup": problem.backup_rule.backup, "trigger": rule.trigger}
        built_in = all(map(is_built_in, parts.values()))
        if not built_in and (own := unrehearsed(parts)):
            with rehearse(own, REHEARSED_PLANS):
                self._rehearse(config, options, rule.trigger, labels, delays)
        run = engine.empty_run(problem, pieces=pieces, episodes=episodes)
        gaps = np.zeros(episodes)
        alphas = np.zeros(episodes if config.auto_alpha else 0)
        record = LearnerRecord(config, run.learner)
        trigger, rows = rule.trigger, record.state.table.q.size
        form = Form(problem.backup_rule, rows, engine.advance, built_in=built_in)
        done = 0
        block = 32
        while done < episodes:
            part = slice(done, min(done + block, episodes))
            began = time.perf_counter()
            played = form.kernel(engine.advance)(
                form.loops(record),
                trigger.plain_callback if form.is_plain else trigger.callback,
                config,
                options,
                truth,
                run,
                engine.Block(
                    done + 1, labels[part], delays[part], gaps[part], alphas[part], policies[part]
                ),
                form.limit(),
            )
            form.count(int(record.state.scratch.work[0]))
            took = time.perf_counter() - began
            if played < part.stop - part.start:
                run = self._with_room(run, pieces)
            done += played
            block = max(1, min(4 * block, int(played * BLOCK_S / max(took, 1e-9))))
            self.on_progress(played)
            if self.reporter is not None:
                self.reporter.report(gaps[done - played : done])
        learner = run.learner
        arrived = learner.reward_sums.n if config.late_rewards else learner.counts.n
        plans = int(learner.numbers[PLANS])
        return Played(gaps, alphas, run.tally, plans, arrived, run.dropped)

    def _rehearse(
        self,
        config: Config,
        options: engine.RunOptions,
        trigger: Trigger,
        labels: Ints,
        delays: Ints,
    ) -> None:
        """Play a few episodes as plain Python, until three plans are made, and discard the run.

        The arguments are those of `engine.advance`.
        """
        pieces = delays.shape[1] // self.selector.groups
        run = engine.empty_run(self.problem, pieces=pieces, episodes=len(delays))
        outputs = np.zeros(1), np.zeros(1), np.zeros((0, 0, 0), np.int32)
        advance, loops = as_plain(engine.advance), plain_loops(self.problem.backup_rule)
        arguments = loops, trigger.plain_callback, config, options, self.truth
        k = 0
        while k < min(len(delays), MAX_REHEARSED) and run.learner.numbers[PLANS] < REHEARSED_PLANS:
            one = slice(k, k + 1)
            block = engine.Block(k + 1, labels[one], delays[one], *outputs)
            played = advance(*arguments, run, block, UNLIMITED)
            run = run if played else self._with_room(run, pieces)
            k += played

    def _with_room(self, run: engine.RunState, pieces: int) -> engine.RunState:
        """Return `run` with free capacity for another episode, enlarged where necessary.

        `pieces` is the number of delays per episode: 1, or H if each step has its own delay.
        """
        queue = enlarge(run.queue) if run.queue.free[1] < pieces else run.queue
        learner = with_room_for(run.learner, self.problem.shape.horizon)
        new_rows = np.zeros(queue.actions.size if run.new_rows.size else 0, np.int64)
        new_rows[: run.new_rows.size] = run.new_rows
        return run._replace(learner=learner, queue=queue, new_rows=new_rows)
