"""A world as a notebook shows it: one small table, and for small worlds their transitions."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

import numpy as np

from belated.mdp.model import MDP

ROWS: Final = 32
"""Rows of transitions that are still read; a world with more shows none."""

LEFT: Final = ' style="text-align:left"'


def describe_html(world: MDP) -> str:
    """Self-contained HTML, without scripts.

    >>> from belated.mdp.chain import chain
    >>> text = describe_html(chain(30))
    >>> "<th" in text, "<script" in text, "successors</th><td" in text
    (True, False, True)
    """
    parts = ["<b>MDP</b>", table(summary(world).items(), head=None)]
    if small(world):
        moves = table(transitions(world), head=("state", "action", "pays", "leads to"))
        parts.append(f"<details><summary>Transitions and rewards</summary>{moves}</details>")
    return f"<div>{''.join(parts)}</div>"


def summary(world: MDP) -> dict[str, str]:
    """What there is to say about any world."""
    S, A, H = world.shape.states, world.shape.actions, world.shape.horizon
    possible = np.diff(world.ptr)
    same = {True: "the same at every step", False: "given for each step"}
    low, high = float(world.rewards.min()), float(world.rewards.max())
    drawn = {"deterministic": "paid as they are", "bernoulli": "paid as coins"}
    return {
        "size": f"{S:,} states, {A:,} actions, {H:,} steps",
        "transitions": same[world.homogeneous],
        "successors": f"{world.succ.size:,}, at most {possible.max():,} of a state and action",
        "rewards": f"{low:.4g} to {high:.4g}, {same[len(world.rewards) == 1]}, "
        f"{drawn[world.reward_draws]}",
        "first state": first_state(world),
    }


def first_state(world: MDP) -> str:
    """Where an episode begins.

    >>> from belated.mdp.chain import chain
    >>> first_state(chain(30))
    '0'
    """
    possible = np.flatnonzero(world.start)
    if possible.size > 4:
        return f"one of {possible.size:,}"
    if possible.size == 1:
        return str(possible[0])
    return likely(possible.tolist(), world.start[possible].tolist())


def small(world: MDP) -> bool:
    """Whether its rows are few, and the same at every step."""
    return world.homogeneous and len(world.rewards) == 1 and world.ptr.size - 1 <= ROWS


def transitions(world: MDP) -> Iterable[Sequence[str]]:
    """A row for each state and action."""
    for s, a in np.ndindex(world.shape.states, world.shape.actions):
        states, chances = world.successors(0, s, a)
        pays = f"{world.rewards[0, s, a]:.4g}"
        yield str(s), str(a), pays, likely(states.tolist(), chances.tolist())


def likely(states: Iterable[int], chances: Iterable[float]) -> str:
    """States and their probabilities.

    >>> likely([0, 2], [0.25, 0.75])
    '0 (0.25), 2 (0.75)'
    """
    return ", ".join(f"{s} ({p:.4g})" for s, p in zip(states, chances, strict=True))


def table(rows: Iterable[Sequence[str]], *, head: Sequence[str] | None) -> str:
    """A table whose first column is its heading, or the row `head`."""
    lines = [] if head is None else ["".join(cell("th", text) for text in head)]
    for first, *others in rows:
        kind = "th" if head is None else "td"
        lines.append(cell(kind, first) + "".join(cell("td", text) for text in others))
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def cell(kind: str, text: str) -> str:
    """A cell with this text, whatever is in it."""
    return f"<{kind}{LEFT}>{escape(text)}</{kind}>"
