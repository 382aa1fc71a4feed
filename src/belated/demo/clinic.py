"""The clinic: a world small enough to understand at once, and what the service is told of it.

A patient is seen six times. Medicine helps where it is early and little where it is late; an
operation helps where nothing else does, at the price of a bad day. What is done at the last visit
shows only after it, so that waiting is best there.

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

from belated.client import Plan
from belated.episode import Policy
from belated.exact.values import optimal_value
from belated.mdp.model import MDP
from belated.mdp.play import play

STATES: Final = ("well", "mild", "ill", "severe", "critical")
ACTIONS: Final = ("wait", "medicate", "operate")
VISITS: Final = 6

COME: Final = (0.0, 0.2, 0.4, 0.3, 0.1)
"""How patients are when they come."""

FARE: Final = (
    (1.0, 0.9, 0.3),
    (0.8, 0.7, 0.2),
    (0.6, 0.5, 0.1),
    (0.4, 0.3, 0.0),
    (0.2, 0.1, 0.0),
)
"""How well a patient fares on the day of a visit, by state and action."""

NEXT: Final = (
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
"""How a patient is at the next visit, by action and state: what is to be learnt."""

PROBLEM: Final[dict[str, Any]] = {
    "name": "clinic",
    "states": list(STATES),
    "actions": list(ACTIONS),
    "horizon": VISITS,
    "rewards": [list(row) for row in FARE],
    "base": {"name": "ucrl2"},
    "updater": {"name": "lazy", "options": {"alpha": 10}},
    "episodes": 10_000,
}
"""The clinic as the service is told of it. At ten patients a second and outcomes sixty patients
late, the published constants learn it in about a minute."""


@dataclass(frozen=True)
class Outcome:
    """What became of a patient: how they were at each visit and after it, and what was done."""

    states: tuple[str, ...]
    actions: tuple[str, ...]
    total: float

    def steps(self, visits: range) -> list[dict[str, Any]]:
        """Some of the visits, as the service takes them.

        >>> Outcome(("ill", "mild", "well"), ("operate", "medicate"), 0.8).steps(range(1, 2))
        [{'step': 1, 'state': 'mild', 'action': 'medicate', 'next_state': 'well'}]
        """
        return [
            {
                "step": h,
                "state": self.states[h],
                "action": self.actions[h],
                "next_state": self.states[h + 1],
            }
            for h in visits
        ]


@cache
def world() -> MDP:
    """The truth about the clinic, which nobody there knows."""
    return MDP.dense(np.array(NEXT).swapaxes(0, 1), FARE, start=COME, horizon=VISITS)


def best_value() -> float:
    """What a patient is worth on average if everything is known."""
    return optimal_value(world())


def treat(plan: Plan, *, patient: int, seed: int) -> Outcome:
    """What becomes of a patient who is treated by this plan: the same under the same seed."""
    actions = [[ACTIONS.index(plan.plan[h][state]) for state in STATES] for h in range(VISITS)]
    lived = play(world(), Policy(np.array(actions, np.int32)), seed=seed, episode=patient)
    assert lived.rewards is not None
    return Outcome(
        tuple(STATES[s] for s in lived.states),
        tuple(ACTIONS[a] for a in lived.actions),
        float(lived.rewards.sum()),
    )
