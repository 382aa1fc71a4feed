"""A ledger to measure with: a chain of ten steps, and what comes back of its episodes."""

import json
from collections.abc import Iterator

import numpy as np

from belated.ledger import Ledger, Part, ProblemSpec, Recorded

NAME = "clinic"
STATES, ACTIONS, STEPS = 5, 2, 10
OPENED = 1000
"""Episodes that are opened in one transaction."""


def define(ledger: Ledger, *, episodes: int) -> int:
    """Record the problem; returns its id."""
    rewards = np.zeros((STATES, ACTIONS))
    rewards[-1, 1] = 1.0
    spec = ProblemSpec(
        name=NAME,
        states=[f"state {s}" for s in range(STATES)],
        actions=["left", "right"],
        horizon=STEPS,
        rewards=rewards,
        base=Part("ucbvi-bf", {"preset": "two_term", "scale": 0.1}),
        updater=Part("lazy", {"alpha": 10}),
        episodes=episodes,
    )
    outcome = ledger.define(spec)
    assert isinstance(outcome, Recorded)
    return outcome.seq


def open_episodes(ledger: Ledger, problem: int, count: int) -> list[str]:
    """Open so many; returns their ids."""
    ids = []
    for _ in range(count // OPENED):
        for outcome in ledger.open_episodes(problem, OPENED, version=1):
            assert isinstance(outcome, Recorded)
            assert outcome.episode is not None
            ids.append(outcome.episode.id)
    return ids


def played(ids: list[str], seed: int) -> Iterator[tuple[str, bytes]]:
    """Each id with what came back of it, as JSON."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(ACTIONS, size=(len(ids), STEPS))
    moves = np.where(actions == 1, rng.random(actions.shape) < 0.8, -1)
    states = np.zeros((len(ids), STEPS + 1), int)
    for h in range(STEPS):
        states[:, h + 1] = np.clip(states[:, h] + moves[:, h], 0, STATES - 1)
    for id, walked, done in zip(ids, states.tolist(), actions.tolist(), strict=True):
        yield id, json.dumps({"states": walked, "actions": done}).encode()
