"""HTML description of a world for notebooks: a summary, and the transitions if they are few."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from belated.html import describe, format_details, format_table
from belated.mdp.model import MDP

MAX_TRANSITION_ROWS: Final = 32
"""Largest number of (state, action) pairs of a world whose transitions are listed."""

MAX_LISTED_STATES: Final = 4
"""Largest number of states that are listed. A longer list is replaced by the number of states."""

REWARD_PHRASES: Final = {
    "deterministic": "deterministic",
    "bernoulli": "Bernoulli draws",
    "beta": "Beta draws",
}
"""Map from each value of `MDP.reward_draws` to its description."""


def describe_html(world: MDP) -> str:
    """Return a description of `world` as self-contained HTML without scripts.

    The description contains a table of transitions and rewards if the world is time-homogeneous
    and has at most MAX_TRANSITION_ROWS (state, action) pairs.

    >>> from belated.mdp.classics import chain
    >>> text = describe_html(chain(30))
    >>> "<th" in text, "<script" in text, "successors</th><td" in text
    (True, False, True)
    """
    parts = []
    same_every_step = world.homogeneous and len(world.rewards) == 1
    if same_every_step and world.ptr.size - 1 <= MAX_TRANSITION_ROWS:
        head = ("state", "action", "mean reward", "successors")
        rows = format_table(transition_rows(world), head=head)
        parts.append(format_details("Transitions and rewards", rows))
    return describe("MDP", summary(world), *parts)


def summary(world: MDP) -> dict[str, str]:
    """Return a map from names of properties of `world` to short descriptions.

    The properties are size, transitions, successors, rewards and first state, and if there are any,
    the terminal states and the states with forbidden actions.

    >>> from belated.mdp.classics import chain
    >>> summary(chain(30))["size"]
    '30 states, 2 actions, 30 steps'
    """
    S, A, H = world.shape.states, world.shape.actions, world.shape.horizon
    counts = np.diff(world.ptr)
    same = {True: "the same at every step", False: "different for each step"}
    low, high = float(world.rewards.min()), float(world.rewards.max())
    restrictions = {}
    if world.shape.terminal:
        restrictions["terminal"] = format_states(world.shape.terminal)
    if world.shape.allowed is not None:
        states = np.flatnonzero(
            (~world.shape.available).any(axis=(0, 2)) & ~world.shape.is_terminal
        )
        restrictions["allowed actions"] = f"restricted in {format_states(states.tolist())}"
    return {
        "size": f"{S:,} states, {A:,} actions, {H:,} steps",
        "transitions": same[world.homogeneous],
        "successors": f"{world.succ.size:,}, at most {counts.max():,} per state and action",
        "rewards": f"{low:.4g} to {high:.4g}, {same[len(world.rewards) == 1]}, "
        f"{REWARD_PHRASES[world.reward_draws]}",
        "first state": describe_start(world),
        **restrictions,
    }


def format_states(states: Sequence[int]) -> str:
    """Return a list of `states` as text, or their number if they are more than MAX_LISTED_STATES.

    >>> format_states([2, 5]), format_states(range(10))
    ('states 2, 5', '10 states')
    """
    if len(states) > MAX_LISTED_STATES:
        return f"{len(states):,} states"
    return ("state " if len(states) == 1 else "states ") + ", ".join(map(str, states))


def describe_start(world: MDP) -> str:
    """Return the possible first states of `world` as text, with probabilities if there are several.

    If there are more than MAX_LISTED_STATES possible first states, the text gives their number.

    >>> from belated.mdp.classics import chain
    >>> describe_start(chain(30))
    '0'
    """
    possible = np.flatnonzero(world.start)
    if possible.size > MAX_LISTED_STATES:
        return f"one of {possible.size:,}"
    if possible.size == 1:
        return str(possible[0])
    return format_distribution(possible.tolist(), world.start[possible].tolist())


def transition_rows(world: MDP) -> Iterable[Sequence[str]]:
    """Yield a table row for each state and action of the time-homogeneous `world`.

    A row holds the state, the action, the mean reward and the successors with their probabilities,
    all as text.
    """
    for s, a in np.ndindex(world.shape.states, world.shape.actions):
        states, probabilities = world.successors(0, s, a)
        reward = f"{world.rewards[0, s, a]:.4g}"
        successors = format_distribution(states.tolist(), probabilities.tolist())
        yield str(s), str(a), reward, successors


def format_distribution(states: Iterable[int], probabilities: Iterable[float]) -> str:
    """Return a list of `states` as text, each with its probability in parentheses.

    >>> format_distribution([0, 2], [0.25, 0.75])
    '0 (0.25), 2 (0.75)'
    """
    return ", ".join(f"{s} ({p:.4g})" for s, p in zip(states, probabilities, strict=True))
