"""Summary of a world: its size, transitions, rewards and first states."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from belated.mdp.model import MDP

MAX_LISTED_STATES: Final = 4
"""Largest number of states that are listed. A longer list is replaced by the number of states."""


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
    draws = world.reward_draws
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
        + (draws if draws == "deterministic" else f"{draws.capitalize()} draws"),
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
    shares = zip(possible.tolist(), world.start[possible].tolist(), strict=True)
    return ", ".join(f"{s} ({p:.4g})" for s, p in shares)
