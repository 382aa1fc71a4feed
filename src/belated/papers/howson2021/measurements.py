"""Small runs that measure quantities which the results of a sweep do not contain.

- The part of the feedback of each epoch that arrives before the update that ends the epoch. The
  runs are those of the grid on its shortest chain, with lazy updating and alpha = 1. They are
  simulated again with a `Learner`, because results do not say in which episodes plans were made.
- The number of episodes that epsilon-greedy needs to learn, on chains of a few states.

The measurements are stored in the results folder, so that claims can be judged without simulation.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from belated.delays.queue import Queue
from belated.episode import Floats, Ints
from belated.exact.values import optimal_table
from belated.files import write_atomically
from belated.learner.bases import EpsilonGreedy
from belated.learner.feedback import Feedback, whole_episode
from belated.learner.learner import Learner
from belated.learner.updaters import Active
from belated.mdp.classics import chain
from belated.mdp.play import play
from belated.papers.howson2021.grid import LAWS
from belated.progress import Progress
from belated.simulation.simulation import Simulation
from belated.sweep.bands import Columns
from belated.sweep.cell import Cell

FILE_NAME: Final = "measurements.json"

VERSION: Final = 2
"""Version number of the measurements, which is stored in their file.

It must be increased whenever a change of the code changes the measured values.
"""

EPOCH_MEANS: Final = (100, 500)
"""Expected delays at which epochs are measured, in episodes."""

EXPLORATION_CHAINS: Final = (4, 6, 8, 10)
"""Numbers of states of the chains on which epsilon-greedy is measured."""

EXPLORATION_SEEDS: Final = 100
"""Number of runs of epsilon-greedy on each chain."""

EXPLORATION_LENGTH: Final = 12
"""Number of episodes of a run of epsilon-greedy on a chain of S states, divided by 2^S."""

EPSILON: Final = 0.1
"""Probability with which epsilon-greedy draws its action at random."""


@dataclass(frozen=True)
class Measurements:
    """Two tables of measurements, of epochs and of epsilon-greedy, each with one row per run."""

    epochs: Columns
    """Table with the columns states, law, mean_delay, seed, episodes, received and mostly_received.

    The column received is the fraction of episodes whose feedback arrives before their epoch ends.
    The column mostly_received is the fraction of epochs in which the feedback of more than half of
    the episodes arrives before the epoch ends.
    """
    exploration: Columns
    """Table with the columns states, seed, episodes, learnt_at and first_good.

    A policy is good if it has at least half of the optimal value. The column learnt_at is the first
    episode from which on all policies are good. The column first_good is the first episode whose
    policy is good, possibly by chance. Both are the number of episodes if there is no such episode.
    """

    @classmethod
    def load(cls, folder: Path, cells: Sequence[Cell] | None = None) -> Self | None:
        """Return the measurements stored in `folder`.

        Return None if there is no file, or if the file is not valid JSON with the two tables.
        If `cells` is given, return None also if the file was written for other cells or with other
        values of the constants of this module.
        """
        try:
            facts = json.loads((folder / FILE_NAME).read_bytes())
            tables: list[Columns] = [
                {name: np.array(values) for name, values in facts[table].items()}
                for table in ("epochs", "exploration")
            ]
        except (OSError, ValueError, KeyError, AttributeError):
            return None
        if cells is not None and facts.get("inputs") != describe_inputs(cells):
            return None
        return cls(*tables)


def measure(folder: Path, cells: Sequence[Cell]) -> None:
    """Simulate the runs to be measured, and store the measurements in `folder`.

    Nothing is done if they are stored already. `cells` are the cells of the whole grid of
    experiments.
    """
    if Measurements.load(folder, cells) is not None:
        return
    epoch_runs = [(cell.build(), seed) for cell in epoch_cells(cells) for seed in cell.seeds]
    exploring = [(S, seed) for S in EXPLORATION_CHAINS for seed in range(EXPLORATION_SEEDS)]
    total = len(epoch_runs) + len(exploring)
    with Progress("Measuring", total=total, unit="runs") as progress:
        epochs = [measure_epochs(*run) for run in progress.track(epoch_runs)]
        exploration = [measure_exploration(*run) for run in progress.track(exploring)]
    facts = {
        "inputs": describe_inputs(cells),
        "epochs": _by_column([row for row in epochs if row is not None]),
        "exploration": _by_column(exploration),
    }
    write_atomically(folder / FILE_NAME, json.dumps(facts, indent=1).encode())


def epoch_cells(cells: Sequence[Cell]) -> list[Cell]:
    """Return those of `cells` whose epochs are measured.

    They have the shortest chain, lazy updating with alpha = 1, an expected delay in `EPOCH_MEANS`,
    and the block of seeds that contains seed 0.
    """
    shortest = min((cell.world for cell in cells), key=lambda name: int(name.split("-")[1]))
    delays = {f"{law}:{mean}" for law in LAWS for mean in EPOCH_MEANS}
    return [
        cell
        for cell in cells
        if (cell.world, cell.updater) == (shortest, "lazy:1")
        and cell.delay in delays
        and 0 in cell.seeds
    ]


def describe_inputs(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return everything on which the measurements depend, as a dict that can be written as JSON.

    The dict contains the version of the measurements, the constants of this module, and the digests
    of the cells whose epochs are measured. `cells` are the cells of the whole grid.
    """
    return {
        "version": VERSION,
        "cells": [cell.digest for cell in epoch_cells(cells)],
        "chains": list(EXPLORATION_CHAINS),
        "seeds": EXPLORATION_SEEDS,
        "length": EXPLORATION_LENGTH,
        "epsilon": EPSILON,
    }


