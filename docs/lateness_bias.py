"""Bias of the estimates of learners under delays that depend on the episode.

docs/lateness-that-tells.md defines the bias, and `lateness_tables` writes its tables.
"""

import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import belated as bl
from belated.delays.selector import group_of
from belated.episode import Episode, Floats, Ints, Policy
from belated.files import write_atomically
from belated.learner.updaters import UPDATER_NAMES
from belated.mdp.play import play
from belated.options import Stages

Visits = tuple[Ints, Ints, Ints, Floats]
"""Steps, numbers s A + a of state and action, next states and rewards of visits, as arrays."""


@dataclass(frozen=True)
class BiasSetting:
    """Run whose bias is measured after each number of episodes in `times`."""

    world: str
    base: str  # with its options, such as "ucrl2:scale=0.03"
    updater: str
    delay: str
    times: tuple[int, ...]
    stages: Stages = "each"

    def curve(self, seed: int) -> Floats:
        """Return the bias at `times` as a share of V*, in the run with the seed `seed`.

        It is the estimated value of the policy of the next episode, from the feedback counted so
        far, minus its true value.
        """
        world, law = bl.world(self.world), bl.delays.parse(self.delay)
        episodes = self.times[-1]
        run = bl.simulate(
            world,
            base=self.base,
            updater=self.updater,
            delay=self.delay,
            episodes=episodes + 1,
            rewards="unknown",
            stages=self.stages,
            seed=seed,
            trace=True,
        )
        assert run.policies is not None
        policies = run.policies
        played = [
            play(world, Policy(policies[k - 1]), seed=seed, episode=k)
            for k in range(1, episodes + 1)
        ]
        age = getattr(UPDATER_NAMES.parse(self.updater), "age", 1)
        counted_at = np.arange(1, episodes + 1) + np.maximum(
            np.minimum(delays_of(law, played, world, seed), 2 * episodes), age - 1
        )
        curve = []
        for time in self.times:
            counted = [played[i] for i in np.flatnonzero(counted_at[:time] <= time)]
            policy = policies[time]
            truth = bl.policy_value(world, Policy(policy))
            curve.append(estimated_value(world, policy, counted, self.stages) - truth)
        return np.array(curve) / bl.optimal_value(world)


def delays_of(law: bl.delays.Law, episodes: Sequence[Episode], world: bl.MDP, seed: int) -> Ints:
    """Return the delay under `law` of each of the `episodes` 1, 2, ... of a run in `world`."""
    choices = np.array([group.draw(seed=seed, episodes=len(episodes)) for group in law.groups])
    selector = law.selector(world.shape)
    groups = [group_of(selector, episode, world.shape) for episode in episodes]
    return choices[groups, np.arange(len(episodes))]


def estimated_value(
    world: bl.MDP, policy: Ints, episodes: Sequence[Episode], stages: Stages = "each"
) -> float:
    """Return the value of `policy` in the model that is estimated from `episodes`.

    For each step, state and action, mean reward and transition probabilities are the averages over
    `episodes`, without any bonus. Where there is no visit, they are the true ones, so that a lack
    of data is not counted as bias.

    Parameters
    ----------
    world : MDP
        World, for the true model, which must be the same at every step.
    policy : Ints
        Action at each step in each state, shape (H, S).
    episodes : sequence of Episode
        Episodes of which the averages are computed.
    stages : {"each", "pooled"}
        Average over the visits at one step, or over those at all steps.

    Returns
    -------
    float
        Expected return of an episode.
    """
    H, S, A = world.shape.table
    p = sparse.csr_array((world.prob, world.succ, world.ptr), shape=(S * A, S))
    r = world.rewards.reshape(-1)
    step, pair, after, paid = visits(episodes, A)
    value = np.zeros(S)
    for h in reversed(range(H)):
        used = slice(None) if stages == "pooled" else step == h
        number = np.bincount(pair[used], minlength=S * A)
        sums = np.bincount(pair[used], paid[used] + value[after[used]], minlength=S * A)
        q = np.where(number > 0, sums / np.maximum(number, 1), r + p @ value)
        value = q.reshape(S, A)[np.arange(S), policy[h]]
    return float(world.start @ value)


def visits(episodes: Sequence[Episode], actions: int) -> Visits:
    """Return the visits of `episodes` in a world with the number `actions` of actions."""
    if not episodes:
        none = np.zeros(0, np.int64)
        return none, none, none, np.zeros(0)
    return (
        np.concatenate([np.arange(episode.actions.size) for episode in episodes]),
        np.concatenate([episode.states[:-1] * actions + episode.actions for episode in episodes]),
        np.concatenate([episode.states[1:] for episode in episodes]),
        np.concatenate([np.asarray(episode.rewards, float) for episode in episodes]),
    )


@dataclass(frozen=True)
class BiasTask:
    """Runs of one learner in one world with one seed, under several laws and updaters."""

    world: str
    label: str  # name of the learner
    base: str
    settings: tuple[tuple[str, str], ...]  # delay law and updater of each run
    times: tuple[int, ...]
    stages: Stages
    seed: int

    def path(self, folder: Path) -> Path:
        """Return the file in `folder` that holds the results."""
        return folder / f"{self.world}-{self.label}-{self.seed}.json"

    def run(self, folder: Path) -> None:
        """Measure the bias in every setting, and write it to the file."""
        rows = []
        for delay, updater in self.settings:
            curve = self.setting(delay, updater).curve(self.seed)
            bias = [round(x, 4) for x in curve.tolist()]
            rows.append({"delay": delay, "updater": updater, "bias": bias})
        text = json.dumps({"task": repr(self), "rows": rows})
        write_atomically(self.path(folder), text.encode())

    def setting(self, delay: str, updater: str) -> BiasSetting:
        """Return one of the settings: that with the law `delay` and the `updater`."""
        return BiasSetting(self.world, self.base, updater, delay, self.times, self.stages)

    def read(self, folder: Path) -> list[dict[str, Any]] | None:
        """Return the results in `folder`, by setting; None if there are none of this task."""
        try:
            found = json.loads(self.path(folder).read_text())
        except OSError:
            return None
        if found["task"] != repr(self):  # computed with other laws, updaters or times
            return None
        name = {"world": self.world, "base": self.label, "seed": self.seed}
        return [name | row for row in found["rows"]]


def measure(tasks: Sequence[BiasTask], folder: Path) -> list[dict[str, Any]]:
    """Return the biases of all `tasks`; those that are not in `folder` are computed there first.

    The processes are as many as the processors.
    """
    missing = [task for task in tasks if task.read(folder) is None]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for task, future in {task: pool.submit(task.run, folder) for task in missing}.items():
            future.result()
            print(f"{task.path(folder).name}: bias", flush=True)
    return [row for task in tasks for row in task.read(folder) or ()]
