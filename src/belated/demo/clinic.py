"""Simulated clinic: a small world, and the definition of its problem for the service.

Each patient has six visits. Medication helps in mild states, and only a little in severe states. An
operation helps in severe states, but a visit with an operation has a low reward. The effect
of the last action appears only after the last visit, so waiting is optimal at the last visit.

>>> from belated.exact.values import optimal_actions
>>> for step in (0, 4, 5):
...     print(*(ACTIONS[a] for a in optimal_actions(world())[step].argmax(axis=1)))
wait medicate medicate operate operate
wait medicate medicate medicate operate
wait wait wait wait wait
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from belated.client import NamedPolicy
from belated.episode import Policy
from belated.mdp.model import MDP
from belated.mdp.play import play

STATES: Final = ("well", "mild", "ill", "severe", "critical")
ACTIONS: Final = ("wait", "medicate", "operate")
VISITS: Final = 6

INITIAL_STATE_PROBABILITIES: Final = (0.0, 0.2, 0.4, 0.3, 0.1)
"""Probability of each state at the first visit."""

REWARDS: Final = (
    (1.0, 0.9, 0.3),
    (0.8, 0.7, 0.2),
    (0.6, 0.5, 0.1),
    (0.4, 0.3, 0.0),
    (0.2, 0.1, 0.0),
)
"""Rewards of a visit: one row for each state, with the reward of each action.

The rewards are known to the service."""

TRANSITION_PROBABILITIES: Final = (
    (  # wait
        (0.90, 0.10, 0.00, 0.00, 0.00),
        (0.25, 0.45, 0.30, 0.00, 0.00),
        (0.05, 0.15, 0.40, 0.40, 0.00),
        (0.00, 0.00, 0.15, 0.40, 0.45),
        (0.00, 0.00, 0.00, 0.10, 0.90),
    ),
    (  # medicate
        (0.95, 0.05, 0.00, 0.00, 0.00),
        (0.70, 0.25, 0.05, 0.00, 0.00),
        (0.15, 0.50, 0.25, 0.10, 0.00),
        (0.00, 0.10, 0.40, 0.35, 0.15),
        (0.00, 0.00, 0.05, 0.25, 0.70),
    ),
    (  # operate
        (0.30, 0.50, 0.20, 0.00, 0.00),
        (0.50, 0.30, 0.10, 0.05, 0.05),
        (0.55, 0.25, 0.10, 0.00, 0.10),
        (0.50, 0.25, 0.10, 0.00, 0.15),
        (0.30, 0.25, 0.15, 0.00, 0.30),
    ),
)
"""Transition probabilities: one table for each action, with a row for each state.

A row contains the probability of each next state. The service does not know these probabilities."""

PROBLEM: Final[dict[str, Any]] = {
    "name": "clinic",
    "states": list(STATES),
    "actions": list(ACTIONS),
    "horizon": VISITS,
    "rewards": [list(row) for row in REWARDS],
    "base": {"name": "ucrl2"},
    "updater": {"name": "lazy", "options": {"alpha": 10}},
    "episodes": 10_000,
}
"""Definition of the problem for the service.

With ten patients per second and a mean delay of sixty patients, the base with its published
constants learns a good policy in about a minute."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of the treatment of a patient: states, actions and sum of rewards."""

    states: tuple[str, ...]
    """Name of the state at each visit and after the last visit."""
    actions: tuple[str, ...]
    """Name of the action at each visit."""
    total: float
    """Sum of the rewards of all visits."""

    def steps(self, visits: range) -> list[dict[str, Any]]:
        """Return the visits with the numbers `visits`, from 0, as steps for `Client.steps`.

        >>> Outcome(("ill", "mild", "well"), ("operate", "medicate"), 0.8).steps(range(1, 2))
        [{'step': 1, 'state': 'mild', 'action': 'medicate', 'next_state': 'well'}]
        """
        names = ("step", "state", "action", "next_state")
        rows = zip(range(VISITS), self.states, self.actions, self.states[1:], strict=False)
        return [dict(zip(names, row, strict=True)) for row in rows if row[0] in visits]


@cache
def world() -> MDP:
    """Return the MDP that simulates the patients of the clinic."""
    transitions = np.array(TRANSITION_PROBABILITIES).swapaxes(0, 1)
    return MDP.dense(transitions, REWARDS, start=INITIAL_STATE_PROBABILITIES, horizon=VISITS)


def treat(policy: NamedPolicy, *, patient: int, seed: int) -> Outcome:
    """Simulate the treatment of a patient.

    Parameters
    ----------
    policy : NamedPolicy
        Deterministic policy of the clinic.
    patient : int
        Number of the patient.
    seed : int
        Seed. The same seed and patient number give the same random numbers.

    Returns
    -------
    Outcome
        States, actions and sum of rewards.
    """
    plan = policy.plan
    actions = [[ACTIONS.index(str(plan[h][state])) for state in STATES] for h in range(VISITS)]
    episode = play(world(), Policy(np.array(actions, np.int32)), seed=seed, episode=patient)
    assert episode.rewards is not None
    return Outcome(
        tuple(STATES[s] for s in episode.states),
        tuple(ACTIONS[a] for a in episode.actions),
        float(episode.rewards.sum()),
    )