def measure_epochs(setting: Simulation, seed: int) -> dict[str, Any] | None:
    """Simulate a run, and return its row of the table `Measurements.epochs`.

    Return None if the run has only one epoch, which no update ends.
    """
    delays = np.asarray(setting.law.draw(seed=seed, episodes=setting.episodes))
    epochs = play_epochs(setting, seed, delays)
    received = received_by_epoch(epochs, delays)
    if not received:
        return None
    sizes = np.array([part.size for part in received], float)
    shares = np.array([part.mean() for part in received])
    return {
        "states": setting.world.shape.states,
        "law": setting.law.name.partition(":")[0],
        "mean_delay": float(setting.law.mean),
        "seed": seed,
        "episodes": setting.episodes,
        "received": float(shares @ sizes / sizes.sum()),
        "mostly_received": float((shares > 1 / 2).mean()),
    }


def play_epochs(setting: Simulation, seed: int, delays: Ints) -> Ints:
    """Simulate a run with the given `delays`, and return the epoch of each episode.

    Epochs are numbered from 1.
    """
    learner = Learner.of(setting.problem(seed))
    queue: Queue[Feedback] = Queue()
    epochs = []
    for k, delay in enumerate(delays.tolist(), start=1):
        learner.absorb(queue.due(k))
        policy = learner.start(k)
        epochs.append(learner.epochs)
        queue.push(whole_episode(play(setting.world, policy, seed=seed, episode=k)), delay)
    return np.array(epochs)


def received_by_epoch(epochs: Ints, delays: Ints) -> list[np.ndarray]:
    """Return for each epoch, except the last, a mask of its episodes with a short delay.

    The delay tau_k of an episode k of epoch j is short if k + tau_k < k_{j+1}, where k_{j+1} is the
    first episode of the next epoch. `epochs` contains the epoch of each episode, and `delays` the
    delay of each episode.
    """
    starts = np.flatnonzero(np.diff(epochs)) + 2  # k_2, k_3, ...: first episodes of later epochs
    arrival = np.arange(1, delays.size + 1) + delays
    return [
        arrival[first - 1 : after - 1] < after
        for first, after in zip(np.append(1, starts)[:-1], starts, strict=True)
    ]


def measure_exploration(states: int, seed: int) -> dict[str, Any]:
    """Simulate epsilon-greedy on a chain, and return its row of `Measurements.exploration`.

    `states` is the number of states of the chain.
    """
    world = chain(states)
    setting = Simulation(
        world=world,
        base=EpsilonGreedy(epsilon=EPSILON, ties="random"),
        updater=Active(),
        episodes=EXPLORATION_LENGTH * 2**states,
        every=1,
    )
    gaps = np.diff(setting.run(seed).regret, prepend=0.0)
    learnt_at, first_good = find_good_policies(gaps, float(optimal_table(world)[0, 0]))
    return {
        "states": states,
        "seed": seed,
        "episodes": gaps.size,
        "learnt_at": learnt_at,
        "first_good": first_good,
    }


def find_good_policies(gaps: Floats, optimal_value: float) -> tuple[int, int]:
    """Return the episode from which on all policies are good, and the first with a good policy.

    A policy is good if it has at least half of the optimal value. Ties are broken at random, so a
    policy can be good by chance before anything is learnt.

    Parameters
    ----------
    gaps : array
        Regret of each episode.
    optimal_value : float
        Value of the optimal policy.

    Returns
    -------
    learnt_at : int
        First episode from which on all policies are good, or the number of episodes if there is
        none.
    first_good : int
        First episode whose policy is good, or the number of episodes if there is none.
    """
    poor = gaps > optimal_value / 2
    learnt_at = int(np.flatnonzero(poor)[-1]) + 2 if poor.any() else 1
    first_good = gaps.size if poor.all() else int(np.argmin(poor)) + 1
    return min(learnt_at, gaps.size), first_good


def _by_column(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
