"""Problem and feedback for the load test: a chain of five states and ten steps."""

import json
from collections.abc import Iterator

import numpy as np

from belated.ledger import Ledger, Part, ProblemSpec, Recorded

NAME = "clinic"
STATES, ACTIONS, STEPS = 5, 2, 10
OPEN_BATCH_EPISODES = 1000
"""Number of episodes opened in one transaction."""


def define(ledger: Ledger, *, episodes: int, name: str = NAME) -> int:
    """Define the problem, with `episodes` as its K, in `ledger` as `name`, and return its id."""
    rewards = np.zeros((STATES, ACTIONS))
    rewards[-1, 1] = 1.0
    spec = ProblemSpec(
        name=name,
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
    """Open episodes and return their ids.

    Parameters
    ----------
    ledger : Ledger
        Ledger with the problem.
    problem : int
        Id of the problem.
    count : int
        Number of episodes, a multiple of OPEN_BATCH_EPISODES.

    Returns
    -------
    list[str]
        Ids of the episodes.
    """
    ids = []
    for _ in range(count // OPEN_BATCH_EPISODES):
        for outcome in ledger.open_episodes(problem, OPEN_BATCH_EPISODES, version=1):
            assert isinstance(outcome, Recorded)
            assert outcome.episode is not None
            ids.append(outcome.episode.id)
    return ids


def generate_feedback(ids: list[str], seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield each of `ids` with random feedback as JSON; `seed` makes it reproducible."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(ACTIONS, size=(len(ids), STEPS))
    moves = np.where(actions == 1, rng.random(actions.shape) < 0.8, -1)
    states = np.zeros((len(ids), STEPS + 1), int)
    for h in range(STEPS):
        states[:, h + 1] = np.clip(states[:, h] + moves[:, h], 0, STATES - 1)
    for id, path, played in zip(ids, states.tolist(), actions.tolist(), strict=True):
        yield id, json.dumps({"states": path, "actions": played}).encode()
